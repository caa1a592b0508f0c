//go:build !amd64 || purego

package kernel

func convBF16(dst []float32, ldd int, x []float32, ldx int, taps, tapStride, in int, panels []uint16, bias []float32, rows, outs int) {
	convBF16Generic(dst, ldd, x, ldx, taps, tapStride, in, panels, bias, rows, outs)
}

func convInt8(dst []float32, ldd int, x *ConvCodes, step, taps, dilation int, w *ConvWeights, bias []float32, rows, outs int) {
	convInt8Generic(dst, ldd, x, step, taps, dilation, w, bias, rows, outs)
}
