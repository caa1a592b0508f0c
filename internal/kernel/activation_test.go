package kernel

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/mynah-tts/mynah/internal/cpu"
)

// TestExp measures the exponential inside SoftmaxF32 over its whole range: at most 2 ulp.
func TestExp(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		var worst float64
		x := make([]float32, 8)
		for v := float32(-87.3); v < 88.3; v += 0.0037 {
			for i := range x {
				x[i] = v + float32(i)*0.0004
			}
			in := slices.Clone(x)
			expSumF32(x, 0)
			for i, got := range x {
				want := math.Exp(float64(in[i]))
				ulp := float64(math.Nextafter32(float32(want), math.MaxFloat32)) - float64(float32(want))
				worst = max(worst, math.Abs(float64(got)-want)/ulp)
			}
		}
		if worst > 2 {
			t.Errorf("largest error %.2f ulp, want at most 2", worst)
		}
		t.Logf("largest error %.2f ulp", worst)
	})
}

func TestExpEdges(t *testing.T) {
	inf := float32(math.Inf(1))
	eachLevel(t, func(t *testing.T) {
		x := []float32{0, -inf, inf, -88, -1000, -math.MaxFloat32, 89, float32(math.NaN()), -87.33}
		expSumF32(x, 0)
		top := math.Exp(float64(float32(expMax)))
		for i, want := range []float64{1, 0, top, 0, 0, 0, top, math.NaN(), math.Exp(float64(float32(-87.33)))} {
			if got := float64(x[i]); !(math.Abs(got-want) <= 4*halfULP*want) && !(math.IsNaN(got) && math.IsNaN(want)) {
				t.Errorf("element %d: %v, want %v", i, got, want)
			}
		}
	})
}

func TestSoftmaxF32(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for n := 1; n <= 600; n++ {
			p := places[n%len(places)]
			x, check := f32(t, rng, p, n)
			for i := range x {
				x[i] = x[i]*20 - 30
			}
			x[n/2] = float32(math.Inf(-1))
			if n == 1 {
				x[0] = 3
			}
			in := slices.Clone(x)
			SoftmaxF32(x)
			check()
			peak := float64(slices.Max(in))
			var sum float64
			for _, v := range in {
				sum += math.Exp(float64(v) - peak)
			}
			for i, v := range in {
				want := math.Exp(float64(v)-peak) / sum
				// The difference to the maximum, up to 40, is rounded, and an error there is relative here.
				near(t, fmt.Sprintf("length %d, element %d", n, i), x[i], want, (float64(n/8)+50)*halfULP*want+1e-38)
			}
		}
		SoftmaxF32(nil)
	})
}

func TestSoftmaxNonFinite(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for _, n := range []int{1, 5, 8, 13, 32} {
			for i := range n {
				for _, bad := range []float64{math.NaN(), math.Inf(1)} {
					x := ones(n)
					x[i] = float32(bad)
					SoftmaxF32(x)
					for j, v := range x {
						// Beside an infinity the others may be 0 or NaN, by the order of NaNs in maxima; its own place is NaN.
						if v == v && (j == i || v != 0) {
							t.Fatalf("%v at %d of %d: element %d is %v", bad, i, n, j, v)
						}
					}
				}
			}
		}
	})
}

// TestSnakeF32 measures the sine over arguments up to 1e4: sin² within 2e-7 with fused multiply-adds, 3e-7 without.
func TestSnakeF32(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		bound := 2e-7
		if Level() == cpu.Generic {
			bound = 3e-7
		}
		const tiny = 1.0 / (1 << 60) // so that dst is the square of the sine
		for _, scale := range []float32{1, 2, 10, 100, 1000, 1e4} {
			const n = 1 << 14
			x, a, dst := make([]float32, n), make([]float32, n), make([]float32, n)
			for i := range x {
				x[i] = tiny
				a[i] = scale * (2*float32(i)/n - 1) / tiny
			}
			SnakeF32(dst, x, a, ones(n))
			var worst float64
			for i, got := range dst {
				s := math.Sin(float64(x[i] * a[i]))
				worst = max(worst, math.Abs(float64(got)-s*s))
			}
			if worst > bound {
				t.Errorf("arguments up to %v: largest error %.3g, want at most %.3g", scale, worst, bound)
			}
			t.Logf("arguments up to %v: largest error %.3g", scale, worst)
		}
	})
}

