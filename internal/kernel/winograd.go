package kernel

import (
	"fmt"
	"math"
)

// Minimal filtering after Toom, Cook and Winograd, of 7 taps along time: a tile of 4 output rows costs 10 matrix products in place of 28.
//
// Ten input rows are a polynomial, as the seven taps are one; the products of their values at ten points give back, as a
// polynomial, the four output rows. The points are 0, ±1, ±2, ±1/2, ±3/2 and infinity, in this order: powers of them are exact, and rounding
// errors grow to about eight times those of the plain sum.
const (
	WinogradTaps   = 7
	WinogradRows   = 4  // of outputs
	WinogradPoints = 10 // as many as input rows
)

// winogradRoots are the points but for 0 and infinity, each of both signs.
var winogradRoots = [4]float64{1, 2, 0.5, 1.5}

// winogradFilter is what each tap adds to the value at each point: its power, over the product of the distances to the other points.
var winogradFilter = func() (f [WinogradPoints][WinogradTaps]float64) {
	points := []float64{0}
	for _, a := range winogradRoots {
		points = append(points, a, -a)
	}
	for i, point := range points {
		share := 1.0
		for j, other := range points {
			if j != i {
				share /= point - other
			}
		}
		for k := range f[i] {
			f[i][k] = share * math.Pow(point, float64(k))
		}
	}
	f[WinogradPoints-1][WinogradTaps-1] = 1 // infinity has the last tap alone
	return f
}()

// WinogradWeights writes the values of a filter w [7] at the points to u [10].
func WinogradWeights(u, w []float32) {
	mustEqual("WinogradWeights", "u", len(u), "points", WinogradPoints)
	mustEqual("WinogradWeights", "w", len(w), "taps", WinogradTaps)
	for i, f := range winogradFilter {
		var sum float64
		for k, v := range w {
			sum += float64(v) * f[k]
		}
		u[i] = float32(sum)
	}
}

// WinogradInput writes the values at the points of ten input rows x, n channels ldx apart, to dst, ldd apart. n is a multiple of 8.
func WinogradInput(dst []float32, ldd int, x []float32, ldx, n int) {
	mustHold("WinogradInput", "dst", len(dst), WinogradPoints, ldd, n)
	mustHold("WinogradInput", "x", len(x), WinogradPoints, ldx, n)
	if mustBeEights("WinogradInput", n) {
		winogradInput(dst, ldd, x, ldx, n)
	}
}

// WinogradOutput makes four output rows, n channels ldd apart, of the products m at the points, ldm apart, plus bias [n]. n is a multiple
// of 8.
func WinogradOutput(dst []float32, ldd int, m []float32, ldm int, bias []float32, n int) {
	mustHold("WinogradOutput", "dst", len(dst), WinogradRows, ldd, n)
	mustHold("WinogradOutput", "m", len(m), WinogradPoints, ldm, n)
	mustEqual("WinogradOutput", "bias", len(bias), "channels", n)
	if mustBeEights("WinogradOutput", n) {
		winogradOutput(dst, ldd, m, ldm, bias, n)
	}
}

func mustBeEights(kernel string, n int) (some bool) {
	if n < 0 || n%8 != 0 {
		panic(fmt.Sprintf("kernel: %s: %d channels, must be a multiple of 8", kernel, n))
	}
	return n > 0
}

// winogradPair holds, for the points ±a, the coefficients of y³ + c2·y² + c1·y + c0, whose roots are the squares of the other roots.
type winogradPair struct{ c0, c1, c2, a float32 }

var winogradPairs = [4]winogradPair{
	{-2.25, 10.5625, -6.5, 1},
	{-0.5625, 3.0625, -3.5, 2},
	{-9, 15.25, -7.25, 0.5},
	{-1, 5.25, -5.25, 1.5},
}

// The polynomial with all of the squares for roots: y⁴ + all3·y³ + all2·y² + all1·y + all0.
const (
	winogradAll0 = 2.25
	winogradAll1 = -12.8125
	winogradAll2 = 17.0625
	winogradAll3 = -7.5
)

func winogradInputGeneric(dst []float32, ldd int, x []float32, ldx, n int) {
	for c := range n {
		var v [WinogradPoints]float32
		for i := range v {
			v[i] = x[i*ldx+c]
		}
		all := func(v0, v2, v4, v6, v8 float32) float32 {
			return v8 + winogradAll3*v6 + winogradAll2*v4 + winogradAll1*v2 + winogradAll0*v0
		}
		dst[c] = all(v[0], v[2], v[4], v[6], v[8])
		dst[9*ldd+c] = all(v[1], v[3], v[5], v[7], v[9])
		for i, p := range winogradPairs {
			even := v[8] + p.c2*v[6] + p.c1*v[4] + p.c0*v[2]
			odd := v[7] + p.c2*v[5] + p.c1*v[3] + p.c0*v[1]
			dst[(1+2*i)*ldd+c], dst[(2+2*i)*ldd+c] = even+p.a*odd, even-p.a*odd
		}
	}
}

func winogradOutputGeneric(dst []float32, ldd int, m []float32, ldm int, bias []float32, n int) {
	for c, b := range bias[:n] {
		y := [WinogradRows]float32{b + m[c], b, b, b + m[9*ldm+c]}
		for i, p := range winogradPairs {
			plus, minus := m[(1+2*i)*ldm+c], m[(2+2*i)*ldm+c]
			sum, diff, square := plus+minus, plus-minus, p.a*p.a
			y[0] += sum
			y[1] += p.a * diff
			y[2] += square * sum
			y[3] += square * p.a * diff
		}
		for i, v := range y {
			dst[i*ldd+c] = v
		}
	}
}
