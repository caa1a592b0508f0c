package encoder

import (
	"fmt"
	"math"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/safetensors"
	"github.com/mynah-tts/mynah/internal/team"
)

// search is a residual search: of a row, projected, the nearest entry of the first codebook; of what remains, the nearest of the
// next; and so on.
type search struct {
	project conv // hidden to dim, one tap, no bias
	books   []codebook
}

// codebook is the entries of a codebook, ready for the search.
type codebook struct {
	entries []float32 // [bins, dim]
	half    []float32 // [bins], half of the squared length of an entry
	longest float64   // length of the longest entry
}

// usageFloor is what the usage of an entry counts at least; some entries were never used.
const usageFloor = 1e-5

// load takes the input projection and the first n codebooks of encoder.quantizer.NAME_residual_vector_quantizer.
func (q *search) load(w *safetensors.Set, name string, n int, c *EncoderConfig) (err error) {
	prefix := "encoder.quantizer." + name + "_residual_vector_quantizer."
	if q.project, err = loadConv(w, prefix+"input_proj", c.Hidden, c.SearchDim, 1, 1, false); err != nil {
		return err
	}
	q.books = make([]codebook, n)
	for i := range q.books {
		if err := q.books[i].load(w, fmt.Sprintf("%slayers.%d.codebook.", prefix, i), c.Bins, c.EntryDim); err != nil {
			return err
		}
	}
	return nil
}

// load makes entry i as embed_sum[i] / cluster_usage[i]. An entry that is no number is refused here, where the tensor has a name:
// no distance to it could be compared.
func (b *codebook) load(w *safetensors.Set, prefix string, bins, dim int) error {
	sum, err := floats(w, prefix+"embed_sum", bins, dim)
	if err != nil {
		return err
	}
	usage, err := w.Widen(prefix+"cluster_usage", bins)
	if err != nil {
		return err
	}
	b.entries, b.half = make([]float32, bins*dim), make([]float32, bins)
	for i := range bins {
		u, square := max(usage[i], usageFloor), 0.0
		for d := i * dim; d < (i+1)*dim; d++ {
			b.entries[d] = sum[d] / u
			square += float64(b.entries[d]) * float64(b.entries[d])
		}
		b.half[i] = float32(square / 2)
		b.longest = max(b.longest, math.Sqrt(square))
		if math.IsNaN(square) || math.IsInf(float64(b.half[i]), 0) {
			info, _ := w.Info(prefix + "embed_sum")
			return &safetensors.TensorError{
				File: info.File, Tensor: prefix + "embed_sum", Problem: "entry", Found: fmt.Sprintf("%d is not finite", i), Wanted: "finite numbers",
			}
		}
	}
	return nil
}

// nearest returns the entry with the smallest distance to x, the first one among equals. products is x times every entry.
//
// Products in float32 choose among thousands quickly, but leave near ties to rounding. So every entry that rounding could have
// put behind the best is measured again, in float64: the choice is exact, at every instruction level.
func (b *codebook) nearest(x, products []float32) int {
	dim := len(x)
	best := float32(math.MaxFloat32)
	for i, p := range products {
		products[i] = b.half[i] - p
		best = min(best, products[i])
	}
	length := 0.0
	for _, v := range x {
		length += float64(v) * float64(v)
	}
	// A sum of dim products is off by dim/2 * 2^-23 of the sum of their magnitudes at most, and so is the one that it is compared with.
	// The half squares and the difference are rounded too.
	slack := float64(dim+8) * 0x1p-23 * (math.Sqrt(length)*b.longest + b.longest*b.longest)
	border := float32(float64(best) + slack)
	chosen, least := 0, math.Inf(1)
	for i, v := range products {
		if v > border {
			continue
		}
		distance := 0.0
		for d, e := range b.entries[i*dim : (i+1)*dim] {
			diff := float64(x[d]) - float64(e)
			distance += diff * diff
		}
		if distance < least {
			chosen, least = i, distance
		}
	}
	return chosen
}

// searchRows is how many rows are searched at once: their products fit into a core's caches.
const searchRows = 12

