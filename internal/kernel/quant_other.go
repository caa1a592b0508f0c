//go:build purego || !amd64

package kernel

func matMulInt8(dst []float32, ldd int, x []uint8, scale []float32, zero []int32, w []int8, wScale []float32, wSum []int32, rows, kp, outs int) {
	matMulInt8Generic(dst, ldd, x, scale, zero, w, wScale, wSum, rows, kp, outs)
}

func matMulInt4A16(dst []float32, ldd int, x []int16, scale []float32, sum []int32, w *Int4, rows, outs int) {
	matMulInt4A16Generic(dst, ldd, x, scale, sum, w, rows, outs)
}

func matMulInt4A8(dst []float32, ldd int, x []int8, scale []float32, sum []int32, w *Int4, rows, outs int) {
	matMulInt4A8Generic(dst, ldd, x, scale, sum, w, rows, outs)
}

func quantizeI16(q []int16, scale []float32, sum []int32, x []float32, group int) {
	quantizeI16Generic(q, scale, sum, x, group)
}

func quantizeI8(q []int8, scale []float32, sum []int32, x []float32, group int) {
	quantizeI8Generic(q, scale, sum, x, group)
}

func quantizeU8(q []uint8, x []float32) (float32, int32) { return quantizeU8Generic(q, x) }

func int4Encode(codes []uint8, w []float32, scale, zero float32) {
	int4EncodeGeneric(codes, w, scale, zero)
}

func int4Fit(w []float32, scale, zero float32) (num, den float32) {
	return int4FitGeneric(w, scale, zero)
}

func int4Feedback(codes []uint8, share, w, lower, inverse, scale, zero []float32, from, to int) {
	int4FeedbackGeneric(codes, share, w, lower, inverse, scale, zero, from, to)
}
