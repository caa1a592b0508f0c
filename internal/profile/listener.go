package profile

import "time"

// Listener takes the times of one stream where it is read: when each frame comes, and
// how long it takes to turn it into the bytes that leave. It is for the reader's
// goroutine; the engine's goroutine has the Recorder. A nil *Listener is off.
type Listener struct {
	budget int64 // audio of a frame, in nanoseconds
	epoch  time.Time

	asked, first, last int64 // of the utterance under way, since epoch
	heard              int64 // frames of it

	frames, between int64 // of all utterances: frames, and pairs of one after the other
	spoke           int64 // time between those
	ttfa            int64 // of the first utterance
	lag             int64
	gaps, encode    Histogram
	spans           []Span // of Encode, the first ones
}

// Listener returns a listener for a stream whose frames have so much audio each. It is
// called before anything is computed for the stream; spans is how many it keeps.
func (r *Recorder) Listener(frame time.Duration, spans int) *Listener {
	if r == nil {
		return nil
	}
	l := &Listener{budget: int64(frame), epoch: r.epoch, spans: make([]Span, 0, spans)}
	r.listeners = append(r.listeners, l)
	return l
}

// Asked begins an utterance: the request goes out.
func (l *Listener) Asked() {
	if l == nil {
		return
	}
	l.asked, l.heard = int64(time.Since(l.epoch)), 0
}

// Heard tells that a frame has come.
func (l *Listener) Heard() {
	if l == nil {
		return
	}
	now := int64(time.Since(l.epoch))
	switch {
	case l.heard == 0:
		l.first = now
		if l.frames == 0 {
			l.ttfa = now - l.asked
		}
	default:
		l.gaps.Add(now - l.last)
		l.spoke += now - l.last
		l.between++
		l.lag = max(l.lag, now-l.first-l.heard*l.budget)
	}
	l.last = now
	l.heard++
	l.frames++
}

// Encoded tells that the frame that has come was turned into bytes.
func (l *Listener) Encoded() {
	if l == nil {
		return
	}
	length := int64(time.Since(l.epoch)) - l.last
	l.encode.Add(length)
	if len(l.spans) < cap(l.spans) {
		l.spans = append(l.spans, Span{Start: l.last, Length: length, Frame: int32(l.frames - 1), Stage: Encode})
	}
}

// Hearing is what the listener of one stream met with. Times are in milliseconds.
type Hearing struct {
	Stream int     `json:"stream"` // from 1
	Frames int64   `json:"frames"`
	TTFA   float64 `json:"ttfa_ms"` // from the first request to its first frame
	// RTF is the time between frames over their audio, the first frame of each utterance
	// left out; 0 if there is no other.
	RTF    float64 `json:"rtf"`
	GapP50 float64 `json:"gap_p50_ms"` // from one frame to the next
	GapP95 float64 `json:"gap_p95_ms"`
	GapP99 float64 `json:"gap_p99_ms"`
	GapMax float64 `json:"gap_max_ms"`
	// Lag is how long a player must hold back the first frame so as never to run dry.
	Lag float64 `json:"lag_ms"`
}

// hearing puts a listener's times into figures.
func (l *Listener) hearing(stream int) Hearing {
	h := Hearing{
		Stream: stream, Frames: l.frames, TTFA: milliseconds(l.ttfa), Lag: milliseconds(l.lag),
		GapP50: milliseconds(l.gaps.Quantile(0.5)), GapP95: milliseconds(l.gaps.Quantile(0.95)),
		GapP99: milliseconds(l.gaps.Quantile(0.99)), GapMax: milliseconds(l.gaps.max),
	}
	if audio := l.between * l.budget; audio > 0 {
		h.RTF = float64(l.spoke) / float64(audio)
	}
	return h
}
