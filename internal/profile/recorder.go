// Package profile says where the time of every frame goes. A Recorder takes a span
// of each stage of each frame while a model computes; a Report turns spans into
// percentiles, as a table, JSON, a Chrome trace, or one HTML page with plots.
//
// It holds the only clock of a decode step. A nil *Recorder is off: its methods
// return at once and read no clock. One that is on reads the clock once for each
// span, some 40 times a frame, and allocates nothing.
package profile

import "time"

// Together is the stream of frames that several streams had computed together.
const Together = -1

// MaxSteps bounds the number of a residual step, which counts from 1.
const MaxSteps = 64

// Span is one stage of one frame. Times are nanoseconds since the recorder began.
type Span struct {
	Start, Length int64
	Stream, Frame int32
	Stage         Stage
	Step          uint8 // of Residual and Picks, from 1; of Frame how many were made together
}

// Recorder takes spans. It keeps the last of them, and a histogram of each stage
// since the beginning. It is for one goroutine at a time, the engine's; Stream and
// Listener number what they return from 0 on. Reports, Reset, Freeze and Listener are
// for when nothing computes.
type Recorder struct {
	epoch       time.Time
	begun, last int64 // when the frame and when the present span began
	stream      int32
	frame       int32
	streams     int32
	frames      int64         // made, those of one step together counted one by one
	sums        [stages]int64 // of the frame so far
	lapped      [stages]bool  // that have a lap in it; one may take less than the clock shows
	stages      [stages]Histogram
	steps       [MaxSteps]Histogram
	spans       []Span // a ring
	taken       int    // spans, overwritten ones included
	listeners   []*Listener
	frozen      bool
}

// New returns a recorder that keeps so many spans, at least one.
func New(spans int) *Recorder {
	return &Recorder{epoch: time.Now(), spans: make([]Span, max(1, spans))}
}

// Reset forgets everything that was recorded.
func (r *Recorder) Reset() {
	if r == nil {
		return
	}
	*r = Recorder{epoch: time.Now(), spans: r.spans}
}

// Freeze ends the recording: what comes after it is not taken. Reset begins anew.
func (r *Recorder) Freeze() { r.frozen = true }

// off tells that nothing is recorded.
func (r *Recorder) off() bool { return r == nil || r.frozen }

// Stream returns the number of a stream that begins.
func (r *Recorder) Stream() int {
	if r.off() {
		return 0
	}
	r.streams++
	return int(r.streams - 1)
}

// Begin starts the clock for what comes before a stream's first frame, or for a
// frame.
func (r *Recorder) Begin(stream, frame int) {
	if r.off() {
		return
	}
	r.stream, r.frame = int32(stream), int32(frame)
	r.sums, r.lapped = [stages]int64{}, [stages]bool{}
	r.begun = int64(time.Since(r.epoch))
	r.last = r.begun
}

// Lap ends a span: the time since Begin or the Lap before was that stage's.
func (r *Recorder) Lap(stage Stage) {
	if !r.off() {
		r.lap(stage, 0)
	}
}

// Computed ends the span in which the predictor computed the logits of a group.
func (r *Recorder) Computed(group int) {
	if !r.off() {
		r.lap(Residual, group)
	}
}

// Picked ends the span in which the sampler chose the code of a group.
func (r *Recorder) Picked(group int) {
	if !r.off() {
		r.lap(Picks, group)
	}
}

func (r *Recorder) lap(stage Stage, step int) {
	now := int64(time.Since(r.epoch))
	length := now - r.last
	r.keep(Span{Start: r.last, Length: length, Stream: r.stream, Frame: r.frame, Stage: stage, Step: uint8(step)})
	r.last = now
	if !stage.inFrame() {
		r.stages[stage].Add(length)
		return
	}
	r.sums[stage], r.lapped[stage] = r.sums[stage]+length, true
	if stage == Residual {
		r.steps[step%MaxSteps].Add(length)
	}
}

// Add takes a span that has just ended and was not measured here.
func (r *Recorder) Add(stage Stage, stream int, length time.Duration) {
	if r.off() {
		return
	}
	start := int64(time.Since(r.epoch) - length)
	r.keep(Span{Start: start, Length: int64(length), Stream: int32(stream), Stage: stage})
	r.stages[stage].Add(int64(length))
}

// End ends a frame, or a step that made one for each of several streams. A frame without
// an end, because it turned out to be none, does not count in the stages.
func (r *Recorder) End(frames int) {
	if r.off() || frames == 0 {
		return
	}
	length := int64(time.Since(r.epoch)) - r.begun
	r.keep(Span{Start: r.begun, Length: length, Stream: r.stream, Frame: r.frame, Stage: Frame, Step: uint8(frames)})
	r.stages[Frame].Add(length)
	r.frames += int64(frames)
	for s, sum := range r.sums {
		if r.lapped[s] {
			r.stages[s].Add(sum)
		}
	}
}

func (r *Recorder) keep(s Span) {
	r.spans[r.taken%len(r.spans)] = s
	r.taken++
}

// Spans visits the spans that are kept, the oldest first.
func (r *Recorder) Spans(visit func(Span)) {
	for i := max(0, r.taken-len(r.spans)); i < r.taken; i++ {
		visit(r.spans[i%len(r.spans)])
	}
}

// Lost returns how many spans were overwritten.
func (r *Recorder) Lost() int { return max(0, r.taken-len(r.spans)) }
