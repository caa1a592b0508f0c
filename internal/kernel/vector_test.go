package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mynah-tts/mynah/internal/cpu"
)

// elementwise describes a kernel that makes dst[i] from the i-th elements of its operands.
type elementwise struct {
	name  string
	run   func(dst, a, b, c []float32)
	want  func(dst, a, b, c float64) float64
	bound func(dst, a, b, c float64) float64 // largest error
}

const factor = 0.7

var elementwiseKernels = []elementwise{
	{
		name:  "AddF32",
		run:   func(dst, a, b, c []float32) { AddF32(dst, a) },
		want:  func(dst, a, b, c float64) float64 { return dst + a },
		bound: func(dst, a, b, c float64) float64 { return halfULP * 2 },
	},
	{
		name:  "MulF32",
		run:   func(dst, a, b, c []float32) { MulF32(dst, a) },
		want:  func(dst, a, b, c float64) float64 { return dst * a },
		bound: func(dst, a, b, c float64) float64 { return halfULP },
	},
	{
		name:  "MulAddF32",
		run:   func(dst, a, b, c []float32) { MulAddF32(dst, a, b) },
		want:  func(dst, a, b, c float64) float64 { return dst + a*b },
		bound: func(dst, a, b, c float64) float64 { return halfULP * 3 },
	},
	{
		name:  "AxpyF32",
		run:   func(dst, a, b, c []float32) { AxpyF32(dst, factor, a) },
		want:  func(dst, a, b, c float64) float64 { return dst + float64(float32(factor))*a },
		bound: func(dst, a, b, c float64) float64 { return halfULP * 3 },
	},
	{
		name:  "SiLUF32",
		run:   func(dst, a, b, c []float32) { copy(dst, a); SiLUF32(dst) },
		want:  func(dst, a, b, c float64) float64 { return a / (1 + math.Exp(-a)) },
		bound: func(dst, a, b, c float64) float64 { return 5 * halfULP * math.Abs(a) },
	},
	{
		name:  "SiLUMulF32",
		run:   func(dst, a, b, c []float32) { SiLUMulF32(dst, a, b) },
		want:  func(dst, a, b, c float64) float64 { return a / (1 + math.Exp(-a)) * b },
		bound: func(dst, a, b, c float64) float64 { return 6 * halfULP * math.Abs(a*b) },
	},
	{
		name:  "GELUF32",
		run:   func(dst, a, b, c []float32) { copy(dst, a); GELUF32(dst) },
		want:  func(dst, a, b, c float64) float64 { return a * math.Erfc(-a/math.Sqrt2) / 2 },
		bound: func(dst, a, b, c float64) float64 { return 2e-7 },
	},
	{
		name:  "SnakeF32",
		run:   func(dst, a, b, c []float32) { SnakeF32(dst, a, b, c) },
		want:  func(dst, a, b, c float64) float64 { s := math.Sin(a * b); return a + c*s*s },
		bound: func(dst, a, b, c float64) float64 { return 5e-7 },
	},
}

// TestElementwise runs each kernel at all lengths in all places, against float64 and for writes outside of dst.
func TestElementwise(t *testing.T) {
	for _, k := range elementwiseKernels {
		t.Run(k.name, func(t *testing.T) {
			eachLevel(t, func(t *testing.T) {
				rng := newRand()
				for _, p := range places {
					a, _ := f32(t, rng, p, maxLength)
					b, _ := f32(t, rng, (p+1)%8, maxLength)
					c, _ := f32(t, rng, (p+2)%8, maxLength)
					for n := 0; n <= maxLength; n += 1 + n/300*7 {
						a, b, c := part(a, n, p), b[:n], c[:n]
						dst, check := f32(t, rng, p, n)
						if p >= pageEnd && n%16 > 1 {
							continue // mapping memory takes long
						}
						before := slices.Clone(dst)
						k.run(dst, a, b, c)
						check()
						for i := range dst {
							d, a, b, c := float64(before[i]), float64(a[i]), float64(b[i]), float64(c[i])
							if e := math.Abs(float64(dst[i]) - k.want(d, a, b, c)); !(e <= k.bound(d, a, b, c)) {
								t.Fatalf("place %d, length %d, element %d (%v, %v, %v, %v): %v, want %v", p, n, i, d, a, b, c, dst[i], k.want(d, a, b, c))
							}
						}
					}
				}
			})
		})
	}
}