// searchJob does the searches of some rows. A row's searches need nothing of the other rows.
type searchJob struct {
	searches [2]*search
	x        [2][]float32 // [rows, dim]: the projections; what remains is written over them
	codes    []int32      // [rows, groups]
	products [][]float32  // of each worker: [searchRows, bins]
	rows     int
}

func (j *searchJob) Part(worker, workers int) {
	lo, hi := team.Split(j.rows, 1, worker, workers)
	for r := lo; r < hi; r += searchRows {
		group := 0
		for i, q := range j.searches {
			j.tile(q, j.x[i], r, min(r+searchRows, hi), group, j.products[worker])
			group += len(q.books)
		}
	}
}

// tile does one search of rows r0 to r1-1. Its codes begin at a group.
func (j *searchJob) tile(q *search, x []float32, r0, r1, group int, products []float32) {
	dim, groups := q.project.outs, len(j.codes)/j.rows
	for g := range q.books {
		b := &q.books[g]
		bins := len(b.half)
		kernel.MatMulF32(products, bins, x[r0*dim:], dim, b.entries, r1-r0, dim, bins)
		for r := r0; r < r1; r++ {
			row := x[r*dim : (r+1)*dim]
			code := b.nearest(row, products[(r-r0)*bins:][:bins])
			j.codes[r*groups+group+g] = int32(code)
			for d, e := range b.entries[code*dim : (code+1)*dim] {
				row[d] -= e
			}
		}
	}
}

// codeState is what the last part of the way needs for one clip: from rows of the transformer to codes.
type codeState struct {
	edge   []float32    // [left + rows, hidden], a slice of the transformer's rows with the neighbours that its convolution sees
	down   []float32    // [frames, hidden]
	x      [2][]float32 // [frames, dim]
	codes  []int32      // [all frames, groups]
	conv   convJob
	search searchJob
}

// sliceFrames is how many frames are quantized at once.
const sliceFrames = 48

func (e *Encoder) newCodeState(frames int) *codeState {
	n := min(frames, sliceFrames)
	dim := e.semantic.project.outs
	return &codeState{
		edge: e.down.input(n * downStride), down: make([]float32, n*e.down.outs),
		x:     [2][]float32{make([]float32, n*dim), make([]float32, n*dim)},
		codes: make([]int32, frames*e.cfg.Groups),
	}
}

// quantize makes the codes of frames lo to hi-1 of a clip from x [rows, hidden], what the transformer made of it. It returns a row
// of the slice that is not finite, or -1.
func (e *Encoder) quantize(wk *nn.Work, s *codeState, x []float32, lo, hi int, tap tapFunc) (bad int) {
	n, c := hi-lo, &e.down
	// The convolution's edges repeat the first and the last row; between slices they are the neighbours.
	rows := len(x) / c.in
	for i := range c.left + n*downStride {
		r := min(max(lo*downStride-c.left+i, 0), rows-1)
		copy(s.edge[i*c.in:(i+1)*c.in], x[r*c.in:(r+1)*c.in])
	}
	down := s.down[:n*c.outs]
	s.conv = convJob{conv: c, x: s.edge, dst: down, rows: n}
	wk.Run(&s.conv, c.macs(n))
	tap.show("downsample", n, c.outs, down)
	if i := kernel.FirstNonFinite(down); i >= 0 {
		return i / c.outs
	}
	searches := [2]*search{&e.semantic, &e.acoustic}
	for i, q := range searches {
		s.conv = convJob{conv: &q.project, x: down, dst: s.x[i], rows: n}
		wk.Run(&s.conv, q.project.macs(n))
		if bad := kernel.FirstNonFinite(s.x[i][:n*q.project.outs]); bad >= 0 {
			return bad / q.project.outs
		}
	}
	tap.show("semantic_projection", n, e.semantic.project.outs, s.x[0])
	tap.show("acoustic_projection", n, e.acoustic.project.outs, s.x[1])
	groups := e.cfg.Groups
	job := &s.search
	job.products = perWorker(job.products, wk, searchRows*len(e.semantic.books[0].half))
	job.searches, job.x, job.codes, job.rows = searches, s.x, s.codes[lo*groups:hi*groups], n
	wk.Run(job, n*groups*len(e.semantic.books[0].entries))
	return -1
}
