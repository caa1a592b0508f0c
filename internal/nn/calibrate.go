package nn

import "github.com/mynah-tts/mynah/internal/quant"

// Calibration is what a stack hears while it is packed: rows like those that it will
// hear later. The codes of int4 matrices are chosen so that the products with such
// rows change least, which halves the divergence of the logits.
type Calibration struct {
	Work    *Work
	Rows    []float32 // [sum of Lengths, hidden]; Quantize leaves the outputs of the stack, before the final norm
	Lengths []int     // rows of each sequence
}

// Quantize packs all matrices of a stack. With a calibration, which may be nil, the
// rows go through one layer after the other, each as the checkpoint has it, before it
// is packed. The packed codes are the same for any number of workers; between
// instruction levels, whose sums round differently, single codes can differ.
func (s *Stack) Quantize(p Precision, c *Calibration) error {
	if c == nil {
		for _, l := range s.Linears() {
			if err := l.Quantize(p); err != nil {
				return err
			}
		}
		return nil
	}
	longest := 0
	for _, n := range c.Lengths {
		longest = max(longest, n)
	}
	one := &Stack{StackConfig: s.StackConfig, rope: s.rope}
	one.Layers = 1
	cache, sc, rows := one.NewCache(longest), one.NewScratch(longest), make([]Row, longest)
	for i := range rows {
		rows[i] = Row{Cache: cache}
	}
	for i := range s.layers {
		one.layers = s.layers[i : i+1]
		e := newEar(&s.layers[i], p)
		c.Work.in.heard = e.hear
		at := 0
		for _, n := range c.Lengths {
			cache.Reset()
			one.Forward(c.Work, sc, c.Rows[at*s.Hidden:(at+n)*s.Hidden], rows[:n], nil)
			at += n
		}
		c.Work.in.heard = nil
		if err := e.quantize(p); err != nil {
			return err
		}
	}
	return nil
}

// ear keeps the moments of the four inputs of a layer's matrices.
type ear [4]struct {
	maps    []*Linear      // all that have this input
	moments *quant.Moments // nil where they do not matter
}

func newEar(l *Layer, p Precision) *ear {
	e := &ear{}
	for i, maps := range [][]*Linear{{&l.Q, &l.K, &l.V}, {&l.O}, {&l.Gate, &l.Up}, {&l.Down}} {
		e[i].maps = maps
		if p.Form() == "int4" && !maps[0].Packed() {
			e[i].moments = quant.NewMoments(maps[0].In)
		}
	}
	return e
}

// hear adds the rows before the first map of each input.
func (e *ear) hear(l *Linear, x []float32, rows int) {
	for _, in := range e {
		if in.maps[0] == l && in.moments != nil {
			in.moments.Add(x, rows)
		}
	}
}

func (e *ear) quantize(p Precision) error {
	for _, in := range e {
		for _, l := range in.maps {
			if err := l.quantize(p, in.moments); err != nil {
				return err
			}
		}
	}
	return nil
}
