package kernel

import "fmt"

// PanelWidth is the number of outputs whose weights PackPanels puts side by side.
const PanelWidth = 16

// PackPanels repacks a weight matrix for ConvF32: from w [outs, k], row-major, to [ceil(outs/16), k, 16], where the 16 weights
// of neighbouring outputs for one input lie together. The last panel is filled up with zeros.
func PackPanels(w []float32, outs, k int) []float32 {
	mustHold("PackPanels", "w", len(w), outs, k, k)
	panels := make([]float32, (outs+PanelWidth-1)/PanelWidth*PanelWidth*k)
	for o := range outs {
		panel := panels[o/PanelWidth*PanelWidth*k:]
		for i, v := range w[o*k : o*k+k] {
			panel[i*PanelWidth+o%PanelWidth] = v
		}
	}
	return panels
}

// ConvF32 is a convolution over channel-last rows, as an implicit matrix product: nothing is unfolded.
//
//	dst[r*ldd+o] = bias[o] + sum over t < taps and c < in of x[r*ldx + t*tapStride + c] * w[o][t*in+c]
//
// for r < rows and o < outs, where panels = PackPanels(w [outs, taps*in]). A plain convolution with dilation d over rows of
// in channels has ldx = in, tapStride = d*in; a stride s makes ldx = s*in; taps = 1 is a linear layer. bias may be nil.
// dst must not overlap x, and is [rows, outs] with rows ldd apart.
//
// The order of the sum is bias, then tap after tap, channel after channel; on AVX2 and AVX-512 each step is a fused multiply-add.
// It is the same at any number of rows and outputs.
func ConvF32(dst []float32, ldd int, x []float32, ldx int, taps, tapStride, in int, panels, bias []float32, rows, outs int) {
	if !holdConv("ConvF32", len(dst), ldd, len(x), ldx, taps, tapStride, in, len(panels), bias, rows, outs) {
		return
	}
	convF32(dst, ldd, x, ldx, taps, tapStride, in, panels, bias, rows, outs)
}

// holdConv panics if the operands of a convolution do not fit, and reports whether there is anything to compute.
func holdConv(kernel string, dst, ldd, x, ldx, taps, tapStride, in, panels int, bias []float32, rows, outs int) bool {
	if taps < 1 || tapStride < 0 || in < 0 || outs < 0 {
		panic(fmt.Sprintf("kernel: %s: %d taps %d apart of %d channels to %d outputs", kernel, taps, tapStride, in, outs))
	}
	mustHold(kernel, "x", x, rows, ldx, (taps-1)*tapStride+in)
	mustHold(kernel, "dst", dst, rows, ldd, outs)
	width := PanelWidth * taps * in
	mustHold(kernel, "panels", panels, (outs+PanelWidth-1)/PanelWidth, width, width)
	if bias != nil {
		mustEqual(kernel, "bias", len(bias), "outputs", outs)
	}
	return rows > 0 && outs > 0
}
