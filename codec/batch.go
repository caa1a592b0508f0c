package codec

import (
	"errors"
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
)

// Item is the next frames of one stream, in a batch of several.
type Item struct {
	State *State
	PCM   []float32 // [n*Hop], takes the samples
	Codes []int32   // [n, Groups]
	Err   error     // what DecodeBatch reports of this stream, nil if nothing

	next, end int  // frames of the call: the next one to decode, and their number
	stop      stop // of Hear
}

// span is one stream in a step: a run of frames of the step.
type span struct {
	item          *Item
	state         *State
	first, frames int       // in the step
	codes         []int32   // [frames, groups]
	pcm           []float32 // [frames*hop]
}

// DecodeBatch takes the next frames of several streams, each with a State of its own and any number of frames, and writes their
// samples. It is Decode for all of them at once, and reads the weights once for each step of as many frames as the Scratch holds.
// Every stream's samples are the bits that Decode alone gives.
//
// A stream that fails gets its error, as from Decode, in Err; the others are not touched by it.
func (d *Decoder) DecodeBatch(wk *nn.Work, sc *Scratch, items []Item) {
	defer clear(sc.spans[:cap(sc.spans)]) // the scratch outlives the streams, and must not keep them
	for i := range items {
		it := &items[i]
		it.next, it.end = 0, 0
		if it.Err = d.admit(sc, it); it.Err == nil {
			it.end = len(it.Codes) / d.Groups()
			it.State.busy = it.end > 0
		}
	}
	for d.gather(sc, items) {
		d.step(wk, sc)
		sc.settle()
	}
	for i := range items {
		if items[i].State != nil && items[i].end > 0 {
			items[i].State.busy = false
		}
	}
}

// admit returns what keeps a stream from being decoded.
func (d *Decoder) admit(sc *Scratch, it *Item) error {
	s, groups := it.State, d.Groups()
	n := len(it.Codes) / groups
	switch {
	case s == nil || s.d != d || sc.d != d:
		return errors.New("codec: State or Scratch of another Decoder")
	case s.busy:
		return errors.New("codec: a State twice in a batch")
	case s.broken:
		return ErrBroken
	case n*groups != len(it.Codes):
		return fmt.Errorf("codec: %d codes, wanted a multiple of the %d in a frame", len(it.Codes), groups)
	case len(it.PCM) != n*d.Hop() && it.stop == atSamples:
		return fmt.Errorf("codec: room for %d samples, wanted %d for %d frames", len(it.PCM), n*d.Hop(), n)
	case n > MaxFrames-s.frame:
		return fmt.Errorf("codec: %d frames after %d, a stream has at most %d", n, s.frame, MaxFrames)
	}
	return d.check(it.Codes, s.frame)
}

// gather takes frames of the items into the next step; false if none are left.
func (d *Decoder) gather(sc *Scratch, items []Item) bool {
	sc.spans, sc.n = sc.spans[:0], 0
	for i := range items {
		it := &items[i]
		n := min(it.end-it.next, sc.frames-sc.n)
		if n > 0 {
			n = min(n, it.State.frames)
			from, to := it.next, it.next+n
			sc.spans = append(sc.spans, span{
				item: it, state: it.State, first: sc.n, frames: n,
				codes: it.Codes[from*d.Groups() : to*d.Groups()],
			})
			if it.stop == atSamples {
				sc.spans[len(sc.spans)-1].pcm = it.PCM[from*d.Hop() : to*d.Hop()]
			}
			sc.n += n
		}
	}
	return sc.n > 0
}

// settle ends a step: streams have come further, or have failed.
func (sc *Scratch) settle() {
	for i := range sc.spans {
		s := &sc.spans[i]
		if s.item.Err != nil {
			s.state.broken = true
			clear(s.item.PCM)
			s.item.next = s.item.end
			continue
		}
		s.state.frame += s.frames
		s.item.next += s.frames
	}
}

// finite looks at the rows that a stage made of each stream's frames, rate rows of width values a frame. A stream that has
// failed goes on until the step ends, as its rows touch no other's; its first error stays.
func (sc *Scratch) finite(x []float32, stage string, numbers ...int) {
	if kernel.FirstNonFinite(x) < 0 {
		return
	}
	per := len(x) / sc.n
	for i := range sc.spans {
		s := &sc.spans[i]
		s.finite(x[s.first*per:(s.first+s.frames)*per], stage, numbers)
	}
}

func (s *span) finite(x []float32, stage string, numbers []int) {
	i := kernel.FirstNonFinite(x)
	if i < 0 || s.item.Err != nil {
		return
	}
	s.item.Err = &NonFiniteError{Stage: stageName(stage, numbers), Frame: s.state.frame + i/(len(x)/s.frames)}
}
