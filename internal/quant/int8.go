package quant

import (
	"math"

	"github.com/mynah-tts/mynah/internal/kernel"
)

// Int8 is a matrix of 8-bit weights, symmetric about 0, with one scale for each
// output, packed for kernel.MatMulInt8.
type Int8 struct {
	K, Outs int
	Codes   []int8    // [panels, Int8K/4, 16, 4]
	Scale   []float32 // [outs rounded up to 16]
	Sum     []int32   // [outs rounded up to 16]: of each output's codes
}

// PackInt8 quantizes and packs a matrix [outs, k].
func PackInt8(row Row, outs, k int) (*Int8, error) {
	codes := make([]int8, outs*k)
	padded := (outs + kernel.PanelWidth - 1) / kernel.PanelWidth * kernel.PanelWidth
	m := &Int8{K: k, Outs: outs, Scale: make([]float32, padded), Sum: make([]int32, padded)}
	finite := make([]int, outs)
	parallel(outs, func(first, last int) {
		w := make([]float32, k)
		for o := first; o < last; o++ {
			row(w, o)
			if finite[o] = kernel.FirstNonFinite(w); finite[o] < 0 {
				m.Scale[o], m.Sum[o] = Int8Row(codes[o*k:(o+1)*k], w)
			}
		}
	})
	if err := notFinite(finite); err != nil {
		return nil, err
	}
	m.Codes = kernel.PackInt8(codes, outs, k)
	return m, nil
}

// Int8Row chooses the codes -127..127 of one output's weights; code q stands for
// q * scale. sum is that of the codes.
func Int8Row(codes []int8, w []float32) (scale float32, sum int32) {
	var peak float32
	for _, v := range w {
		peak = max(peak, v, -v)
	}
	scale = peak / math.MaxInt8
	if scale == 0 {
		clear(codes)
		return 0, 0
	}
	inverse := 1 / float64(scale)
	for i, v := range w {
		q := min(max(math.RoundToEven(float64(v)*inverse), -math.MaxInt8), math.MaxInt8)
		codes[i] = int8(q)
		sum += int32(q)
	}
	return scale, sum
}

// Row writes row o, dequantized, to dst [k].
func (m *Int8) Row(dst []float32, o int) {
	kp := kernel.Int8K(m.K)
	panel := m.Codes[o/kernel.PanelWidth*kernel.PanelWidth*kp:]
	for i := range dst {
		dst[i] = float32(panel[(i/4*kernel.PanelWidth+o%kernel.PanelWidth)*4+i%4]) * m.Scale[o]
	}
}