// TestSnakeRange checks that the square of the sine stays in [0, 1] for any finite argument, and is 0 at 0.
func TestSnakeRange(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		for a := float32(1); a < 1e38; a *= 1.7 {
			for _, x := range []float32{1, -1, 0.3, 0} {
				dst := make([]float32, 9)
				SnakeF32(dst, slices.Repeat([]float32{x}, 9), slices.Repeat([]float32{a}, 9), ones(9))
				for _, v := range dst {
					if s := v - x; !(s >= 0 && s <= 1.000001) || x == 0 && v != 0 {
						t.Fatalf("x %v, a %v: sin² = %v", x, a, s)
					}
				}
			}
		}
	})
}

// TestGELUF32 measures GELU over all arguments of interest.
func TestGELUF32(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		x := make([]float32, 0, 1<<16)
		for v := float32(-20); v < 20; v += 0.001 {
			x = append(x, v)
		}
		in := slices.Clone(x)
		GELUF32(x)
		var worst float64
		for i, v := range in {
			worst = max(worst, math.Abs(float64(x[i])-float64(v)*math.Erfc(-float64(v)/math.Sqrt2)/2)/max(1, math.Abs(float64(v))))
		}
		if worst > 2e-7 {
			t.Errorf("largest error %.3g, want at most 2e-7", worst)
		}
		t.Logf("largest error %.3g", worst)
	})
}

// TestELUF32 compares with the exact function, and the bits of a value alone with those among others, at all places and lengths.
func TestELUF32(t *testing.T) {
	inf := float32(math.Inf(1))
	edges := []float32{0, -1e-45, -1e-30, -1e-7, -1e-3, -0.3465, -0.3466, -0.5, -1, -3, -10, -79.9, -80, -90, -1e30, -inf, 1e-45, 1e-9, 2, 1e30, inf}
	eachLevel(t, func(t *testing.T) {
		x := slices.Clone(edges)
		for v := float32(0); v > -20; v -= 1e-4 {
			x = append(x, v, -v)
		}
		got := make([]float32, len(x))
		ELUF32(got, x)
		var worst float64
		for i, v := range x {
			want := float64(v)
			if v < 0 {
				want = math.Expm1(float64(v))
			}
			if float64(got[i]) != want {
				worst = max(worst, math.Abs(float64(got[i])-want)/math.Abs(want))
			}
			if v >= 0 && got[i] != v {
				t.Errorf("%v became %v", v, got[i])
			}
		}
		if !(worst <= 2e-7) {
			t.Errorf("largest relative error %.3g, want at most 2e-7", worst)
		}
		t.Logf("largest relative error %.3g", worst)
		rng := newRand()
		for n := range 70 {
			x, check := f32(t, rng, places[n%len(places)], n)
			want := make([]float32, n)
			for i := range x {
				x[i] *= 10
				ELUF32(want[i:i+1], x[i:i+1])
			}
			ELUF32(x, x)
			check()
			mustMatch(t, fmt.Sprintf("%d values", n), x, want)
		}
		for _, n := range []int{1, 8, 16, 19} {
			x := slices.Repeat([]float32{float32(math.NaN())}, n)
			ELUF32(x, x)
			for _, v := range x {
				if v == v {
					t.Fatalf("%d NaN became %v", n, x)
				}
			}
		}
	})
	mustPanic(t, "ELUF32 of different lengths", func() { ELUF32(make([]float32, 3), make([]float32, 4)) })
}

// TestSiLUWide checks SiLU far out, where the exponential overflows or vanishes.
func TestSiLUWide(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		x := []float32{-1e30, -1000, -100, -89, -88, -87, -20, 0, 20, 88, 1000, 1e30, math.MaxFloat32}
		in, gated := slices.Clone(x), make([]float32, len(x))
		SiLUMulF32(gated, x, ones(len(x)))
		SiLUF32(x)
		for i, v := range in {
			want := float64(v) / (1 + math.Exp(-float64(v)))
			near(t, fmt.Sprintf("SiLUF32(%v)", v), x[i], want, 5*halfULP*math.Abs(want)+1e-8*max(0, -float64(v))*1e-22)
			near(t, fmt.Sprintf("SiLUMulF32(%v)", v), gated[i], want, 5*halfULP*math.Abs(want)+1e-8*max(0, -float64(v))*1e-22)
		}
	})
}
