package quant

import "github.com/mynah-tts/mynah/internal/kernel"

const width = kernel.PanelWidth

// coder chooses the codes of a matrix, 16 outputs at a time.
type coder struct {
	to      *kernel.Int4
	opts    Int4Options
	weights []float32 // [16, k] of the panel at hand
	codes   []uint8   // [16 k]

	// With moments:
	feedback    []feedback
	columns     []float32 // [block, 16]: a block of weights, transposed
	share       []float32 // [block, 16]: what each code's error takes from the weights behind it
	scale, zero []float32 // [groups, 16]
}

func newCoder(to *kernel.Int4, opts Int4Options) *coder {
	c := &coder{to: to, opts: opts, weights: make([]float32, width*to.K), codes: make([]uint8, width*to.K)}
	if opts.Moments != nil {
		groups := (to.K + opts.Group - 1) / opts.Group
		c.feedback = opts.Moments.feedback()
		c.columns, c.share = make([]float32, momentBlock*width), make([]float32, momentBlock*width)
		c.scale, c.zero = make([]float32, groups*width), make([]float32, groups*width)
	}
	return c
}

// panel sets panel p of the matrix to the codes of the weights.
func (c *coder) panel(p int) {
	outs := min(width, c.to.Outs-p*width)
	if c.feedback != nil {
		c.panelByMoments(p, outs)
		return
	}
	k := c.to.K
	for o := range outs {
		for from := 0; from < k; from += c.opts.Group {
			part := c.weights[o*k+from : o*k+min(from+c.opts.Group, k)]
			codes := c.codes[:len(part)]
			scale, zero := Int4Group(codes, part, c.opts.Refine)
			c.to.Set(p*width+o, from, codes, scale, zero)
		}
	}
}

// panelByMoments chooses all grids by the weights as they are, and then the codes, block
// by block of the moments. Groups and blocks need not have the same bounds.
func (c *coder) panelByMoments(p, outs int) {
	k, group := c.to.K, c.opts.Group
	for g := 0; g*group < k; g++ {
		for o := range width {
			scale, zero := float32(1), uint8(0) // for outputs that are none
			if o < outs {
				scale, zero = int4Grid(c.weights[o*k+g*group:o*k+min((g+1)*group, k)], c.opts.Refine)
			}
			c.scale[g*width+o], c.zero[g*width+o] = scale, float32(zero)
		}
	}
	for from := 0; from < k; from += momentBlock {
		c.block(from, min(from+momentBlock, k), outs)
	}
	for g := 0; g*group < k; g++ {
		scale := c.scale[g*width : (g+1)*width]
		clear(scale[outs:])
		c.to.SetPanel(p, g*group, c.codes[g*group*width:min((g+1)*group, k)*width], scale, c.zero[g*width:(g+1)*width])
	}
}

// block chooses the codes of inputs from..to-1.
func (c *coder) block(from, to, outs int) {
	n := to - from
	w, share, codes, f := c.columns[:n*width], c.share[:n*width], c.codes[from*width:to*width], &c.feedback[from/momentBlock]
	clear(w)
	for o := range outs {
		for i, v := range c.weights[o*c.to.K+from : o*c.to.K+to] {
			w[i*width+o] = v
		}
	}
	for at := from; at < to; {
		g := at / c.opts.Group
		end := min(to, (g+1)*c.opts.Group)
		kernel.Int4Feedback(codes, share, w, f.lower, f.inverse, c.scale[g*width:(g+1)*width], c.zero[g*width:(g+1)*width], at-from, end-from)
		at = end
	}
}
