package kernel

import (
	"fmt"
	"math"
	"testing"
)

// lengths are all of 0 to 1100.
const maxLength = 1100

func TestDotF32(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for _, p := range places {
			x, _ := f32(t, rng, p, maxLength)
			y, _ := f32(t, rng, (p+3)%8, maxLength)
			for n := range maxLength + 1 {
				x, y := part(x, n, p), y[:n]
				var want, size float64
				for i := range x {
					v := float64(x[i]) * float64(y[i])
					want += v
					size += math.Abs(v)
				}
				near(t, fmt.Sprintf("place %d, length %d", p, n), DotF32(x, y), want, sumBound(n, size))
			}
		}
	})
}

func TestDotBF16(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for _, p := range places {
			x, _ := f32(t, rng, p, maxLength)
			w := bf16(t, rng, p, maxLength)
			for n := range maxLength + 1 {
				x, w := part(x, n, p), part(w, n, p)
				var want, size float64
				for i := range x {
					v := float64(x[i]) * float64(widen(w[i]))
					want += v
					size += math.Abs(v)
				}
				near(t, fmt.Sprintf("place %d, length %d", p, n), DotBF16(x, w), want, sumBound(n, size))
			}
		}
	})
}

// part returns n elements of x that still touch the place's end or start.
func part[T any](x []T, n int, p place) []T {
	if p == pageEnd {
		return x[len(x)-n:]
	}
	return x[:n]
}

// TestDotOrder checks that the order of sums is the same for both kinds of weights, and that zeros at the end change nothing.
func TestDotOrder(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for n := range 200 {
			x, _ := f32(t, rng, 1, n)
			w := bf16(t, rng, 1, n)
			y := make([]float32, n)
			WidenBF16(y, w)
			want := DotF32(x, y)
			if got := DotBF16(x, w); !equalBits(got, want) {
				t.Fatalf("length %d: DotBF16 is %v, DotF32 of the same numbers %v", n, got, want)
			}
			padX, padY := make([]float32, (n+15)/16*16), make([]float32, (n+15)/16*16)
			copy(padX, x)
			copy(padY, y)
			if got := DotF32(padX, padY); !equalBits(got, want) {
				t.Fatalf("length %d: DotF32 is %v, padded with zeros %v", n, want, got)
			}
		}
	})
}

// TestDotNonFinite puts a NaN or an infinity at every position.
func TestDotNonFinite(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, n := range []int{1, 7, 8, 9, 16, 23, 40} {
			for i := range n {
				x, y, w := ones(n), ones(n), make([]uint16, n)
				for j := range w {
					w[j] = narrow(1)
				}
				x[i] = float32(math.Inf(1))
				if got := DotF32(x, y); !math.IsInf(float64(got), 1) {
					t.Fatalf("infinity at %d of %d: DotF32 is %v", i, n, got)
				}
				if got := DotBF16(x, w); !math.IsInf(float64(got), 1) {
					t.Fatalf("infinity at %d of %d: DotBF16 is %v", i, n, got)
				}
				x[i] = 1
				y[i], w[i] = float32(math.NaN()), narrow(float32(math.NaN()))
				if got := DotF32(x, y); got == got {
					t.Fatalf("NaN at %d of %d: DotF32 is %v", i, n, got)
				}
				if got := DotBF16(x, w); got == got {
					t.Fatalf("NaN at %d of %d: DotBF16 is %v", i, n, got)
				}
			}
		}
	})
}

func ones(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

func TestDotLengths(t *testing.T) {
	mustPanic(t, "DotF32", func() { DotF32(make([]float32, 3), make([]float32, 4)) })
	mustPanic(t, "DotBF16", func() { DotBF16(make([]float32, 4), make([]uint16, 3)) })
}
