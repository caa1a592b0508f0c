package quant

// Compare returns the sums of squares of a matrix [outs, k] and of its differences
// from another.
func Compare(want, got Row, outs, k int) (power, diff float64) {
	sums := make([][2]float64, outs)
	parallel(outs, func(first, last int) {
		w, g := make([]float32, k), make([]float32, k)
		for o := first; o < last; o++ {
			want(w, o)
			got(g, o)
			for i := range w {
				e := float64(w[i]) - float64(g[i])
				sums[o][0] += float64(w[i]) * float64(w[i])
				sums[o][1] += e * e
			}
		}
	})
	for _, s := range sums {
		power, diff = power+s[0], diff+s[1]
	}
	return power, diff
}

// PlainInt4Error returns the sum of squared differences that codes on unrefined grids
// would leave of a matrix [outs, k].
func PlainInt4Error(row Row, outs, k, group int) (diff float64) {
	sums := make([]float64, outs)
	parallel(outs, func(first, last int) {
		w, codes := make([]float32, k), make([]uint8, group)
		for o := first; o < last; o++ {
			row(w, o)
			for from := 0; from < k; from += group {
				part := w[from:min(from+group, k)]
				scale, zero := Int4Group(codes[:len(part)], part, false)
				for i, v := range part {
					e := float64(v) - float64(float32(int(codes[i])-int(zero))*scale)
					sums[o] += e * e
				}
			}
		}
	})
	for _, s := range sums {
		diff += s
	}
	return diff
}