// TestElementwiseNonFinite puts a NaN and infinities at every position of the first operand.
func TestElementwiseNonFinite(t *testing.T) {
	for _, k := range elementwiseKernels {
		t.Run(k.name, func(t *testing.T) {
			eachLevel(t, func(t *testing.T) {
				for _, n := range []int{1, 7, 8, 15, 16, 17, 33, 80} {
					for i := range n {
						for _, bad := range []float64{math.NaN(), math.Inf(1)} {
							dst, a := ones(n), ones(n)
							a[i] = float32(bad)
							k.run(dst, a, ones(n), ones(n))
							if got := FirstNonFinite(dst); got != i {
								t.Fatalf("%v at %d of %d: the first non-finite result is at %d", bad, i, n, got)
							}
							dst[i] = 0
							if got := FirstNonFinite(dst); got != -1 {
								t.Fatalf("%v at %d of %d: a non-finite result is at %d too", bad, i, n, got)
							}
						}
					}
				}
			})
		})
	}
}

// TestElementwiseLevels checks that AVX2 and AVX-512 agree to the last bit.
func TestElementwiseLevels(t *testing.T) {
	if bestLevel() < cpu.AVX512 {
		t.Skip("needs AVX-512")
	}
	for _, k := range elementwiseKernels {
		rng := newRand()
		const n = 1000
		a, _ := f32(t, rng, 1, n)
		b, _ := f32(t, rng, 1, n)
		c, _ := f32(t, rng, 1, n)
		got, _ := f32(t, rng, 1, n)
		want := slices.Clone(got)
		restore := SetLevel(cpu.AVX2)
		k.run(want, a, b, c)
		restore()
		restore = SetLevel(cpu.AVX512)
		k.run(got, a, b, c)
		restore()
		mustMatch(t, k.name, got, want)
	}
}

func TestWeightedSumF32(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for i, d := range []int{0, 1, 7, 8, 9, 15, 16, 24, 31, 64, 65, 72, 100, 128, 129, 160, 200, 256} {
			for _, n := range []int{0, 1, 2, 3, 17, 72, 200} {
				p := places[(i+n)%len(places)]
				ldv := d + n%3
				weights, _ := f32(t, rng, p, n)
				v, _ := f32(t, rng, p, max(0, n*ldv-n%3))
				dst, check := f32(t, rng, p, d)
				WeightedSumF32(dst, weights, v, ldv)
				check()
				one := make([]float32, 1)
				for j := range d {
					var want, size float64
					for i, w := range weights {
						x := float64(w) * float64(v[i*ldv+j])
						want += x
						size += math.Abs(x)
					}
					what := fmt.Sprintf("d %d, n %d, column %d", d, n, j)
					near(t, what, dst[j], want, float64(n+1)*halfULP*size)
					if n > 0 {
						// Alone, a column has the same bits.
						WeightedSumF32(one, weights, v[j:], ldv)
						if !equalBits(one[0], dst[j]) {
							t.Fatalf("%s: %v, alone %v", what, dst[j], one[0])
						}
					}
				}
			}
		}
	})
	mustPanic(t, "short v", func() { WeightedSumF32(make([]float32, 4), make([]float32, 3), make([]float32, 13), 5) })
}

func TestSumSquaresF32(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for n := range 300 {
			x, _ := f32(t, rng, place(n%8), n)
			var want float64
			for _, v := range x {
				want += float64(v) * float64(v)
			}
			near(t, fmt.Sprintf("length %d", n), SumSquaresF32(x), want, sumBound(n, want))
		}
	})
}

