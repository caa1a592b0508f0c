package synth

import (
	"context"
	"fmt"
	"runtime/debug"
	"slices"
	"time"

	"github.com/mynah-tts/mynah/codec/encoder"
	"github.com/mynah-tts/mynah/codec/speaker"
	"github.com/mynah-tts/mynah/internal/nn"
)

const (
	// maxHearings is how many clips may be with the engine at once, the one under way included.
	maxHearings = 16
	// hearingPatience is how many rounds a clip waits at most for a time in which it holds up
	// nobody. Where audio is made no faster than it is played there is never one.
	hearingPatience = 16
)

// hearing is a clip on its way through the encoders. The engine works on one at a time, in
// the order in which they came, so that the memory for it is that of one clip.
type hearing struct {
	ctx     context.Context
	speaker *speaker.Run
	codec   *encoder.Run // nil for the vector alone

	// Once done is closed.
	vector []float32
	codes  []int32 // [frames, groups]
	err    error
	done   chan struct{}
}

// start readies the encoders' runs.
func (h *hearing) start(e *encoders, samples, toCode []float32) (err error) {
	if h.speaker, err = e.speaker.Start(samples); err == nil && toCode != nil {
		h.codec, err = e.codec.Start(toCode)
	}
	if fault := clipFault(err); fault != nil {
		return fault
	}
	return err
}

// step does the next piece of work; over says that it was the last.
func (h *hearing) step(wk *nn.Work) (over bool, err error) {
	if h.vector == nil {
		done, err := h.speaker.Step(wk)
		if err != nil || !done {
			return err != nil, err
		}
		h.vector, err = h.speaker.Vector()
		h.speaker = nil
		return err != nil || h.codec == nil, err
	}
	done, err := h.codec.Step(wk)
	if err == nil && done {
		h.codes, err = h.codec.Codes()
	}
	return err != nil || done, err
}

// admitHearing takes a place for a clip.
func (e *engine) admitHearing(ctx context.Context) (*hearing, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	switch {
	case e.closed:
		return nil, ErrClosed
	case e.draining:
		return nil, ErrDraining
	case e.clips >= maxHearings:
		return nil, ErrBusy
	}
	e.clips++
	return &hearing{ctx: ctx, done: make(chan struct{})}, nil
}

// beginHearing puts a clip that has a place behind the others.
func (e *engine) beginHearing(h *hearing) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.closed {
		e.settle(h, ErrClosed)
		return
	}
	e.hearings = append(e.hearings, h)
	e.wake()
}

// leaveHearing gives the place of a clip back that nobody waits for any more. One that is
// being worked on is left behind its present step.
func (e *engine) leaveHearing(h *hearing) {
	e.mu.Lock()
	defer e.mu.Unlock()
	select {
	case <-h.done: // it was just finished, and its place is free
		return
	default:
	}
	if i := slices.Index(e.hearings, h); i >= 0 {
		e.hearings = slices.Delete(e.hearings, i, i+1)
	}
	e.settle(h, h.ctx.Err())
}

// settle tells the caller of Listen how it went, and gives the place back. It is called
// with the lock, once for each clip.
func (e *engine) settle(h *hearing, err error) {
	h.err = err
	e.clips--
	close(h.done)
}

// firstHearing is the clip to be worked on, or nil.
func (e *engine) firstHearing() *hearing {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.hearings) == 0 {
		return nil
	}
	return e.hearings[0]
}

// hearSome does one step of the first clip, unless somebody would wait for it: a stream for
// its first frame, or a listener who has less audio left than the step and a frame take.
func (e *engine) hearSome() {
	h := e.firstHearing()
	if h == nil {
		return
	}
	if e.skipped < hearingPatience && e.wouldWait() {
		e.skipped++
		return
	}
	e.skipped = 0
	began := time.Now()
	over, err := e.stepHearing(h)
	e.pace.hearing = max(time.Since(began), e.pace.hearing-e.pace.hearing/8)
	if !over {
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if i := slices.Index(e.hearings, h); i >= 0 { // else its caller has left
		e.hearings = slices.Delete(e.hearings, i, i+1)
		e.settle(h, err)
	}
}

// stepHearing does a step. A panic is a fault of ours, and fails the clip.
func (e *engine) stepHearing(h *hearing) (over bool, err error) {
	defer func() {
		if p := recover(); p != nil {
			over, err = true, fmt.Errorf("synth: internal error: %v\n%s", p, debug.Stack())
		}
	}()
	if over, err = h.step(e.m.work); err != nil {
		err = fmt.Errorf("synth: %w", err)
	}
	return over, err
}

// wouldWait tells whether a step of a clip now would be heard or felt: by a stream that has
// a frame or a prompt to be computed, and no audio yet or too little.
func (e *engine) wouldWait() bool {
	need := e.pace.hearing + e.pace.round
	for _, u := range e.utterances {
		if u.waitsFor() == nothing && (u.begun.IsZero() || u.audio()-time.Since(u.begun) < need) {
			return true
		}
	}
	return false
}
