package kernel

import "math"

// ConvBF16 is ConvF32 over weights that are held as bfloat16 bits, panels [ceil(outs/16), taps*in, 16]: half the bytes to read. Weights
// are widened before they are multiplied, so at every level the results are those of ConvF32 with the widened weights.
func ConvBF16(dst []float32, ldd int, x []float32, ldx int, taps, tapStride, in int, panels []uint16, bias []float32, rows, outs int) {
	if !holdConv("ConvBF16", len(dst), ldd, len(x), ldx, taps, tapStride, in, len(panels), bias, rows, outs) {
		return
	}
	convBF16(dst, ldd, x, ldx, taps, tapStride, in, panels, bias, rows, outs)
}

// PackBF16 returns the bits of values rounded to bfloat16, ties to even.
func PackBF16(x []float32) []uint16 {
	bits := make([]uint16, len(x))
	for i, v := range x {
		b := math.Float32bits(v)
		if v == v {
			b += 0x7FFF + b>>16&1
		} else {
			b |= 1 << 16 // NaN stays NaN
		}
		bits[i] = uint16(b >> 16)
	}
	return bits
}

func convBF16Generic(dst []float32, ldd int, x []float32, ldx int, taps, tapStride, in int, panels []uint16, bias []float32, rows, outs int) {
	width := PanelWidth * taps * in
	for o := 0; o < outs; o += PanelWidth {
		panel := panels[o/PanelWidth*width:][:width]
		n := min(PanelWidth, outs-o)
		for r := range rows {
			var acc [PanelWidth]float32
			if bias != nil {
				copy(acc[:n], bias[o:])
			}
			p := panel
			for t := range taps {
				for _, v := range x[r*ldx+t*tapStride:][:in] {
					w := (*[PanelWidth]uint16)(p)
					for i := range acc {
						acc[i] += v * widen(w[i]) // in the form of convF32Generic: compilers that fuse it fuse both
					}
					p = p[PanelWidth:]
				}
			}
			copy(dst[r*ldd+o:][:n], acc[:])
		}
	}
}
