package kernel

import "math"

const int4Most = 15 // the largest code

func int4EncodeGeneric(codes []uint8, w []float32, scale, zero float32) {
	for i, v := range w {
		codes[i] = uint8(int4Code(v, scale, zero))
	}
}

func int4Code(v, scale, zero float32) float32 {
	return min(max(float32(math.RoundToEven(float64(v/scale)))+zero, 0), int4Most)
}

// int4FitGeneric sums in eight lanes, as the assembly does, and what is left over behind them.
func int4FitGeneric(w []float32, scale, zero float32) (num, den float32) {
	var n, d [8]float32
	whole := len(w) &^ 7
	for i, v := range w[:whole] {
		x := int4Code(v, scale, zero) - zero
		n[i&7] += float32(v * x)
		d[i&7] += float32(x * x)
	}
	num, den = sumLanes(&n), sumLanes(&d)
	for _, v := range w[whole:] {
		x := int4Code(v, scale, zero) - zero
		num += float32(v * x)
		den += float32(x * x)
	}
	return num, den
}