func TestRMSNormF32(t *testing.T) {
	const eps = 1e-6
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for n := range 300 {
			p := places[n%len(places)]
			x, checkX := f32(t, rng, p, n)
			w, _ := f32(t, rng, p, n)
			dst, check := f32(t, rng, p, n)
			RMSNormF32(dst, x, w, eps)
			check()
			var mean float64
			for _, v := range x {
				mean += float64(v) * float64(v) / float64(n)
			}
			for i := range dst {
				want := float64(x[i]) / math.Sqrt(mean+eps) * float64(w[i])
				near(t, fmt.Sprintf("length %d, element %d", n, i), dst[i], want, (float64(n/8)+8)*halfULP*math.Abs(want))
			}
			RMSNormF32(x, x, w, eps)
			checkX()
			mustMatch(t, fmt.Sprintf("length %d in place", n), x, dst)
		}
	})
}

func TestRotateF32(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for half := range 140 {
			p := places[half%len(places)]
			x, check := f32(t, rng, p, 2*half)
			cos, _ := f32(t, rng, p, half)
			sin, _ := f32(t, rng, p, half)
			before := slices.Clone(x)
			RotateF32(x, cos, sin)
			check()
			for i := range half {
				a, b := float64(before[i]), float64(before[half+i])
				c, s := float64(cos[i]), float64(sin[i])
				near(t, fmt.Sprintf("half %d, element %d", half, i), x[i], a*c-b*s, 4*halfULP)
				near(t, fmt.Sprintf("half %d, element %d", half, half+i), x[half+i], b*c+a*s, 4*halfULP)
			}
		}
	})
	mustPanic(t, "odd head", func() { RotateF32(make([]float32, 5), make([]float32, 2), make([]float32, 2)) })
}

func TestWidenBF16(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for n := range maxLength + 1 {
			p := places[n%len(places)]
			src := bf16(t, rng, p, n)
			dst, check := f32(t, rng, p, n)
			WidenBF16(dst, src)
			check()
			for i, b := range src {
				if math.Float32bits(dst[i]) != uint32(b)<<16 {
					t.Fatalf("length %d: %#04x became %#08x", n, b, math.Float32bits(dst[i]))
				}
			}
		}
	})
}

func TestFirstNonFinite(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for n := range 200 {
			x, _ := f32(t, rng, places[n%len(places)], n)
			if got := FirstNonFinite(x); got != -1 {
				t.Fatalf("length %d, all finite: %d", n, got)
			}
			for i := range x {
				old := x[i]
				for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
					x[i] = bad
					if got := FirstNonFinite(x); got != i {
						t.Fatalf("length %d, %v at %d: %d", n, bad, i, got)
					}
				}
				x[i] = math.MaxFloat32
				if got := FirstNonFinite(x); got != -1 {
					t.Fatalf("length %d, the largest number at %d: %d", n, i, got)
				}
				x[i] = old
			}
		}
	})
}

func TestVectorLengths(t *testing.T) {
	a, b := make([]float32, 4), make([]float32, 5)
	mustPanic(t, "AddF32", func() { AddF32(a, b) })
	mustPanic(t, "MulF32", func() { MulF32(a, b) })
	mustPanic(t, "MulAddF32", func() { MulAddF32(a, a, b) })
	mustPanic(t, "AxpyF32", func() { AxpyF32(a, 1, b) })
	mustPanic(t, "RMSNormF32", func() { RMSNormF32(a, a, b, 0) })
	mustPanic(t, "SiLUMulF32", func() { SiLUMulF32(a, b, a) })
	mustPanic(t, "SnakeF32", func() { SnakeF32(a, a, a, b) })
	mustPanic(t, "WidenBF16", func() { WidenBF16(a, make([]uint16, 3)) })
}
