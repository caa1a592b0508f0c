package speaker

import (
	"math"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/safetensors"
	"github.com/mynah-tts/mynah/internal/team"
)

// conv is a convolution over channel-last rows that keeps their number: the input is reflected at both ends.
type conv struct {
	in, outs       int
	taps, dilation int
	pad            int       // rows that it sees on each side
	panels         []float32 // [ceil(outs/16), taps, in, 16], see kernel.PackPanels
	bias           []float32 // [outs]
}

// loadConv takes name.weight [out, in, taps] and name.bias [out].
func loadConv(w *safetensors.Set, name string, in, out, taps, dilation int) (conv, error) {
	c := conv{in: in, outs: out, taps: taps, dilation: dilation, pad: (taps - 1) * dilation / 2}
	weight, err := w.Widen(name+".weight", out, in, taps)
	if err != nil {
		return c, err
	}
	if taps > 1 {
		weight = tapsFirst(weight, out, in, taps)
	}
	c.panels = kernel.PackPanels(weight, out, taps*in)
	c.bias, err = w.Widen(name+".bias", out)
	return c, err
}

// tapsFirst turns [out, in, taps] into [out, taps, in].
func tapsFirst(weight []float32, out, in, taps int) []float32 {
	turned := make([]float32, len(weight))
	for o := range out {
		for c := range in {
			for t := range taps {
				turned[(o*taps+t)*in+c] = weight[(o*in+c)*taps+t]
			}
		}
	}
	return turned
}

// macs is the size of a convolution of so many rows.
func (c *conv) macs(rows int) int { return rows * c.outs * c.taps * c.in }

// reflect fills the pad rows [width] on both sides of a buffer [pad + rows + pad, width]; the edge itself is not repeated.
func (c *conv) reflect(x []float32, rows, width int) {
	row := func(r int) []float32 { return x[(c.pad+r)*width:][:width] }
	for i := 1; i <= c.pad; i++ {
		copy(row(-i), row(i))
		copy(row(rows-1+i), row(rows-1-i))
	}
}

// activation is what follows a convolution.
type activation int

const (
	linear activation = iota
	relu
	reluTanh
)

// rowTile is how many rows are done before the next ones come, so that they are still in the cache for their activation.
const rowTile = 48

// convJob is a convolution of rows and its activation. Any cut into rows gives the same bits.
type convJob struct {
	conv *conv
	bias []float32 // [outs]
	x    []float32 // [pad + rows + pad, in], rows ldx apart
	ldx  int
	dst  []float32 // [rows, outs], rows ldd apart
	ldd  int
	rows int
	act  activation
}

// run runs a convolution of contiguous rows.
func (c *conv) run(wk *nn.Work, job *convJob, dst, x []float32, rows int, act activation) {
	c.runStrided(wk, job, dst, c.outs, x, c.in, rows, act)
}

// runStrided runs a convolution of rows that are parts of longer ones.
func (c *conv) runStrided(wk *nn.Work, job *convJob, dst []float32, ldd int, x []float32, ldx, rows int, act activation) {
	*job = convJob{conv: c, bias: c.bias, x: x, ldx: ldx, dst: dst, ldd: ldd, rows: rows, act: act}
	wk.Run(job, c.macs(rows))
}

func (j *convJob) Part(worker, workers int) {
	c := j.conv
	lo, hi := team.Split(j.rows, 12, worker, workers)
	for r0 := lo; r0 < hi; r0 += rowTile {
		n := min(rowTile, hi-r0)
		dst := j.dst[r0*j.ldd:]
		kernel.ConvF32(dst, j.ldd, j.x[r0*j.ldx:], j.ldx, c.taps, c.dilation*j.ldx, c.in, c.panels, j.bias, n, c.outs)
		for r := range n {
			activate(dst[r*j.ldd:][:c.outs], j.act)
		}
	}
}

func activate(x []float32, act activation) {
	if act == linear {
		return
	}
	for i, v := range x {
		x[i] = max(v, 0)
	}
	if act == reluTanh {
		for i, v := range x {
			x[i] = float32(math.Tanh(float64(v)))
		}
	}
}
