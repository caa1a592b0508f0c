package kernel

import "math"

// roundMagic added to a float32 of magnitude below 2^22 and subtracted again rounds it to an integer, ties to even.
const roundMagic = 1.5 * (1 << 23)

// expGeneric is exp(x) within 2 ulp, 0 below expMin and exp(expMax) above expMax.
func expGeneric(x float32) float32 {
	switch {
	case x < expMin:
		return 0
	case x > expMax:
		x = expMax
	case x != x:
		return x
	}
	n := float32(x*math.Log2E) + roundMagic - roundMagic
	r := x - n*ln2Hi - n*ln2Lo
	q := float32(exp6)
	q = q*r + exp5
	q = q*r + exp4
	q = q*r + exp3
	q = q*r + exp2
	y := r + r*r*q + 1
	return y * math.Float32frombits(uint32(int32(n)+127)<<23)
}

func maxF32Generic(x []float32) float32 {
	m := x[0]
	for _, v := range x[1:] {
		m = max(m, v)
	}
	return m
}

// expSumF32Generic is x[i] = exp(x[i]-shift), and returns the sum, in the order of DotF32.
func expSumF32Generic(x []float32, shift float32) float32 {
	var s [8]float32
	for i, v := range x {
		e := expGeneric(v - shift)
		x[i] = e
		s[i%8] += e
	}
	return sumLanes(&s)
}

func scaleF32Generic(x []float32, a float32) {
	for i := range x {
		x[i] *= a
	}
}

func siluF32Generic(x []float32) {
	for i, v := range x {
		x[i] = v / (1 + expGeneric(-v))
	}
}

func siluMulF32Generic(dst, gate, up []float32) {
	gate, up = gate[:len(dst)], up[:len(dst)]
	for i, v := range gate {
		dst[i] = v / (1 + expGeneric(-v)) * up[i]
	}
}

func geluF32Generic(x []float32) {
	for i, v := range x {
		u := float32(math.Abs(float64(v)))
		t := 1 / (1 + geluP*u)
		q := float32(gelu6)
		q = q*t + gelu5
		q = q*t + gelu4
		q = q*t + gelu3
		q = q*t + gelu2
		q = q*t + gelu1
		x[i] = max(v, 0) - u*(q*t*expGeneric(-0.5*(v*v)))
	}
}

// eluF32Generic goes one way for both signs: their order is random, and a branch on it would be guessed wrong half the time. With
// min(x, 0) = n*ln(2) + r it is 2ⁿ * (exp(r) - 1) + (2ⁿ - 1), by the polynomial of exp, so that small values keep their precision.
func eluF32Generic(dst, x []float32) {
	x = x[:len(dst)]
	for i, v := range x {
		low := max(min(v, 0), eluMin)
		n := float32(low*math.Log2E) + roundMagic - roundMagic
		r := low - n*ln2Hi - n*ln2Lo
		q := float32(exp6)
		q = q*r + exp5
		q = q*r + exp4
		q = q*r + exp3
		q = q*r + exp2
		p := r + r*(q*r)
		s := math.Float32frombits(uint32(int32(n)+127) << 23)
		dst[i] = max(v, 0) + (p*s + (s - 1))
	}
}

func snakeF32Generic(dst, x, a, ib []float32) {
	x, a, ib = x[:len(dst)], a[:len(dst)], ib[:len(dst)]
	for i, v := range x {
		t := v * a[i]
		n := roundHalfEven(t * (1 / math.Pi))
		r := t - n*piA - n*piB - n*piC
		// Far out the reduction has no bits left and r could be anything.
		if r > sinMax {
			r = sinMax
		} else if r < -sinMax {
			r = -sinMax
		}
		z := r * r
		q := float32(sin12)
		q = q*z + sin10
		q = q*z + sin8
		q = q*z + sin6
		q = q*z + sin4
		q = q*z + 1
		dst[i] = v + ib[i]*(q*z)
	}
}

// roundHalfEven rounds to an integer. From 2^22 on float32 has no use for it here.
func roundHalfEven(x float32) float32 {
	if x > -(1<<22) && x < 1<<22 {
		return x + roundMagic - roundMagic
	}
	return x
}
