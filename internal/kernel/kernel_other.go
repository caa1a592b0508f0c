//go:build !amd64 || purego

package kernel

// haveAssembly is false: the generic twins are all there is, and the compiler drops the rest.
const haveAssembly = false

func dotF32(x, y []float32) float32           { return dotF32Generic(x, y) }
func dotBF16(x []float32, w []uint16) float32 { return dotBF16Generic(x, w) }

func matMulF32(dst []float32, ldd int, x []float32, ldx int, w []float32, rows, k, outs int) {
	matMulF32Generic(dst, ldd, x, ldx, w, rows, k, outs)
}

func matMulBF16(dst []float32, ldd int, x []float32, ldx int, w []uint16, rows, k, outs int) {
	matMulBF16Generic(dst, ldd, x, ldx, w, rows, k, outs)
}

func convF32(dst []float32, ldd int, x []float32, ldx int, taps, tapStride, in int, panels, bias []float32, rows, outs int) {
	convF32Generic(dst, ldd, x, ldx, taps, tapStride, in, panels, bias, rows, outs)
}

func addF32(dst, x []float32)                              { addF32Generic(dst, x) }
func mulF32(dst, x []float32)                              { mulF32Generic(dst, x) }
func mulAddF32(dst, a, b []float32)                        { mulAddF32Generic(dst, a, b) }
func axpyF32(dst []float32, a float32, x []float32)        { axpyF32Generic(dst, a, x) }
func weightedSumF32(dst, p, v []float32, ldv int)          { weightedSumF32Generic(dst, p, v, ldv) }
func scaleMulF32(dst, x []float32, s float32, w []float32) { scaleMulF32Generic(dst, x, s, w) }
func rotateF32(a, b, cos, sin []float32)                   { rotateF32Generic(a, b, cos, sin) }
func widenBF16(dst []float32, src []uint16)                { widenBF16Generic(dst, src) }
func firstNonFinite(x []float32) int                       { return firstNonFiniteGeneric(x) }

func maxF32(x []float32) float32                   { return maxF32Generic(x) }
func expSumF32(x []float32, shift float32) float32 { return expSumF32Generic(x, shift) }
func scaleF32(x []float32, a float32)              { scaleF32Generic(x, a) }
func siluF32(x []float32)                          { siluF32Generic(x) }
func siluMulF32(dst, gate, up []float32)           { siluMulF32Generic(dst, gate, up) }
func geluF32(x []float32)                          { geluF32Generic(x) }
func eluF32(dst, x []float32)                      { eluF32Generic(dst, x) }
func snakeF32(dst, x, a, ib []float32)             { snakeF32Generic(dst, x, a, ib) }
