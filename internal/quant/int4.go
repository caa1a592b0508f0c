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
	// Refine searches each group's grid for the least squared error, among those whose
	// weights are all bfloat16 numbers. Without it the grid spans minimum and maximum.
	Refine bool
	// Moments, if not nil, are those of the inputs: codes are then chosen one after the
	// other, each making up for the errors of those before it.
	Moments *Moments
}

// Row gives one row of a matrix: row o of [outs, k], into dst [k].
type Row func(dst []float32, o int)

// PackInt4 quantizes and packs a matrix [outs, k].
func PackInt4(row Row, outs, k int, opts Int4Options) (*kernel.Int4, error) {
	if opts.Group < kernel.Int4Block || opts.Group%kernel.Int4Block != 0 || opts.Group > kernel.MaxGroup {
		return nil, fmt.Errorf("quant: groups of %d, allowed are multiples of %d up to %d", opts.Group, kernel.Int4Block, kernel.MaxGroup)
	}
	if opts.Moments != nil && opts.Moments.k != k {
		return nil, fmt.Errorf("quant: moments of %d inputs for a matrix of %d", opts.Moments.k, k)
	}
	w := kernel.NewInt4(outs, k, opts.Group)
	finite := make([]int, outs)
	parallel((outs+kernel.PanelWidth-1)/kernel.PanelWidth, func(first, last int) {
		c := newCoder(w, opts)
		for p := first; p < last; p++ {
			for o := p * kernel.PanelWidth; o < min((p+1)*kernel.PanelWidth, outs); o++ {
				weights := c.weights[o%kernel.PanelWidth*k:][:k]
				row(weights, o)
				finite[o] = kernel.FirstNonFinite(weights)
			}
			c.panel(p)
		}
	})
	return w, notFinite(finite)
}

// notFinite is an error for the first weight that is not finite, of those found per
// row (-1 for none).
func notFinite(found []int) error {
	for o, i := range found {
		if i >= 0 {
			return fmt.Errorf("quant: weight [%d, %d] is not finite", o, i)
		}
	}
	return nil
}

// parallel shares out 0..n-1 among all processors.
func parallel(n int, part func(first, last int)) {
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), n)
	for worker := range workers {
		wg.Go(func() { part(worker*n/workers, (worker+1)*n/workers) })
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
	scale, zero = int4Grid(w, refine)
	kernel.Int4Encode(codes, w, scale, zero)
	return scale, zero
}

// int4Grid chooses scale and zero point.
func int4Grid(w []float32, refine bool) (scale float32, zero uint8) {
	var low, high float32
	for _, v := range w {
		low, high = min(low, v), max(high, v)
	}
	scale = max(high-low, smallestRange) / int4Most
	zero = zeroPoint(low, scale)
	if refine && high-low > smallestRange {
		scale, zero = refineGroup(w, low, high, scale, zero)
	}
	return scale, zero
}

func zeroPoint(low, scale float32) uint8 {
	return uint8(min(max(math.RoundToEven(float64(-low/scale)), 0), int4Most))
}

// Shares of a group's range that refineGroup tries: clipping a few outliers makes
// the grid finer for all others.
var clips = [...]float32{1, 0.95, 0.9, 0.85, 0.8, 0.7}

// refineGroup tries clipped ranges, fits the scale of each to its codes by least
// squares, and returns the grid with the least squared error, its scale made short.
func refineGroup(w []float32, low, high, scale float32, zero uint8) (float32, uint8) {
	power := float64(kernel.SumSquaresF32(w))
	best, bestScale, bestZero := math.Inf(1), scale, zero
	for _, clip := range clips {
		s := clip * (high - low) / int4Most
		z := zeroPoint(clip*low, s)
		num, den := kernel.Int4Fit(w, s, z)
		if den == 0 || num <= 0 {
			continue
		}
		if e := power - float64(num)*float64(num)/float64(den); e < best {
			best, bestScale, bestZero = e, num/den, z
		}
	}
	return shortScale(w, power, bestScale, bestZero), bestZero
}

// shortScale returns the best for a group of the three scales nearest to one that have
// so few bits that all 16 weights of the grid are bfloat16 numbers: a packed matrix can
// be expanded without loss. It costs one per cent of the squared error of the weights, and no divergence that shows.
func shortScale(w []float32, power float64, scale float32, zero uint8) float32 {
	const bfloat16 = 8 // significant bits
	drop := 24 - bfloat16 + 4
	if zero == 7 || zero == 8 { // the farthest code is 8 away, and 8 takes one bit
		drop--
	}
	down := math.Float32bits(scale) >> drop << drop
	best, short := math.Inf(1), math.Float32frombits(down)
	for _, bits := range [...]uint32{down, down + 1<<drop, down - 1<<drop} {
		s := math.Float32frombits(bits)
		if e := squaredError(w, power, s, zero); e < best && s > 0 {
			best, short = e, s
		}
	}
	return short
}

// squaredError is what a grid leaves of a group whose sum of squares is power.
func squaredError(w []float32, power float64, scale float32, zero uint8) float64 {
	num, den := kernel.Int4Fit(w, scale, zero)
	s := float64(scale)
	return power - 2*s*float64(num) + s*s*float64(den)
}

// Dequantize writes row o of a packed matrix to dst [k].
func Dequantize(dst []float32, w *kernel.Int4, o int) {
	for i := range dst {
		q, scale, zero := w.Code(o, i)
		dst[i] = float32(int(q)-int(zero)) * scale
	}
}
