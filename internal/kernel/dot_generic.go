package kernel

import "math"

// widen returns the float32 whose upper half is the given bfloat16.
func widen(b uint16) float32 { return math.Float32frombits(uint32(b) << 16) }

func dotF32Generic(x, y []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	y = y[:len(x)]
	for len(x) >= 8 {
		s0 += x[0] * y[0]
		s1 += x[1] * y[1]
		s2 += x[2] * y[2]
		s3 += x[3] * y[3]
		s4 += x[4] * y[4]
		s5 += x[5] * y[5]
		s6 += x[6] * y[6]
		s7 += x[7] * y[7]
		x, y = x[8:], y[8:]
	}
	s := [8]float32{s0, s1, s2, s3, s4, s5, s6, s7}
	for i := range x {
		s[i] += x[i] * y[i]
	}
	return sumLanes(&s)
}

func dotBF16Generic(x []float32, w []uint16) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	w = w[:len(x)]
	for len(x) >= 8 {
		s0 += x[0] * widen(w[0])
		s1 += x[1] * widen(w[1])
		s2 += x[2] * widen(w[2])
		s3 += x[3] * widen(w[3])
		s4 += x[4] * widen(w[4])
		s5 += x[5] * widen(w[5])
		s6 += x[6] * widen(w[6])
		s7 += x[7] * widen(w[7])
		x, w = x[8:], w[8:]
	}
	s := [8]float32{s0, s1, s2, s3, s4, s5, s6, s7}
	for i := range x {
		s[i] += x[i] * widen(w[i])
	}
	return sumLanes(&s)
}

// sumLanes adds the lanes by halving, as the vector versions do.
func sumLanes(s *[8]float32) float32 {
	return ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
}
