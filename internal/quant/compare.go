package quant

import "github.com/mynah-tts/mynah/internal/kernel"

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

// measureEvery is how many outputs there are for each one whose errors are measured by
// CompareProducts: it reads moments, which takes longer than packing.
const measureEvery = 64

// CompareProducts returns sums over the rows that the moments are of, for some of the
// outputs of a matrix: of the squares of the products, of those of what the packed
// matrix changes of them, and of what codes on unrefined grids would change.
func CompareProducts(row Row, packed *kernel.Int4, m *Moments) (power, diff, plain float64) {
	n := (packed.Outs + measureEvery - 1) / measureEvery
	sums := make([][3]float64, n)
	parallel(n, func(first, last int) {
		w, other, scratch := make([]float32, packed.K), make([]float32, packed.K), make([]float32, momentBlock)
		codes := make([]uint8, packed.Group)
		for i := first; i < last; i++ {
			o := i * measureEvery
			row(w, o)
			sums[i][0] = m.energy(w, scratch)
			Dequantize(other, packed, o)
			for j, v := range w {
				other[j] -= v
			}
			sums[i][1] = m.energy(other, scratch)
			for from := 0; from < len(w); from += packed.Group {
				part := w[from:min(from+packed.Group, len(w))]
				scale, zero := Int4Group(codes[:len(part)], part, false)
				for j, v := range part {
					other[from+j] = float32(int(codes[j])-int(zero))*scale - v
				}
			}
			sums[i][2] = m.energy(other, scratch)
		}
	})
	for _, s := range sums {
		power, diff, plain = power+s[0], diff+s[1], plain+s[2]
	}
	return power, diff, plain
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
