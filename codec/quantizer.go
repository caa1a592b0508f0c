package codec

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// quantizer turns the codes of a frame into one vector: the entry of group 0 through a projection of its own, plus the sum of the
// other groups' entries through another.
type quantizer struct {
	dim         int        // of an entry
	books       []codebook // one per group
	first, rest nn.Linear  // entry to codebook_dim, no bias
}

// codebook holds entries as the checkpoint does: entry i is sum[i] / usage[i]. Dividing at look-up gives the same bits as a
// table of entries would, and needs none.
type codebook struct {
	sum   []float32 // [bins, dim]
	usage []float32 // [bins], at least usageFloor
}

// usageFloor is what the usage of an entry counts at least; some entries were never used.
const usageFloor = 1e-5

func (d *Decoder) loadQuantizer(w *safetensors.Set) error {
	const prefix = "decoder.quantizer."
	c := &d.cfg.Decoder
	q := &d.quantizer
	q.books = make([]codebook, c.Groups)
	for g := range q.books {
		name := prefix + "rvq_first.vq.layers.0._codebook."
		if g > 0 {
			name = fmt.Sprintf("%srvq_rest.vq.layers.%d._codebook.", prefix, g-1)
		}
		// The width of an entry is in no config: the first codebook says it for all.
		if info, ok := w.Info(name + "embedding_sum"); g == 0 && ok && len(info.Shape) == 2 {
			if q.dim = info.Shape[1]; q.dim < 1 {
				return &safetensors.TensorError{
					File: info.File, Tensor: info.Name, Problem: "shape", Found: fmt.Sprint(info.Shape),
					Wanted: fmt.Sprintf("[%d d] with d at least 1", c.Bins),
				}
			}
		}
		if err := q.books[g].load(w, name, c.Bins, q.dim); err != nil {
			return err
		}
	}
	for _, p := range []struct {
		to   *nn.Linear
		name string
	}{{&q.first, "rvq_first"}, {&q.rest, "rvq_rest"}} {
		weight, err := floats(w, prefix+p.name+".output_proj.weight", c.CodebookDim, q.dim, 1)
		if err != nil {
			return err
		}
		*p.to = nn.NewLinear(weight, nil, q.dim, c.CodebookDim)
	}
	return nil
}

func (b *codebook) load(w *safetensors.Set, prefix string, bins, dim int) (err error) {
	if b.sum, err = floats(w, prefix+"embedding_sum", bins, dim); err != nil {
		return err
	}
	if b.usage, err = w.Widen(prefix+"cluster_usage", bins); err != nil {
		return err
	}
	for i, u := range b.usage {
		b.usage[i] = max(u, usageFloor)
	}
	return nil
}

// add adds the entry of a code to dst [dim].
func (b *codebook) add(dst []float32, code int32) {
	usage := b.usage[code]
	for i, v := range b.sum[int(code)*len(dst):][:len(dst)] {
		dst[i] += v / usage
	}
}

// forward computes dst [frames, codebook_dim] from the codes of a step, which are within bounds.
func (q *quantizer) forward(wk *nn.Work, sc *Scratch, dst []float32) {
	n := sc.n
	entry := sc.entry[:n*q.dim]
	rest := sc.rest[:n*q.rest.Out]

	q.gather(entry, sc.spans, 1, len(q.books))
	q.rest.Forward(wk, rest, entry, n)
	q.gather(entry, sc.spans, 0, 1)
	q.first.Forward(wk, dst, entry, n)
	sc.tap("quantizer/rest", n, rest)
	sc.tap("quantizer/first", n, dst)
	kernel.AddF32(dst, rest)
	sc.tap("quantizer/sum", n, dst)
}

// gather fills dst [frames, dim] with the sums of the entries of groups from to to-1, added in order.
func (q *quantizer) gather(dst []float32, spans []span, from, to int) {
	clear(dst)
	groups := len(q.books)
	for _, s := range spans {
		for i := range s.frames {
			row := dst[(s.first+i)*q.dim:][:q.dim]
			for g := from; g < to; g++ {
				q.books[g].add(row, s.codes[i*groups+g])
			}
		}
	}
}

// check returns an error for the first code that is no index of its codebook. frame is the number of the first frame.
func (d *Decoder) check(codes []int32, frame int) error {
	bound := d.cfg.Decoder.Bins
	for i, code := range codes {
		if code < 0 || int(code) >= bound {
			groups := d.Groups()
			return &CodeError{Frame: frame + i/groups, Group: i % groups, Code: code, Bound: bound}
		}
	}
	return nil
}
