// Package profile says where the time of every frame goes. A Recorder takes a span
// of each stage of each frame while a model computes; a Report turns spans into
// percentiles, as a table, JSON, a Chrome trace, or one HTML page with plots.
//
// It holds the only clock of a decode step. A nil *Recorder is off: its methods
// return at once and read no clock. One that is on reads the clock once for each
// span, some 40 times a frame, and allocates nothing.
package profile

import "time"

// MaxSteps bounds the number of a residual step, which counts from 1.
const MaxSteps = 64

// Span is one stage of one frame. Times are nanoseconds since the recorder began.
type Span struct {
	Start, Length int64
	Stream, Frame int32
	Stage         Stage
	Step          uint8 // of Residual and Picks, from 1; otherwise 0
}

// Recorder takes spans. It keeps the last of them, and a histogram of each stage
// since the beginning. It is for one goroutine at a time, which the lock of a model
// sees to; a report is made when nothing computes.
type Recorder struct {
	epoch       time.Time
	begun, last int64 // when the frame and when the present span began
	stream      int32
	frame       int32
	streams     int32
	sums        [stages]int64 // of the frame so far
	stages      [stages]Histogram
	steps       [MaxSteps]Histogram
	spans       []Span // a ring
	taken       int    // spans, overwritten ones included
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

// Stream returns the number of a stream that begins.
func (r *Recorder) Stream() int {
	if r == nil {
		return 0
	}
	r.streams++
	return int(r.streams - 1)
}

// Begin starts the clock for what comes before a stream's first frame, or for a
// frame.
func (r *Recorder) Begin(stream, frame int) {
	if r == nil {
		return
	}
	r.stream, r.frame = int32(stream), int32(frame)
	r.sums = [stages]int64{}
	r.begun = int64(time.Since(r.epoch))
	r.last = r.begun
}

// Lap ends a span: the time since Begin or the Lap before was that stage's.
func (r *Recorder) Lap(stage Stage) {
	if r != nil {
		r.lap(stage, 0)
	}
}

// Computed ends the span in which the predictor computed the logits of a group.
func (r *Recorder) Computed(group int) {
	if r != nil {
		r.lap(Residual, group)
	}
}

// Picked ends the span in which the sampler chose the code of a group.
func (r *Recorder) Picked(group int) {
	if r != nil {
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
	r.sums[stage] += length
	if stage == Residual {
		r.steps[step%MaxSteps].Add(length)
	}
}

// End ends a frame. A frame without an end, because it turned out to be none, does
// not count in the stages.
func (r *Recorder) End() {
	if r == nil {
		return
	}
	length := int64(time.Since(r.epoch)) - r.begun
	r.keep(Span{Start: r.begun, Length: length, Stream: r.stream, Frame: r.frame, Stage: Frame})
	r.stages[Frame].Add(length)
	for s, sum := range r.sums {
		if sum > 0 {
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
