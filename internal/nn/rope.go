package nn

import (
	"math"
	"sync/atomic"
)

// ropeBlock is the number of positions whose angles are computed together, and
// maxPosition bounds a sequence: a day of frames.
const (
	ropeBlock   = 256
	maxPosition = 1 << 20
)

// rope gives cosines and sines of the rotary embedding: entry i of a position p
// turns by p * theta^(-2i/d). Blocks of positions are computed when first asked
// for and shared from then on by all requests.
type rope struct {
	inv    []float64 // [d/2]
	blocks []atomic.Pointer[[]float32]
}

// newRope prepares angles for heads of d values.
func newRope(d int, theta float64) *rope {
	r := &rope{inv: make([]float64, d/2), blocks: make([]atomic.Pointer[[]float32], maxPosition/ropeBlock)}
	for i := range r.inv {
		r.inv[i] = math.Pow(theta, -2*float64(i)/float64(d))
	}
	return r
}

// at returns cosines and sines [d/2] of a position.
func (r *rope) at(pos int) (cos, sin []float32) {
	half := len(r.inv)
	block := r.blocks[pos/ropeBlock].Load()
	if block == nil {
		block = r.fill(pos / ropeBlock)
	}
	row := (*block)[pos%ropeBlock*2*half:]
	return row[:half], row[half : 2*half]
}

// fill computes a block. Two goroutines that do so at once store equal values.
func (r *rope) fill(n int) *[]float32 {
	half := len(r.inv)
	table := make([]float32, ropeBlock*2*half) // [position, cos then sin, d/2]
	for p := range ropeBlock {
		row := table[p*2*half:]
		for i, inv := range r.inv {
			sin, cos := math.Sincos(float64(n*ropeBlock+p) * inv)
			row[i], row[half+i] = float32(cos), float32(sin)
		}
	}
	r.blocks[n].Store(&table)
	return &table
}
