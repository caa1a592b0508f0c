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

func int4FeedbackGeneric(codes []uint8, share, w, lower, inverse, scale, zero []float32, from, to int) {
	n := len(inverse)
	for i := from; i < to; i++ {
		var sums [2][PanelWidth]float32
		for p, l := range lower[i*n : i*n+i] {
			sum, part := &sums[p&1], share[p*PanelWidth:][:PanelWidth]
			for o, s := range part {
				sum[o] += float32(l * s)
			}
		}
		for o := range PanelWidth {
			v := w[i*PanelWidth+o] - float32(sums[0][o]+sums[1][o])
			q := int4Code(v, scale[o], zero[o])
			codes[i*PanelWidth+o] = uint8(q)
			share[i*PanelWidth+o] = float32(v-float32((q-zero[o])*scale[o])) * inverse[i]
		}
	}
}
