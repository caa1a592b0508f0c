package encoder

import (
	"math"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/team"
)

// queryTile is how many queries of a head meet its keys at once.
const queryTile = 12

// storeJob rotates the keys of a slice of rows and puts them and the values, which come as [rows, kv heads*dim], where attention
// reads them: [kv heads, rows, dim].
type storeJob struct {
	t        *transformer
	s        *rowState
	lo, rows int
}

func (j *storeJob) Part(worker, workers int) {
	t, s, d := j.t, j.s, j.t.dim
	from, to := team.Split(j.rows, 1, worker, workers)
	for r := from; r < to; r++ {
		pos := j.lo + r
		cos, sin := s.angles(pos, d)
		for head := range t.kvHeads {
			at, slot := (r*t.kvHeads+head)*d, (head*s.rows+pos)*d
			key := s.keys[slot : slot+d]
			copy(key, s.k[at:at+d])
			copy(s.values[slot:slot+d], s.v[at:at+d])
			kernel.RotateF32(key, cos, sin)
		}
		for head := range t.heads {
			at := (r*t.heads + head) * d
			kernel.RotateF32(s.q[at:at+d], cos, sin)
		}
	}
}

// angles returns cosines and sines [dim/2] of a position.
func (s *rowState) angles(pos, dim int) (cos, sin []float32) {
	half := dim / 2
	return s.cos[pos*half : (pos+1)*half], s.sin[pos*half : (pos+1)*half]
}

// attendJob is softmax(q k^T / sqrt(dim)) v of a slice of rows, where a row sees itself and all rows before it. Workers share
// out heads and tiles of queries.
type attendJob struct {
	t        *transformer
	s        *rowState
	lo, rows int
}

func (j *attendJob) Part(worker, workers int) {
	tiles := (j.rows + queryTile - 1) / queryTile
	from, to := team.Split(tiles*j.t.heads, 1, worker, workers)
	for i := from; i < to; i++ {
		r := i % tiles * queryTile
		j.tile(i/tiles, r, min(r+queryTile, j.rows), j.s.scores[worker])
	}
}

// tile computes one head of rows r0 to r1-1 of the slice.
func (j *attendJob) tile(head, r0, r1 int, scores []float32) {
	t, s, d := j.t, j.s, j.t.dim
	kv := head / (t.heads / t.kvHeads) * s.rows * d
	n := j.lo + r1 // keys that the last of the rows sees
	width := t.heads * d
	kernel.MatMulF32(scores, n, s.q[r0*width+head*d:], width, s.keys[kv:kv+n*d], r1-r0, d, n)
	scale := float32(1 / math.Sqrt(float64(d)))
	for r := r0; r < r1; r++ {
		p := scores[(r-r0)*n:][:j.lo+r+1]
		for i := range p {
			p[i] *= scale
		}
		kernel.SoftmaxF32(p)
		kernel.WeightedSumF32(s.attn[r*width+head*d:][:d], p, s.values[kv:kv+len(p)*d], d)
	}
}
