package kernel

// The weights are the outer loop: they are the larger operand, and are read once.

func matMulF32Generic(dst []float32, ldd int, x []float32, ldx int, w []float32, rows, k, outs int) {
	for o := range outs {
		row := w[o*k : o*k+k]
		for r := range rows {
			dst[r*ldd+o] = dotF32Generic(x[r*ldx:r*ldx+k], row)
		}
	}
}

func matMulBF16Generic(dst []float32, ldd int, x []float32, ldx int, w []uint16, rows, k, outs int) {
	for o := range outs {
		row := w[o*k : o*k+k]
		for r := range rows {
			dst[r*ldd+o] = dotBF16Generic(x[r*ldx:r*ldx+k], row)
		}
	}
}
