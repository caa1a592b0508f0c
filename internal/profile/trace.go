package profile

import (
	"encoding/json"
	"fmt"
	"io"
)

// traceEvent is an event of the Chrome trace format. Times are in microseconds.
type traceEvent struct {
	Name  string         `json:"name"`
	Cat   string         `json:"cat,omitempty"`
	Phase string         `json:"ph"`
	Time  float64        `json:"ts"`
	Dur   float64        `json:"dur"`
	PID   int            `json:"pid"`
	TID   int            `json:"tid"`
	Args  map[string]any `json:"args,omitempty"`
}

// listenerTrack is the track of the first listener; utterances come before.
const listenerTrack = 1 << 20

// Trace writes the spans that are kept as a Chrome trace, which Perfetto and
// chrome://tracing open. Each utterance is a track, and so are rounds of several of them
// and each listener; the stages of a frame lie below it.
func (r *Recorder) Trace(w io.Writer) error {
	var trace struct {
		Events []traceEvent `json:"traceEvents"`
		Unit   string       `json:"displayTimeUnit"`
	}
	trace.Unit = "ms"
	trace.Events = []traceEvent{}
	track := func(tid int, name string) {
		trace.Events = append(trace.Events, traceEvent{Name: "thread_name", Phase: "M", PID: 1, TID: tid, Args: map[string]any{"name": name}})
	}
	named := map[int32]bool{}
	r.Spans(func(s Span) {
		tid := int(s.Stream) + 1
		if !named[s.Stream] {
			named[s.Stream] = true
			name := fmt.Sprintf("stream %d", tid)
			if s.Stream == Together {
				name = "streams together"
			}
			track(tid, name)
		}
		trace.Events = append(trace.Events, s.event(tid))
	})
	for i, l := range r.listeners {
		track(listenerTrack+i, fmt.Sprintf("listener %d", i+1))
		for _, s := range l.spans {
			trace.Events = append(trace.Events, s.event(listenerTrack+i))
		}
	}
	return json.NewEncoder(w).Encode(trace)
}

// event is a span on a track.
func (s Span) event(tid int) traceEvent {
	e := traceEvent{Name: s.Stage.String(), Cat: "stage", Phase: "X", Time: microseconds(s.Start), Dur: microseconds(s.Length), PID: 1, TID: tid}
	switch {
	case s.Step > 0 && s.Stage == Residual:
		e.Name = fmt.Sprintf("residual step %d", s.Step)
	case s.Step > 0 && s.Stage == Picks:
		e.Name = fmt.Sprintf("pick code %d", s.Step)
	}
	if s.Stage >= Input {
		e.Args = map[string]any{"frame": s.Frame}
	}
	if s.Stage == Frame {
		e.Args["frames"] = s.Step
	}
	return e
}

func microseconds(ns int64) float64 { return float64(ns) / 1e3 }
