package kernel

// Int4Encode chooses the codes of a group w on the grid of a scale and an integer zero point: round(w/scale) + zero, ties to even,
// within 0 to 15. codes and w are equally long.
func Int4Encode(codes []uint8, w []float32, scale float32, zero uint8) {
	mustEqual("Int4Encode", "codes", len(codes), "w", len(w))
	int4Encode(codes, w, scale, float32(zero))
}

// Int4Fit returns, for the codes that Int4Encode would choose and d = code - zero, the sums of w*d and d*d: their quotient is the scale
// that fits those codes best, and sum(w*w) - num*num/den the squared error that it leaves. All levels give the same bits.
func Int4Fit(w []float32, scale float32, zero uint8) (num, den float32) {
	return int4Fit(w, scale, float32(zero))
}
