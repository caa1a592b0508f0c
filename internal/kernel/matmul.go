package kernel

// MatMulF32 multiplies rows of activations by a row-major weight matrix, as a linear layer without bias does:
//
//	dst[r*ldd+o] = sum over i of x[r*ldx+i] * w[o*k+i]    for r < rows, o < outs
//
// x is [rows, k] with rows ldx apart, w is [outs, k], dst is [rows, outs] with rows ldd apart. dst must not overlap x or w.
// Every element has the bits of DotF32(x row, w row), at any number of rows and outputs.
func MatMulF32(dst []float32, ldd int, x []float32, ldx int, w []float32, rows, k, outs int) {
	checkMatMul("MatMulF32", len(dst), ldd, len(x), ldx, len(w), rows, k, outs)
	if rows == 0 || outs == 0 {
		return
	}
	matMulF32(dst, ldd, x, ldx, w, rows, k, outs)
}

// MatMulBF16 is MatMulF32 over weights in bfloat16, as checkpoints hold them; w needs no alignment beyond that of its type.
// Every element has the bits of DotBF16(x row, w row).
func MatMulBF16(dst []float32, ldd int, x []float32, ldx int, w []uint16, rows, k, outs int) {
	checkMatMul("MatMulBF16", len(dst), ldd, len(x), ldx, len(w), rows, k, outs)
	if rows == 0 || outs == 0 {
		return
	}
	matMulBF16(dst, ldd, x, ldx, w, rows, k, outs)
}

func checkMatMul(kernel string, dst, ldd, x, ldx, w, rows, k, outs int) {
	mustHold(kernel, "x", x, rows, ldx, k)
	mustHold(kernel, "w", w, outs, k, k)
	mustHold(kernel, "dst", dst, rows, ldd, outs)
}
