package encoder

import "math"

// elu writes x, or exp(x) - 1 where x is negative, to dst, which is as long and may be x. It is within 2e-7 of the exact value, and
// its relative error near 0 is as small. NaN stays NaN.
func elu(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		// One way for both signs: their order is random, and a branch on it would be guessed wrong half the time.
		low := min(v, 0)
		dst[i] = max(v, 0) + expm1(max(low, eluFloor))
	}
}

// eluFloor is where exp(x) - 1 has long become -1.
const eluFloor = -80

// expm1 is exp(x) - 1 for eluFloor <= x <= 0: with x = n*ln(2) + r it is 2^n * (exp(r) - 1) + (2^n - 1). The polynomial of exp(r) - 1
// for |r| <= ln(2)/2 has a relative error of 3e-9.
func expm1(x float32) float32 {
	const (
		magic = 1.5 * (1 << 23) // added and subtracted again, it rounds to an integer
		hi    = 0.693359375     // ln(2) in two parts, so that n*hi is exact
		lo    = math.Ln2 - hi
		c2    = 0.499999934322
		c3    = 0.16666520399
		c4    = 0.0416683907766
		c5    = 0.00836874511033
		c6    = 0.00138145405267
	)
	n := float32(x*math.Log2E) + magic - magic
	r := x - n*hi - n*lo
	p := r + r*r*((((c6*r+c5)*r+c4)*r+c3)*r+c2)
	s := math.Float32frombits(uint32(int32(n)+127) << 23)
	return p*s + (s - 1)
}
