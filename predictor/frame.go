package predictor

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/nn"
)

// Picker chooses a residual code from its logits [vocab]; package sampler has
// one. group counts from 1. It may overwrite the logits.
type Picker interface {
	Pick(logits []float32, group int) (int, error)
}

// Watcher is told when the parts of a frame are done, so that it can time them.
type Watcher interface {
	Computed(group int) // the logits of a group are there
	Picked(group int)   // its codes are chosen
}

// Frame is one request's frame in a batch: its inputs, and where its codes go.
type Frame struct {
	Hidden []float32 // [talker width]: the hidden state that gave code 0
	Embed  []float32 // [talker width]: the talker's embedding of code 0
	Pick   Picker
	Codes  []int32 // [groups]: code 0 is there, the others are filled in
	Err    error   // why the picker refused; the frame's codes are then void
}

// Scratch holds caches and activations of a computing goroutine. A frame's cache
// lives no longer than the frame, so no request owns any.
type Scratch struct {
	// Tap, if set, is shown the logits of every residual step before the pick.
	Tap func(frame, group int, logits []float32)

	// Watch, if set, is told how far a frame is.
	Watch Watcher

	stack  *nn.Scratch
	caches []*nn.Cache
	rows   []nn.Row  // [2 * batch]
	in     []float32 // [2 * batch, talker width]
	x      []float32 // [2 * batch, hidden]
	logits []float32 // [batch, vocab]
}

// NewScratch returns scratch for frames of up to batch requests at once.
func (m *Model) NewScratch(batch int) *Scratch {
	sc := &Scratch{
		stack: m.stack.NewScratch(2 * batch), caches: make([]*nn.Cache, batch), rows: make([]nn.Row, 2*batch),
		in: make([]float32, 2*batch*m.Width), x: make([]float32, 2*batch*m.Hidden), logits: make([]float32, batch*m.Vocab),
	}
	for i := range sc.caches {
		sc.caches[i] = m.stack.NewCache(m.Groups)
	}
	return sc
}

// Run fills in the residual codes of all frames. They advance together: one row
// each in every residual step. A frame whose picker fails keeps its place, so that
// the others' rows stay what they are, and has Err set.
func (m *Model) Run(wk *nn.Work, sc *Scratch, frames []Frame) {
	n := len(frames)
	if n > len(sc.caches) {
		panic(fmt.Sprintf("predictor: %d frames in a scratch for %d", n, len(sc.caches)))
	}
	for i := range frames {
		f := &frames[i]
		f.Err = nil
		sc.caches[i].Reset()
		copy(sc.in[2*i*m.Width:(2*i+1)*m.Width], f.Hidden)
		copy(sc.in[(2*i+1)*m.Width:(2*i+2)*m.Width], f.Embed)
		sc.rows[2*i] = nn.Row{Cache: sc.caches[i]}
		sc.rows[2*i+1] = nn.Row{Cache: sc.caches[i]}
	}
	m.forward(wk, sc, 2*n)
	for i := range frames { // only the second row of each frame leads to a code
		copy(sc.x[i*m.Hidden:(i+1)*m.Hidden], sc.x[(2*i+1)*m.Hidden:(2*i+2)*m.Hidden])
		sc.rows[i] = nn.Row{Cache: sc.caches[i]}
	}
	for group := 1; ; group++ {
		m.pick(wk, sc, frames, group)
		if group == m.Groups-1 {
			return
		}
		for i := range frames {
			m.embeddings[group-1].Row(sc.in[i*m.Width:(i+1)*m.Width], int(frames[i].Codes[group]))
		}
		m.forward(wk, sc, n)
	}
}

// forward takes rows of sc.in through projection and stack into sc.x.
func (m *Model) forward(wk *nn.Work, sc *Scratch, rows int) {
	if m.projection != nil {
		m.projection.Forward(wk, sc.x, sc.in, rows)
	} else {
		copy(sc.x[:rows*m.Hidden], sc.in)
	}
	m.stack.Forward(wk, sc.stack, sc.x[:rows*m.Hidden], sc.rows[:rows], nil)
}

// pick norms the rows in sc.x, applies the group's head and asks the pickers.
func (m *Model) pick(wk *nn.Work, sc *Scratch, frames []Frame, group int) {
	n := len(frames)
	m.stack.Norm(sc.x, sc.x, n)
	m.heads[group-1].Forward(wk, sc.logits, sc.x, n)
	if sc.Watch != nil {
		sc.Watch.Computed(group)
	}
	for i := range frames {
		f := &frames[i]
		logits := sc.logits[i*m.Vocab : (i+1)*m.Vocab]
		if sc.Tap != nil {
			sc.Tap(i, group, logits)
		}
		f.Codes[group] = 0
		if f.Err != nil {
			continue
		}
		code, err := f.Pick.Pick(logits, group)
		if err != nil {
			f.Err = fmt.Errorf("predictor: code %d: %w", group, err)
			continue
		}
		f.Codes[group] = int32(code)
	}
	if sc.Watch != nil {
		sc.Watch.Picked(group)
	}
}
