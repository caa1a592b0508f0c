package kernel

import "math"

// QuantizeI16 quantizes a row x [k] to 16 bits for MatMulInt4A16: in each group symmetric about 0, with scale[g] = max|x| / 32767. q is
// [Int4K], zero padded; sum[g] is the sum of a group's codes. A row of NaN or Inf gives a NaN scale, so that the products are NaN.
func QuantizeI16(q []int16, scale []float32, sum []int32, x []float32, group int) {
	checkQuantize("QuantizeI16", len(q), len(scale), len(sum), len(x), group)
	quantizeI16(q, scale, sum, x, group)
}

// QuantizeI8 is QuantizeI16 to 8 bits, scale[g] = max|x| / 127, for MatMulInt4A8. In each block of eight, the inputs stand in
// the order 0 4 1 5 2 6 3 7, in which the kernel finds the weights.
func QuantizeI8(q []int8, scale []float32, sum []int32, x []float32, group int) {
	checkQuantize("QuantizeI8", len(q), len(scale), len(sum), len(x), group)
	quantizeI8(q, scale, sum, x, group)
}

func checkQuantize(kernel string, q, scale, sum, x, group int) {
	if group <= 0 || group%Int4Block != 0 || group > MaxGroup {
		panic("kernel: " + kernel + ": bad group size")
	}
	kp := Int4K(x, group)
	mustEqual(kernel, "q", q, "x in whole groups", kp)
	mustEqual(kernel, "scale", scale, "groups", kp/group)
	mustEqual(kernel, "sum", sum, "groups", kp/group)
}

// QuantizeU8 quantizes a row x [k] to unsigned 8 bits for MatMulInt8: x is about (q - zero) * scale. The range is that of the row,
// widened to hold 0. q is [Int8K(k)], padded with zero. A row with NaN or Inf gives a NaN scale.
func QuantizeU8(q []uint8, x []float32) (scale float32, zero int32) {
	mustEqual("QuantizeU8", "q", len(q), "x in whole lanes", Int8K(len(x)))
	return quantizeU8(q, x)
}

// RoundBF16 rounds each value to the nearest bfloat16, ties to even. NaN stays NaN.
func RoundBF16(dst, src []float32) {
	mustEqual("RoundBF16", "dst", len(dst), "src", len(src))
	for i, v := range src {
		bits := math.Float32bits(v)
		if v == v {
			bits += 0x7FFF + bits>>16&1
		}
		dst[i] = math.Float32frombits(bits &^ 0xFFFF)
	}
}
