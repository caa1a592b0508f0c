package kernel

import (
	"fmt"
	"math"
)

// AddF32 adds x to dst: dst[i] += x[i].
func AddF32(dst, x []float32) {
	mustEqual("AddF32", "dst", len(dst), "x", len(x))
	addF32(dst, x)
}

// MulF32 multiplies dst by x: dst[i] *= x[i].
func MulF32(dst, x []float32) {
	mustEqual("MulF32", "dst", len(dst), "x", len(x))
	mulF32(dst, x)
}

// MulAddF32 adds the products of a and b: dst[i] += a[i]*b[i].
func MulAddF32(dst, a, b []float32) {
	mustEqual("MulAddF32", "dst", len(dst), "a", len(a))
	mustEqual("MulAddF32", "dst", len(dst), "b", len(b))
	mulAddF32(dst, a, b)
}

// AxpyF32 adds a multiple of x: dst[i] += a*x[i].
func AxpyF32(dst []float32, a float32, x []float32) {
	mustEqual("AxpyF32", "dst", len(dst), "x", len(x))
	axpyF32(dst, a, x)
}

// WeightedSumF32 is the sum of rows that attention takes of its values:
//
//	dst[d] = sum over n of p[n] * v[n*ldv+d]
//
// v is [len(p), len(dst)] with rows ldv apart. The sum runs in ascending order of n, from zero. dst must not overlap p or v.
func WeightedSumF32(dst, p, v []float32, ldv int) {
	mustHold("WeightedSumF32", "v", len(v), len(p), ldv, len(dst))
	weightedSumF32(dst, p, v, ldv)
}

// SumSquaresF32 returns the sum of x[i]*x[i], in the order of DotF32.
func SumSquaresF32(x []float32) float32 { return dotF32(x, x) }

// RMSNormF32 scales x by the inverse of its root mean square, and by the weights w:
//
//	dst[i] = x[i] / sqrt(mean(x²) + eps) * w[i]
//
// All three are equally long. dst may be x.
func RMSNormF32(dst, x, w []float32, eps float32) {
	mustEqual("RMSNormF32", "dst", len(dst), "x", len(x))
	mustEqual("RMSNormF32", "w", len(w), "x", len(x))
	if len(x) == 0 {
		return
	}
	mean := float64(dotF32(x, x)) / float64(len(x))
	scaleMulF32(dst, x, float32(1/math.Sqrt(mean+float64(eps))), w)
}

// RotateF32 applies a rotary position embedding to one head x [d], whose first half pairs with its second half:
//
//	x[i], x[i+d/2] = x[i]*cos[i] - x[i+d/2]*sin[i], x[i+d/2]*cos[i] + x[i]*sin[i]
//
// cos and sin are [d/2].
func RotateF32(x, cos, sin []float32) {
	if len(x) != 2*len(cos) || len(cos) != len(sin) {
		panic(fmt.Sprintf("kernel: RotateF32: len(x) = %d, len(cos) = %d, len(sin) = %d, must be d, d/2, d/2", len(x), len(cos), len(sin)))
	}
	rotateF32(x[:len(cos)], x[len(cos):], cos, sin)
}

// WidenBF16 converts bfloat16 bits to float32, which is exact.
func WidenBF16(dst []float32, src []uint16) {
	mustEqual("WidenBF16", "dst", len(dst), "src", len(src))
	widenBF16(dst, src)
}

// FirstNonFinite returns the index of the first NaN or infinity in x, or -1.
func FirstNonFinite(x []float32) int { return firstNonFinite(x) }
