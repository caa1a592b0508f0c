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

// Int4Feedback chooses the codes of inputs from..to-1 of a block for 16 outputs, each making up for the errors of the inputs before
// it in the block. With v = w[i] - sum over p < i of share[p] * lower[i,p], code i is that of Int4Encode for v, and
// share[i] = (v - (code - zero) * scale) * inverse[i].
//
// w, share [n, 16] and codes [n, 16] are of the whole block, n = len(inverse); lower is [n, n]; scale and zero are [16]. Products are summed in
// two parts, those of even and of odd p, every operation rounded: all levels give the same bits.
func Int4Feedback(codes []uint8, share, w, lower, inverse, scale, zero []float32, from, to int) {
	n := len(inverse)
	mustEqual("Int4Feedback", "codes", len(codes), "16 n", n*PanelWidth)
	mustEqual("Int4Feedback", "share", len(share), "16 n", n*PanelWidth)
	mustEqual("Int4Feedback", "w", len(w), "16 n", n*PanelWidth)
	mustEqual("Int4Feedback", "lower", len(lower), "n n", n*n)
	mustEqual("Int4Feedback", "scale", len(scale), "16", PanelWidth)
	mustEqual("Int4Feedback", "zero", len(zero), "16", PanelWidth)
	if from < 0 || to > n {
		panic("kernel: Int4Feedback: inputs beyond the block")
	}
	if from < to {
		int4Feedback(codes, share, w, lower, inverse, scale, zero, from, to)
	}
}
