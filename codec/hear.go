package codec

import (
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
)

// stop is how far a frame goes that no samples are wanted of.
type stop int

const (
	atSamples     stop = iota // all the way
	atTransformer             // no convolution hears it
	atEntry                   // those up to the decoder blocks do
	atBlock                   // the first block does as well
)

// stops tells whether the step ends at a stop.
func (sc *Scratch) stops(at stop) bool { return sc.spans[0].item.stop == at }

// Hear takes the next n frames of a stream, codes [n, Groups], whose samples nobody wants, for what comes after them. behind is how
// many more such frames there are before the first one that is to be decoded: they must all be heard before it. The stream then is what
// it would be had they been decoded, bit for bit, at a tenth of the cost. For what the convolutions remember of the past is short,
// and shorter the nearer they are to the samples: of the published checkpoints the last 11 frames go beyond the transformer, 5
// of them into the first block, and two all the way.
//
// Errors are those of Decode.
func (d *Decoder) Hear(wk *nn.Work, sc *Scratch, s *State, codes []int32, behind int) error {
	defer clear(sc.one[:])
	reach := d.reach()
	left := len(codes) / d.Groups()
	for first := true; first || len(codes) > 0; first = false {
		at, n := reach.next(left+behind, left)
		part := codes[:n*d.Groups()]
		if n == left {
			part = codes // with what is no whole frame, to be refused
		}
		sc.one[0] = Item{State: s, Codes: part, stop: at}
		if at == atSamples {
			sc.one[0].PCM = make([]float32, n*d.Hop())
		}
		d.DecodeBatch(wk, sc, sc.one[:])
		if err := sc.one[0].Err; err != nil {
			return err
		}
		codes, left = codes[len(part):], left-n
	}
	return nil
}

// reaches is, for each stop, how many frames before the first with samples must go beyond it. It falls from stop to stop.
type reaches [atBlock + 1]int

// next tells how far a frame goes that so many are left from, itself included, and how many of the next most go as far.
func (r *reaches) next(left, most int) (at stop, n int) {
	for at = atTransformer; at <= atBlock; at++ {
		if left > r[at] {
			return at, min(most, left-r[at])
		}
	}
	return atSamples, most
}

// reach looks from the samples back. Between two stops a convolution is right behind so many rows as it and those before it
// reach back; what it keeps for the next step, and what it hands on to those that go further, must lie behind them.
func (d *Decoder) reach() (r reaches) {
	var parts [atBlock + 1][]*conv
	at := atTransformer
	d.eachConv(func(c *conv) {
		switch c {
		case &d.preConv:
			return
		case &d.blocks[0].up:
			at = atEntry
		}
		if len(d.blocks) > 1 && c == &d.blocks[1].up {
			at = atBlock
		}
		parts[at] = append(parts[at], c)
	})
	frames := func(rows, rate int) int { return (rows + rate - 1) / rate }
	further := 0
	for at := atBlock; at >= atTransformer; at-- {
		void, rate := 0, 1
		for _, c := range parts[at] {
			void += c.left
			r[at] = max(r[at], frames(void, c.rate))
			if c.tileable() { // the bits of a row depend on what the first of its tile reaches
				void += (kernel.WinogradRows - 1) * c.dilation
			}
			void, rate = void*c.stride, c.rate*c.stride
		}
		if further > 0 {
			r[at] = max(r[at], further+frames(void, rate))
		}
		further = r[at]
	}
	return r
}
