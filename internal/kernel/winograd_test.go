package kernel

import (
	"fmt"
	"math"
	"testing"
)

// TestWinograd filters rows of channels by transforms and products, and compares with the sum in float64.
func TestWinograd(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		var worst float64
		for i := range 400 {
			n, p := 8*(1+i%5), places[i%len(places)]
			ldx, ldd := n+i%3, n+i%4
			x, _ := f32(t, rng, p, 9*ldx+n)
			w, bias := make([]float32, n*WinogradTaps), make([]float32, n)
			v, m, u := make([]float32, WinogradPoints*n), make([]float32, WinogradPoints*n), make([]float32, WinogradPoints)
			WinogradInput(v, n, x, ldx, n)
			for c := range n {
				bias[c] = rng.Float32()
				for k := range WinogradTaps {
					w[c*WinogradTaps+k] = 2*rng.Float32() - 1
				}
				WinogradWeights(u, w[c*WinogradTaps:(c+1)*WinogradTaps])
				for j, f := range u {
					m[j*n+c] = f * v[j*n+c]
				}
			}
			dst, check := f32(t, rng, p, 3*ldd+n)
			WinogradOutput(dst, ldd, m, n, bias, n)
			check()
			for r := range WinogradRows {
				for c := range n {
					want := float64(bias[c])
					for k, f := range w[c*WinogradTaps : (c+1)*WinogradTaps] {
						want += float64(f) * float64(x[(r+k)*ldx+c])
					}
					diff := float64(dst[r*ldd+c]) - want
					worst = max(worst, math.Abs(diff))
				}
			}
		}
		if !(worst <= 1e-4) {
			t.Errorf("largest error %.3g, want at most 1e-4", worst)
		}
		t.Logf("largest error %.3g of numbers up to 7", worst)
	})
}

// TestWinogradAlone wants the bits of eight channels alone among more.
func TestWinogradAlone(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		const n = 40
		rng := newRand()
		x, _ := f32(t, rng, 0, WinogradPoints*n)
		bias, _ := f32(t, rng, 0, n)
		v, y := make([]float32, WinogradPoints*n), make([]float32, WinogradRows*n)
		v8, y8 := make([]float32, WinogradPoints*n), make([]float32, WinogradRows*n)
		WinogradInput(v, n, x, n, n)
		WinogradOutput(y, n, v, n, bias, n)
		for c := 0; c < n; c += 8 {
			WinogradInput(v8[c:], n, x[c:], n, 8)
			WinogradOutput(y8[c:], n, v8[c:], n, bias[c:c+8], 8)
		}
		mustMatch(t, "values", v8, v)
		mustMatch(t, "rows", y8, y)
	})
}

func TestWinogradLengths(t *testing.T) {
	f := func(n int) []float32 { return make([]float32, n) }
	for i, c := range []func(){
		func() { WinogradWeights(f(9), f(7)) }, func() { WinogradWeights(f(10), f(6)) },
		func() { WinogradInput(f(79), 8, f(80), 8, 8) }, func() { WinogradInput(f(80), 8, f(79), 8, 8) }, func() { WinogradInput(f(90), 9, f(90), 9, 9) },
		func() { WinogradOutput(f(31), 8, f(80), 8, f(8), 8) }, func() { WinogradOutput(f(32), 8, f(79), 8, f(8), 8) },
		func() { WinogradOutput(f(32), 8, f(80), 8, f(7), 8) }, func() { WinogradOutput(f(36), 9, f(90), 9, f(9), 9) },
	} {
		mustPanic(t, fmt.Sprintf("case %d", i), c)
	}
}
