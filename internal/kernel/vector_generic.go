package kernel

import "math"

func addF32Generic(dst, x []float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] += x[i]
	}
}

func mulF32Generic(dst, x []float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] *= x[i]
	}
}

func mulAddF32Generic(dst, a, b []float32) {
	a, b = a[:len(dst)], b[:len(dst)]
	for i := range dst {
		dst[i] += a[i] * b[i]
	}
}

func axpyF32Generic(dst []float32, a float32, x []float32) {
	x = x[:len(dst)]
	for i := range dst {
		dst[i] += a * x[i]
	}
}

func weightedSumF32Generic(dst, p, v []float32, ldv int) {
	clear(dst)
	for n, a := range p {
		axpyF32Generic(dst, a, v[n*ldv:][:len(dst)])
	}
}

// scaleMulF32Generic is dst[i] = x[i] * scale * w[i].
func scaleMulF32Generic(dst, x []float32, scale float32, w []float32) {
	x, w = x[:len(dst)], w[:len(dst)]
	for i := range dst {
		dst[i] = x[i] * scale * w[i]
	}
}

// rotateF32Generic turns the pairs (a[i], b[i]) by the angles whose cosines and sines are given.
func rotateF32Generic(a, b, cos, sin []float32) {
	b, cos, sin = b[:len(a)], cos[:len(a)], sin[:len(a)]
	for i, u := range a {
		v := b[i]
		a[i] = u*cos[i] - v*sin[i]
		b[i] = v*cos[i] + u*sin[i]
	}
}

func widenBF16Generic(dst []float32, src []uint16) {
	src = src[:len(dst)]
	for i := range dst {
		dst[i] = widen(src[i])
	}
}

func firstNonFiniteGeneric(x []float32) int {
	const exponent = 0x7f800000
	for i, v := range x {
		if math.Float32bits(v)&exponent == exponent {
			return i
		}
	}
	return -1
}
