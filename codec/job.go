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
// Rows are numbered through all streams of the step; where a buffer is the input of a convolution, the rows that it keeps of each
// stream stand before that stream's new ones (see Scratch).
//
// Tiles are cut along the output channels where the weights are large, and along the rows where those are many. In a tile, a
// panel of weights meets the rows of all streams before the next one comes. Any cut gives the same bits.
type convJob struct {
	conv *conv
	x    buffer    // the input of conv
	dst  buffer    // [rows, outs]
	sum  []float32 // [rows, outs], or nil
	act  buffer    // [rows, outs], or none; may be dst

	spans []span
	rows  int               // of all spans
	codes *kernel.ConvCodes // x in 8 bits, for weights that are
	pairs []uint16          // x as bfloat16, for dot products
	room  [][]float32       // of each worker, for tiles
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
	if j.conv.points != nil {
		j.tiled(worker, workers)
		return
	}
	if j.rows >= manyRows*workers && (len(j.spans) == 1 || j.conv.bytes() <= keptWeights) {
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

// keptWeights is the size of weights that stay in a cache from one tile of rows to the next.
const keptWeights = 1 << 20 // bytes

// tile computes rows r0 to r1-1 of outputs o0 to o1-1; o0 is a multiple of the panel width.
func (j *convJob) tile(r0, r1, o0, o1 int) {
	if j.evenly(r0, r1, o0, o1) {
		return
	}
	step := o1 - o0
	if len(j.spans) > 1 {
		step = kernel.PanelWidth
	}
	for o := o0; o < o1; o += step {
		for i := range j.spans {
			lo, hi := j.part(i, r0, r1)
			for r := lo; r < hi; r += rowTile {
				j.some(i, r, min(r+rowTile, hi), o, min(o+step, o1))
			}
		}
	}
	for i := range j.spans {
		lo, hi := j.part(i, r0, r1)
		j.follow(i, lo, hi, o0, o1)
	}
}

// part is what span i has of rows r0 to r1-1.
func (j *convJob) part(i, r0, r1 int) (lo, hi int) {
	s := &j.spans[i]
	return max(r0, s.first*j.conv.rate), min(r1, (s.first+s.frames)*j.conv.rate)
}

// evenly computes a tile of several streams with one row each by a single call: their rows lie at even distances.
func (j *convJob) evenly(r0, r1, o0, o1 int) bool {
	c := j.conv
	if len(j.spans) == 1 || j.rows != len(j.spans) || r0 != 0 || r1 != j.rows {
		return false
	}
	channels := c.outs / c.stride
	ldd := c.outs + j.dst.left*channels
	j.multiply(j.dst.data[j.dst.at(0, channels, 0)+o0:], ldd, 0, 1+c.left, r1, o0, o1)
	for i := range j.spans {
		j.follow(i, i, i+1, o0, o1)
	}
	return true
}

// some computes rows lo to hi-1, which are of span i, of outputs o0 to o1-1.
func (j *convJob) some(i, lo, hi, o0, o1 int) {
	c := j.conv
	dst := j.dst.at(i, c.outs/c.stride, lo*c.stride)
	j.multiply(j.dst.data[dst+o0:], c.outs, lo+i*c.left, 1, hi-lo, o0, o1)
}

// multiply computes outputs o0 to o1-1 of rows whose windows begin at a row of x, and step rows further on each time.
func (j *convJob) multiply(dst []float32, ldd, at, step, rows, o0, o1 int) {
	c := j.conv
	bias, from := c.bias[o0:o1], o0*c.taps*c.in
	switch {
	case c.int8 != nil:
		x, w := j.codes.From(at, c.in), c.int8.From(o0)
		kernel.ConvInt8(dst, ldd, &x, step, c.dilation, &w, bias, rows, o1-o0)
	case c.dot != nil:
		kernel.ConvDotBF16(dst, ldd, j.pairs[at*kernel.DotK(c.in):], step, c.taps, c.dilation, c.in, c.dot[from:], bias, rows, o1-o0)
	case c.bf16 != nil:
		kernel.ConvBF16(dst, ldd, j.x.data[at*c.in:], step*c.in, c.taps, c.dilation*c.in, c.in, c.bf16[from:], bias, rows, o1-o0)
	default:
		kernel.ConvF32(dst, ldd, j.x.data[at*c.in:], step*c.in, c.taps, c.dilation*c.in, c.in, c.f32[from:], bias, rows, o1-o0)
	}
}

// follow does what comes after the product for rows lo to hi-1, which are of span i.
func (j *convJob) follow(i, lo, hi, o0, o1 int) {
	c := j.conv
	if j.sum == nil && j.act.data == nil {
		return
	}
	channels := c.outs / c.stride
	for r := lo; r < hi; r++ {
		at := j.dst.at(i, channels, r*c.stride)
		row := j.dst.data[at+o0 : at+o1]
		if j.sum != nil {
			sum := j.sum[r*c.outs+o0 : r*c.outs+o1]
			kernel.AddF32(sum, row)
			row = sum
		}
		if j.act.data != nil {
			at = j.act.at(i, channels, r*c.stride)
			kernel.SnakeF32(j.act.data[at+o0:at+o1], row, c.act.a[o0:o1], c.act.ib[o0:o1])
		}
	}
}

// outConv is the last convolution, to one channel. One output would leave 15 lanes of a panel idle, so it is a dot product per
// sample over the taps, which lie one after the other in the input: weights are [taps, in] here.
type outConv struct{ conv }

// outJob computes the samples of all spans from x, the input of out.
type outJob struct {
	out   *outConv
	x     buffer
	spans []span
	rows  int // of all spans
}

func (j *outJob) Part(worker, workers int) {
	c := &j.out.conv
	k := c.taps * c.in
	lo, hi := team.Split(j.rows, kernel.PanelWidth, worker, workers)
	for i := range j.spans {
		s := &j.spans[i]
		first, end := s.first*c.rate, (s.first+s.frames)*c.rate
		for r := max(lo, first); r < min(hi, end); r++ {
			x := j.x.data[(r+i*c.left)*c.in:]
			s.pcm[r-first] = kernel.DotF32(x[:k], c.f32) + c.bias[0]
		}
	}
}

// codesJob quantizes the rows of a convolution's input, kept ones included: each by itself.
type codesJob struct {
	x     []float32 // [rows, in]
	in    int
	rows  int
	codes *kernel.ConvCodes
}

func (j *codesJob) Part(worker, workers int) {
	kp := kernel.Int8K(j.in)
	lo, hi := team.Split(j.rows, 1, worker, workers)
	for r := lo; r < hi; r++ {
		row := &j.codes.Rows[r]
		row.Scale, row.Zero = kernel.QuantizeU8(j.codes.Codes[r*kp:(r+1)*kp], j.x[r*j.in:(r+1)*j.in])
	}
}

// codeMACs is the cost of quantizing a value in multiply-adds, roughly.
const codeMACs = 16

// pairsJob rounds the rows of a convolution's input to bfloat16, kept ones included.
type pairsJob struct {
	x     []float32 // [rows, in]
	in    int
	rows  int
	pairs []uint16 // [rows, in rounded up to pairs]
}

func (j *pairsJob) Part(worker, workers int) {
	k := kernel.DotK(j.in)
	lo, hi := team.Split(j.rows, 1, worker, workers)
	for r := lo; r < hi; r++ {
		kernel.NarrowBF16(j.pairs[r*k:(r+1)*k], j.x[r*j.in:(r+1)*j.in])
	}
}

// pairMACs is the cost of rounding a value in multiply-adds, roughly.
const pairMACs = 4
