package kernel

import "math"

// SoftmaxF32 turns scores into weights that sum to one, in place: x[i] = exp(x[i]-max) / sum. A NaN or +Inf among the scores
// makes all weights NaN.
func SoftmaxF32(x []float32) {
	if len(x) == 0 {
		return
	}
	sum := expSumF32(x, maxF32(x))
	scaleF32(x, 1/sum)
}

// SiLUF32 is x[i] = x[i] / (1 + exp(-x[i])), in place.
func SiLUF32(x []float32) { siluF32(x) }

// SiLUMulF32 is the gate of a SwiGLU block: dst[i] = gate[i] / (1 + exp(-gate[i])) * up[i]. dst may be gate or up.
func SiLUMulF32(dst, gate, up []float32) {
	mustEqual("SiLUMulF32", "dst", len(dst), "gate", len(gate))
	mustEqual("SiLUMulF32", "dst", len(dst), "up", len(up))
	siluMulF32(dst, gate, up)
}

// GELUF32 is the exact form of GELU, in place: x[i] = x[i] * (1 + erf(x[i]/√2)) / 2, within 1e-6.
func GELUF32(x []float32) { geluF32(x) }

// ELUF32 is dst[i] = x[i], or exp(x[i]) - 1 where x[i] is negative, within 2e-7 of its magnitude. dst is as long as x and may be x.
func ELUF32(dst, x []float32) {
	mustEqual("ELUF32", "dst", len(dst), "x", len(x))
	eluF32(dst, x)
}

// SnakeF32 is the SnakeBeta activation over one row of channels:
//
//	dst[i] = x[i] + ib[i] * sin(x[i]*a[i])²
//
// where a is the frequency and ib the inverse of beta, all equally long. dst may be x. For |x*a| ≤ 1e4 sin² is within 2e-7 (3e-7
// in the generic twin) of that of the float32 product x*a; beyond, it loses precision with the magnitude but stays in [0, 1].
func SnakeF32(dst, x, a, ib []float32) {
	mustEqual("SnakeF32", "dst", len(dst), "x", len(x))
	mustEqual("SnakeF32", "x", len(x), "a", len(a))
	mustEqual("SnakeF32", "x", len(x), "ib", len(ib))
	snakeF32(dst, x, a, ib)
}

// The polynomials, fitted by the Remez exchange. The assembly has them in its tables.
const (
	// exp(r) = 1 + r + r²·(exp2 + exp3·r + …) for |r| ≤ ln(2)/2, relative error 3e-9.
	exp2 = 0.499999934322
	exp3 = 0.16666520399
	exp4 = 0.0416683907766
	exp5 = 0.00836874511033
	exp6 = 0.00138145405267

	// sin(r)² = r²·(1 + sin4·r² + sin6·r⁴ + …) for |r| ≤ π/2, error 9e-9. Rounding in the choice of the multiple of π carries
	// |r| a little over π/2, at most to sinMax where the result is still specified.
	sin4   = -0.333332859365
	sin6   = 0.0444424802407
	sin8   = -0.00317165055784
	sin10  = 0.000139022761372
	sin12  = -3.5807596756e-6
	sinMax = 1.6
)

// GELU: x*Φ(x) = max(x, 0) - |x|*Φ(-|x|), and Φ(-u) = exp(-u²/2) * t*(gelu1 + gelu2*t + …) with t = 1/(1 + geluP*u),
// fitted so that u*Φ(-u) has error 4e-9.
const (
	geluP = 0.28
	gelu1 = 0.117117684173
	gelu2 = 0.0637313493654
	gelu3 = 0.278347481654
	gelu4 = -0.248743109479
	gelu5 = 0.397142371981
	gelu6 = -0.107595847048
)

// Bounds of exp: below expMin it is 0 (the result would be subnormal), above expMax it stays at exp(expMax), 2.4e38.
const (
	expMin = -87.33654
	expMax = 88.37626
)

// eluMin is where exp(x) - 1 has long become -1.
const eluMin = -80

// ln(2) and π in two and three parts for range reduction; the leading parts have so few bits that n*part is exact.
const (
	ln2Hi = 0.693359375
	ln2Lo = math.Ln2 - ln2Hi
	piA   = 3.140625
	piB   = 0.000967502593994140625
	piC   = math.Pi - piA - piB
)
