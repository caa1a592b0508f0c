package quant

import (
	"fmt"
	"math"
	"runtime"
	"sync"

	"github.com/mynah-tts/mynah/internal/kernel"
)

// Int4Options say how codes are chosen.
type Int4Options struct {
	Group int // inputs that share scale and zero point: a multiple of 8, at most kernel.MaxGroup
	// Refine searches each group's grid for the least squared error. Without it the
	// grid spans minimum and maximum.
	Refine bool
}

// Row gives one row of a matrix: row o of [outs, k], into dst [k].
type Row func(dst []float32, o int)

// PackInt4 quantizes and packs a matrix [outs, k].
func PackInt4(row Row, outs, k int, opts Int4Options) (*kernel.Int4, error) {
	if opts.Group < kernel.Int4Block || opts.Group%kernel.Int4Block != 0 || opts.Group > kernel.MaxGroup {
		return nil, fmt.Errorf("quant: groups of %d, allowed are multiples of %d up to %d", opts.Group, kernel.Int4Block, kernel.MaxGroup)
	}
	groups := (k + opts.Group - 1) / opts.Group
	codes, scale, zero := make([]uint8, outs*k), make([]float32, outs*groups), make([]uint8, outs*groups)
	var bad sync.Map
	parallelRows(outs, func(o int, w []float32) {
		row(w, o)
		if i := kernel.FirstNonFinite(w); i >= 0 {
			bad.Store(o, i)
			return
		}
		for g := range groups {
			lo, hi := g*opts.Group, min((g+1)*opts.Group, k)
			scale[o*groups+g], zero[o*groups+g] = Int4Group(codes[o*k+lo:o*k+hi], w[lo:hi], opts.Refine)
		}
	}, k)
	var err error
	bad.Range(func(o, i any) bool {
		err = fmt.Errorf("quant: weight [%d, %d] is not finite", o, i)
		return false
	})
	if err != nil {
		return nil, err
	}
	return kernel.PackInt4(codes, scale, zero, outs, k, opts.Group), nil
}

// parallelRows calls do for every row on all processors, each with a buffer [k] of
// its own.
func parallelRows(outs int, do func(o int, w []float32), k int) {
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), outs)
	for worker := range workers {
		wg.Go(func() {
			w := make([]float32, k)
			for o := worker * outs / workers; o < (worker+1)*outs/workers; o++ {
				do(o, w)
			}
		})
	}
	wg.Wait()
}

const (
	int4Most = 15 // the largest code
	// smallestRange keeps the scale of an all-zero group positive.
	smallestRange = 1e-6
)

// Int4Group chooses the codes of one group w, their scale, and the integer zero
// point 0..15: code q stands for (q - zero) * scale. The range is that of the group
// widened to hold 0, so 0 is exact.
func Int4Group(codes []uint8, w []float32, refine bool) (scale float32, zero uint8) {
	var low, high float32
	for _, v := range w {
		low, high = min(low, v), max(high, v)
	}
	scale = max(high-low, smallestRange) / int4Most
	zero = zeroPoint(low, scale)
	encode(codes, w, scale, zero)
	if !refine || high-low < smallestRange {
		return scale, zero
	}
	return refineGroup(codes, w, low, high, scale, zero)
}

func zeroPoint(low, scale float32) uint8 {
	return uint8(min(max(math.RoundToEven(float64(-low/scale)), 0), int4Most))
}

// encode rounds a group to its grid.
func encode(codes []uint8, w []float32, scale float32, zero uint8) {
	inverse, z := 1/float64(scale), float64(zero)
	for i, v := range w {
		codes[i] = uint8(min(max(math.RoundToEven(float64(v)*inverse)+z, 0), int4Most))
	}
}

// Shares of a group's range that refineGroup tries: clipping a few outliers makes
// the grid finer for all others.
var clips = [...]float32{1, 0.95, 0.9, 0.85, 0.8, 0.7}

// refineGroup tries clipped ranges, improves each by one least-squares step of the
// scale for its codes, and keeps the grid with the least squared error. The codes
// hold the plain grid's on entry and the best grid's on return.
func refineGroup(codes []uint8, w []float32, low, high, scale float32, zero uint8) (float32, uint8) {
	var room [kernel.MaxGroup]uint8
	try := room[:len(w)]
	best := squaredError(codes, w, scale, zero)
	for _, clip := range clips {
		s := clip * (high - low) / int4Most
		z := zeroPoint(clip*low, s)
		encode(try, w, s, z)
		if fitted := leastSquares(try, w, z); fitted > 0 {
			s = fitted
			encode(try, w, s, z)
		}
		if e := squaredError(try, w, s, z); e < best {
			best, scale, zero = e, s, z
			copy(codes, try)
		}
	}
	return scale, zero
}

// leastSquares returns the scale that fits codes best: sum w(q-z) / sum (q-z)^2.
func leastSquares(codes []uint8, w []float32, zero uint8) float32 {
	var num, den float64
	for i, v := range w {
		d := float64(int(codes[i]) - int(zero))
		num += float64(v) * d
		den += d * d
	}
	if den == 0 {
		return 0
	}
	return float32(num / den)
}

func squaredError(codes []uint8, w []float32, scale float32, zero uint8) (sum float64) {
	for i, v := range w {
		e := float64(v) - float64(int(codes[i])-int(zero))*float64(scale)
		sum += e * e
	}
	return sum
}

// Dequantize writes row o of a packed matrix to dst [k].
func Dequantize(dst []float32, w *kernel.Int4, o int) {
	for i := range dst {
		q, scale, zero := w.Code(o, i)
		dst[i] = float32(int(q)-int(zero)) * scale
	}
}
