package codec

import (
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/team"
)

// convJob is one convolution of a step with what follows it while its results are still in the cache:
//
//	dst = conv(x)
//	sum += dst                  if sum is set
//	act = snake(sum or dst)     if act is set
//
// Tiles are cut along the output channels where there are few rows, since the weights are what is large there, and along the
// rows where there are many. Any cut gives the same bits.
type convJob struct {
	conv *conv
	x    []float32 // [left + rows, in]
	dst  []float32 // [rows, outs]
	sum  []float32 // [rows, outs], or nil
	act  []float32 // [rows, outs], or nil; may be dst
	rows int
}

// Shapes of the tiles. A tile of rows with its inputs and results stays in a core's second-level cache while panel after panel
// of weights passes by. Other shapes (48 to 192 rows, 16 to 384 outputs) changed the time of a frame by less than could be measured.
const (
	rowGrain = 12 // rows; workers share rows out in these, which the register tiles of the kernels divide evenly
	rowTile  = 96 // rows
	outTile  = 64 // output channels
	manyRows = 64 // rows per worker from which on rows are cut
)

// macs is the size of the job.
func (j *convJob) macs() int { return j.rows * j.conv.outs * j.conv.taps * j.conv.in }

func (j *convJob) Part(worker, workers int) {
	outs := j.conv.outs
	if j.rows >= manyRows*workers {
		lo, hi := team.Split(j.rows, rowGrain, worker, workers)
		for r := lo; r < hi; r += rowTile {
			j.tile(r, min(r+rowTile, hi), 0, outs)
		}
		return
	}
	lo, hi := team.Split(outs, kernel.PanelWidth, worker, workers)
	for o := lo; o < hi; o += outTile {
		j.tile(0, j.rows, o, min(o+outTile, hi))
	}
}

// tile computes rows r0 to r1-1 of outputs o0 to o1-1; o0 is a multiple of the panel width.
func (j *convJob) tile(r0, r1, o0, o1 int) {
	c := j.conv
	x := j.x[r0*c.in : (r1+c.left)*c.in]
	kernel.ConvF32(j.dst[r0*c.outs+o0:], c.outs, x, c.in, c.taps, c.dilation*c.in, c.in,
		c.weights[o0*c.taps*c.in:], c.bias[o0:o1], r1-r0, o1-o0)
	if j.sum == nil && j.act == nil {
		return
	}
	for r := r0; r < r1; r++ {
		lo, hi := r*c.outs+o0, r*c.outs+o1
		row := j.dst[lo:hi]
		if j.sum != nil {
			kernel.AddF32(j.sum[lo:hi], row)
			row = j.sum[lo:hi]
		}
		if j.act != nil {
			kernel.SnakeF32(j.act[lo:hi], row, c.act.a[o0:o1], c.act.ib[o0:o1])
		}
	}
}

// outConv is the last convolution, to one channel. One output would leave 15 lanes of a panel idle, so it is a dot product per
// sample over the taps, which lie one after the other in the input: weights are [taps, in] here.
type outConv struct{ conv }

// outJob computes dst [rows] from x [left + rows, in].
type outJob struct {
	out    *outConv
	x, dst []float32
}

func (j *outJob) Part(worker, workers int) {
	c := &j.out.conv
	k := c.taps * c.in
	lo, hi := team.Split(len(j.dst), kernel.PanelWidth, worker, workers)
	for r := lo; r < hi; r++ {
		j.dst[r] = kernel.DotF32(j.x[r*c.in:r*c.in+k], c.weights) + c.bias[0]
	}
}
