//go:build !amd64 || purego

package kernel

func convBF16(dst []float32, ldd int, x []float32, ldx int, taps, tapStride, in int, panels []uint16, bias []float32, rows, outs int) {
	convBF16Generic(dst, ldd, x, ldx, taps, tapStride, in, panels, bias, rows, outs)
}

func convInt8(dst []float32, ldd int, x *ConvCodes, step, taps, dilation int, w *ConvWeights, bias []float32, rows, outs int) {
	convInt8Generic(dst, ldd, x, step, taps, dilation, w, bias, rows, outs)
}

func dotsBF16() bool { return false }

func narrowBF16(dst []uint16, x []float32) { narrowBF16Generic(dst, x) }

func convDotBF16(dst []float32, ldd int, x []uint16, step, taps, dilation, in int, panels []uint16, bias []float32, rows, outs int) {
	convDotBF16Generic(dst, ldd, x, step, taps, dilation, in, panels, bias, rows, outs)
}

func winogradInput(dst []float32, ldd int, x []float32, ldx, n int) {
	winogradInputGeneric(dst, ldd, x, ldx, n)
}

func winogradOutput(dst []float32, ldd int, m []float32, ldm int, bias []float32, n int) {
	winogradOutputGeneric(dst, ldd, m, ldm, bias, n)
}
