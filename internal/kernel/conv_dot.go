package kernel

import (
	"fmt"
	"math"
)

// DotsBF16 reports whether ConvDotBF16 runs on instructions for it, VDPBF16PS of AVX-512. Without them it is right but slow.
func DotsBF16() bool { return dotsBF16() }

// DotK is the number of values in a row of ConvDotBF16's activations: channels come in pairs.
func DotK(in int) int { return (in + 1) &^ 1 }

// NarrowBF16 rounds a row to bfloat16 bits as VCVTNEPS2BF16 does: ties to even, subnormal numbers to 0, NaN to a quiet one. dst has
// DotK(len(x)) values; the one that has no partner in x is 0.
func NarrowBF16(dst []uint16, x []float32) {
	mustEqual("NarrowBF16", "dst", len(dst), "x in pairs", DotK(len(x)))
	narrowBF16(dst, x)
}

// ConvDotBF16 is a convolution of activations and weights that are both bfloat16:
//
//	dst[r*ldd+o] = bias[o] + sum over t < taps of sum over c < in of x[r*step + t*dilation, c] * w[o,t,c]
//
// for r < rows and o < outs, where x is […, DotK(in)], a row as NarrowBF16 makes it, and panels are those of ConvBF16. bias may be nil.
// dst is [rows, outs] with rows ldd apart.
//
// The order of the sum is bias, then tap after tap, pair after pair of channels, in each the second channel before the first. Each step
// is a fused multiply-add that takes subnormal operands for 0 and makes a subnormal result 0. All levels give the same bits, at any number
// of rows and outputs (which NaN a NaN is apart).
func ConvDotBF16(dst []float32, ldd int, x []uint16, step, taps, dilation, in int, panels []uint16, bias []float32, rows, outs int) {
	const kernel = "ConvDotBF16"
	if taps < 1 || step < 0 || dilation < 0 || in < 0 || outs < 0 {
		panic(fmt.Sprintf("kernel: %s: %d taps %d apart of %d channels to %d outputs, rows %d apart", kernel, taps, dilation, in, outs, step))
	}
	k, width := DotK(in), PanelWidth*taps*in
	mustHold(kernel, "x", len(x), rows, step*k, (taps-1)*dilation*k+k)
	mustHold(kernel, "dst", len(dst), rows, ldd, outs)
	mustHold(kernel, "panels", len(panels), (outs+PanelWidth-1)/PanelWidth, width, width)
	if bias != nil {
		mustEqual(kernel, "bias", len(bias), "outputs", outs)
	}
	if rows == 0 || outs == 0 {
		return
	}
	convDotBF16(dst, ldd, x, step, taps, dilation, in, panels, bias, rows, outs)
}

func narrowBF16Generic(dst []uint16, x []float32) {
	for i, v := range x {
		b := math.Float32bits(v)
		switch {
		case v != v:
			b |= 1 << 22
		case b<<1 < 1<<24:
			b &= 1 << 31
		default:
			b += 0x7FFF + b>>16&1
		}
		dst[i] = uint16(b >> 16)
	}
	clear(dst[len(x):])
}

func convDotBF16Generic(dst []float32, ldd int, x []uint16, step, taps, dilation, in int, panels []uint16, bias []float32, rows, outs int) {
	k, width := DotK(in), PanelWidth*taps*in
	for o := 0; o < outs; o += PanelWidth {
		panel := panels[o/PanelWidth*width:][:width]
		n := min(PanelWidth, outs-o)
		for r := range rows {
			var acc [PanelWidth]float32
			if bias != nil {
				copy(acc[:n], bias[o:])
			}
			for t := range taps {
				row := x[(r*step+t*dilation)*k:][:k]
				for c := 0; c < in; c += 2 {
					at := (t*in + c) * PanelWidth
					second := &[PanelWidth]uint16{} // zeros where a channel has no partner
					if c+1 < in {
						second = (*[PanelWidth]uint16)(panel[at+PanelWidth:])
					}
					fmaBF16(&acc, row[c+1], second)
					fmaBF16(&acc, row[c], (*[PanelWidth]uint16)(panel[at:]))
				}
			}
			copy(dst[r*ldd+o:][:n], acc[:])
		}
	}
}

// fmaBF16 adds x * w to the sums, rounding once. The product is exact in float64; where its sum is not, one of the two terms is so much
// smaller that rounding twice does not show. A sum is subnormal if it would be with a float32's precision but no smallest exponent.
func fmaBF16(acc *[PanelWidth]float32, x uint16, w *[PanelWidth]uint16) {
	const least = 0x1p-126 - 0x1p-151
	v := float64(flush(widen(x)))
	for i, b := range w {
		sum := v*float64(flush(widen(b))) + float64(flush(acc[i]))
		if math.Abs(sum) < least {
			sum = math.Copysign(0, sum)
		}
		acc[i] = float32(sum)
	}
}

// flush makes subnormal numbers 0.
func flush(v float32) float32 {
	if b := math.Float32bits(v); b<<1 < 1<<24 {
		return math.Float32frombits(b & (1 << 31))
	}
	return v
}
