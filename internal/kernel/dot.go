package kernel

// DotF32 returns the sum of x[i]*y[i].
//
// The order of the sum, which MatMulF32 shares: with L lanes (8 in the generic twin and on AVX2, 16 on AVX-512), lane l adds
// the products of elements l, l+L, l+2L, … one after the other, and then the lanes are halved again and again, lane l taking lane
// l+L/2. On AVX2 and AVX-512 each step is a fused multiply-add.
func DotF32(x, y []float32) float32 {
	mustEqual("DotF32", "x", len(x), "y", len(y))
	return dotF32(x, y)
}

// DotBF16 returns the sum of x[i]*w[i], where w holds the bits of bfloat16 numbers. The order of the sum is that of DotF32
// over the widened w.
func DotBF16(x []float32, w []uint16) float32 {
	mustEqual("DotBF16", "x", len(x), "w", len(w))
	return dotBF16(x, w)
}
