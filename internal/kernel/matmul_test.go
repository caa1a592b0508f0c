package kernel

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// matMulCase is one product with gaps between the rows.
type matMulCase struct{ rows, k, outs, gapX, gapDst int }

func (c matMulCase) String() string {
	return fmt.Sprintf("rows %d, k %d, outs %d, gaps %d and %d", c.rows, c.k, c.outs, c.gapX, c.gapDst)
}

func matMulCases() []matMulCase {
	var cases []matMulCase
	for _, k := range []int{0, 1, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 47, 64, 65, 100, 129} {
		for rows := 1; rows <= 9; rows++ {
			for _, outs := range []int{1, 2, 3, 4, 5, 7, 8, 9, 12, 13, 16, 17, 20} {
				cases = append(cases, matMulCase{rows, k, outs, (k + rows) % 3, (outs + rows) % 4})
			}
		}
	}
	return append(cases,
		matMulCase{0, 8, 8, 0, 0}, matMulCase{3, 8, 0, 0, 0},
		matMulCase{7, 1024, 300, 0, 0}, matMulCase{2, 3072, 100, 5, 3}, // more weights than matMulBlock
		matMulCase{14, 72, 10, 0, 0}, matMulCase{25, 40, 9, 1, 1},
	)
}

// TestMatMulF32 holds every element to the bits of DotF32: that makes it independent of the number of rows and outputs.
func TestMatMulF32(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for i, c := range matMulCases() {
			w, _ := f32(t, rng, places[i%len(places)], c.outs*c.k)
			testMatMul(t, rng, places[i*7%len(places)], c,
				func(dst []float32, ldd int, x []float32, ldx int) {
					MatMulF32(dst, ldd, x, ldx, w, c.rows, c.k, c.outs)
				},
				func(x []float32, o int) float32 { return DotF32(x, w[o*c.k:][:c.k]) })
		}
	})
}

// TestMatMulBF16 holds every element to the bits of DotBF16.
func TestMatMulBF16(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for i, c := range matMulCases() {
			w := bf16(t, rng, places[i%len(places)], c.outs*c.k)
			testMatMul(t, rng, places[i*7%len(places)], c,
				func(dst []float32, ldd int, x []float32, ldx int) {
					MatMulBF16(dst, ldd, x, ldx, w, c.rows, c.k, c.outs)
				},
				func(x []float32, o int) float32 { return DotBF16(x, w[o*c.k:][:c.k]) })
		}
	})
}

func testMatMul(t *testing.T, rng *rand.Rand, p place, c matMulCase,
	mul func(dst []float32, ldd int, x []float32, ldx int), dot func(x []float32, o int) float32,
) {
	t.Helper()
	ldx, ldd := c.k+c.gapX, c.outs+c.gapDst
	x, _ := f32(t, rng, p, max(0, c.rows*ldx-c.gapX))
	dst, check := f32(t, rng, p, max(0, c.rows*ldd-c.gapDst))
	want := slices.Clone(dst) // what lies between the rows stays
	for r := range c.rows {
		for o := range c.outs {
			want[r*ldd+o] = dot(x[r*ldx:][:c.k], o)
		}
	}
	mul(dst, ldd, x, ldx)
	check()
	mustMatch(t, c.String(), dst, want)
}

func TestMatMulLengths(t *testing.T) {
	f := func(n int) []float32 { return make([]float32, n) }
	mustPanic(t, "short x", func() { MatMulF32(f(8), 4, f(9), 5, f(20), 2, 5, 4) })
	mustPanic(t, "short w", func() { MatMulF32(f(8), 4, f(10), 5, f(19), 2, 5, 4) })
	mustPanic(t, "short dst", func() { MatMulF32(f(7), 4, f(10), 5, f(20), 2, 5, 4) })
	mustPanic(t, "short w", func() { MatMulBF16(f(8), 4, f(10), 5, make([]uint16, 19), 2, 5, 4) })
	mustPanic(t, "negative rows", func() { MatMulF32(f(8), 4, f(10), 5, f(20), -1, 5, 4) })
	MatMulF32(f(8), 4, f(10), 5, f(20), 2, 5, 4)
}

func TestMatMulAllocatesNothing(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		dst, x, w := make([]float32, 100), make([]float32, 5*33), make([]float32, 20*33)
		b, p := make([]uint16, 20*33), make([]float32, 32*33)
		n := testing.AllocsPerRun(20, func() {
			for rows := 1; rows < 6; rows++ {
				MatMulF32(dst, 20, x, 33, w, rows, 33, 20)
				MatMulBF16(dst, 20, x, 33, b, rows, 33, 20)
				MatMulBF16(dst, 20, x, 5, b, rows, 5, 20)
				ConvF32(dst, 20, x, 33, 1, 0, 33, p, nil, rows, 20)
			}
			SoftmaxF32(x)
			DotBF16(x[:5], b[:5])
		})
		if n != 0 {
			t.Errorf("%v allocations", n)
		}
	})
}
