package kernel

// Int8K returns how many inputs a packed int8 matrix of k inputs holds: k rounded up to whole lanes of four.
func Int8K(k int) int { return (k + 3) &^ 3 }

// MatMulInt8 multiplies rows of 8-bit activations by an int8 matrix:
//
//	dst[r*ldd+o] = float32(sum over i of (x[r,i] - zero[r]) * w[o,i]) * (scale[r] * wScale[o])
//
// The sum is exact in 32 bits, the rest three roundings, so all levels give the same bits.
//
// x is [rows, Int8K(k)] as QuantizeU8 makes it, with scale and zero [rows]. w is packed in panels of 16 outputs,
// [ceil(outs/16), Int8K(k)/4, 16, 4], as PackInt8 makes it; wScale and wSum (the sum of a row's weights) are [outs rounded up to 16].
// dst is [rows, outs] with rows ldd apart. Outputs beyond outs are not written.
func MatMulInt8(dst []float32, ldd int, x []uint8, scale []float32, zero []int32, w []int8, wScale []float32, wSum []int32, rows, k, outs int) {
	kp, panels := Int8K(k), (outs+PanelWidth-1)/PanelWidth
	mustHold("MatMulInt8", "x", len(x), rows, kp, kp)
	mustHold("MatMulInt8", "scale", len(scale), rows, 1, 1)
	mustHold("MatMulInt8", "zero", len(zero), rows, 1, 1)
	mustHold("MatMulInt8", "w", len(w), panels, kp*PanelWidth, kp*PanelWidth)
	mustHold("MatMulInt8", "wScale", len(wScale), panels, PanelWidth, PanelWidth)
	mustHold("MatMulInt8", "wSum", len(wSum), panels, PanelWidth, PanelWidth)
	mustHold("MatMulInt8", "dst", len(dst), rows, ldd, outs)
	if rows == 0 || outs == 0 {
		return
	}
	matMulInt8(dst, ldd, x, scale, zero, w, wScale, wSum, rows, kp, outs)
}

// PackInt8 packs a row-major int8 matrix [outs, k] into panels, zero padded.
func PackInt8(w []int8, outs, k int) []int8 {
	mustHold("PackInt8", "w", len(w), outs, k, k)
	kp := Int8K(k)
	packed := make([]int8, (outs+PanelWidth-1)/PanelWidth*PanelWidth*kp)
	for o := range outs {
		panel := packed[o/PanelWidth*PanelWidth*kp:]
		for i := range k {
			panel[(i/4*PanelWidth+o%PanelWidth)*4+i%4] = w[o*k+i]
		}
	}
	return packed
}
