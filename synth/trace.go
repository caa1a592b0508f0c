package synth

import (
	"context"
	"slices"
)

// Tracer is shown what the models hear and answer while they speak one stream. It is for
// the program's own commands. The engine's goroutine calls it, in the order of the
// computation and before the reader gets to see what came of it; slices are valid during
// the call and must not be changed. Other streams wait meanwhile.
type Tracer interface {
	// Begin tells of each segment the rows [n, hidden] that the talker hears first, and
	// the codes [frames, groups] of a reference that the codec hears, if there are any.
	Begin(rows []float32, reference []int32)

	// Hear tells the talker's next row [hidden]: the last frame and the next text.
	Hear(row []float32)

	// Choose tells what code 0 or the end token was chosen from: the talker's logits
	// [vocab] and hidden state [hidden] behind the last row.
	Choose(logits, hidden []float32)

	// Residual tells the logits [vocab] from which the code of a group, from 1 on, will be
	// chosen, in the order of groups.
	Residual(group int, logits []float32)

	// Frame tells the codes [groups] of a frame and the codec's samples [frame size], before
	// gain_db and fade_in_ms.
	Frame(codes []int32, pcm []float32)
}

// SpeakTraced is Speak with a tracer.
func (m *Model) SpeakTraced(ctx context.Context, r Request, t Tracer) (*Stream, error) {
	p, err := m.planWhole(r)
	if err != nil {
		return nil, err
	}
	p.trace = t
	return m.admit(ctx, p, false)
}

// traceBegin shows the beginning of a segment.
func (u *utterance) traceBegin() {
	if t := u.plan.trace; t != nil {
		t.Begin(u.prompt.Rows, u.request.RefCodes)
	}
}

// traceRow shows the row that the talker hears next.
func (u *utterance) traceRow(row []float32) {
	if t := u.plan.trace; t != nil {
		t.Hear(row)
	}
}

// traceChoice shows what code 0 was chosen from.
func (u *utterance) traceChoice() {
	if t := u.plan.trace; t != nil {
		t.Choose(u.place.talker.Logits, u.place.talker.Hidden)
	}
}

// traceFrame shows a frame.
func (u *utterance) traceFrame() {
	if t := u.plan.trace; t != nil {
		t.Frame(u.place.codes, u.place.pcm)
	}
}

// traceResidual has the predictor's logits shown while it computes the frames of a
// batch. It returns what ends that.
func (e *engine) traceResidual(batch []*utterance) (end func()) {
	if !slices.ContainsFunc(batch, func(u *utterance) bool { return u.plan.trace != nil }) {
		return func() {}
	}
	before := e.m.ps.Tap
	e.m.ps.Tap = func(frame, group int, logits []float32) {
		if t := batch[frame].plan.trace; t != nil {
			t.Residual(group, logits)
		}
	}
	return func() { e.m.ps.Tap = before }
}
