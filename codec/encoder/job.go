package encoder

import (
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/team"
)

// Shapes of the tiles. A tile of rows with its inputs and results stays in a core's second-level cache while panel after panel
// of weights passes by.
const (
	rowGrain = 12 // rows; workers share rows out in these, which the register tiles of the kernels divide evenly
	rowTile  = 48 // rows
	outTile  = 64 // output channels
	manyRows = 64 // rows per worker from which on rows are cut, not outputs
)

// eluMACs is the cost of an activation in multiply-adds, roughly.
const eluMACs = 16

// convJob is one convolution of a chunk, with the activation of its results while they are still in the cache:
//
//	dst = conv(x)
//	act = elu(dst)    if act is set
//
// Any cut into tiles gives the same bits.
type convJob struct {
	conv *conv
	x    []float32 // [left + rows*stride, in]
	dst  []float32 // [rows, outs]
	act  []float32 // [rows, outs], or nil
	rows int
}

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

func (j *convJob) tile(r0, r1, o0, o1 int) {
	outs := j.conv.outs
	j.conv.multiply(j.dst[r0*outs+o0:], outs, j.x, r0, r1, o0, o1)
	if j.act == nil {
		return
	}
	for r := r0; r < r1; r++ {
		kernel.ELUF32(j.act[r*outs+o0:r*outs+o1], j.dst[r*outs+o0:r*outs+o1])
	}
}

// unitJob is the residual unit of a level and the activation behind it:
//
//	stream += widen(elu(narrow(x)))
//	act = elu(stream)
//
// A row needs nothing of the others' results, so the whole of a tile is done at once.
type unitJob struct {
	narrow, widen *conv
	x             []float32   // [left + rows, channels], the input of narrow: elu of stream and what came before
	stream        []float32   // [rows, channels]
	act           []float32   // [rows, channels]
	tiles         [][]float32 // of each worker: [rowTile, channels of both]
	rows          int
}

func (j *unitJob) Part(worker, workers int) {
	lo, hi := team.Split(j.rows, rowGrain, worker, workers)
	inner, outs := j.narrow.outs, j.widen.outs
	h, y := j.tiles[worker][:rowTile*inner], j.tiles[worker][rowTile*inner:]
	for r0 := lo; r0 < hi; r0 += rowTile {
		r1 := min(r0+rowTile, hi)
		n := r1 - r0
		j.narrow.multiply(h, inner, j.x, r0, r1, 0, inner)
		kernel.ELUF32(h[:n*inner], h[:n*inner])
		j.widen.multiply(y, outs, h, 0, n, 0, outs)
		stream := j.stream[r0*outs : r1*outs]
		kernel.AddF32(stream, y[:n*outs])
		kernel.ELUF32(j.act[r0*outs:r1*outs], stream)
	}
}

// perWorker returns scratch of so many values for each worker of a work, the same as before as far as it is there.
func perWorker(scratch [][]float32, wk *nn.Work, values int) [][]float32 {
	for len(scratch) < wk.Workers() {
		scratch = append(scratch, make([]float32, values))
	}
	return scratch
}
