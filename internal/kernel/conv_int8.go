package kernel

import "fmt"

// ConvCodes is rows of 8-bit activations, as QuantizeU8 makes them. A row's scale depends on that row alone.
type ConvCodes struct {
	Codes []uint8   // [rows, Int8K(in)]
	Rows  []ConvRow // [rows]
}

// ConvRow says what the codes of a row stand for: (code - Zero) * Scale.
type ConvRow struct {
	Scale float32
	Zero  int32
}

// From returns the rows from a row on, of in values.
func (c *ConvCodes) From(row, in int) ConvCodes {
	return ConvCodes{Codes: c.Codes[row*Int8K(in):], Rows: c.Rows[row:]}
}

// ConvWeights is the weights of ConvInt8. The magnitudes of each two neighbouring codes, of inputs 2i and 2i+1 of a tap, must come to
// at most ConvPair together, so that the sum of their products fits 16 bits; which codes do not depends on how they are made.
type ConvWeights struct {
	In, Taps int
	Codes    []int8    // [ceil(outs/16), taps, Int8K(in)/4, 16, 4]
	Scale    []float32 // [outs rounded up to 16]
	Sum      []int32   // [ceil(outs/16), taps, 16]: of the codes of an output for a tap
}

// From returns the weights of the outputs from o on, a multiple of the panel width.
func (w *ConvWeights) From(o int) ConvWeights {
	return ConvWeights{In: w.In, Taps: w.Taps, Codes: w.Codes[o*w.Taps*Int8K(w.In):], Scale: w.Scale[o:], Sum: w.Sum[o*w.Taps:]}
}

// Bounds of ConvInt8.
const (
	ConvPair    = 128     // magnitude of two neighbouring weights: 255 * 128 fits 16 bits
	MaxConvInt8 = 1 << 16 // channels: the sum of one tap fits 32 bits
)

// ConvInt8 is a convolution of 8-bit activations and weights:
//
//	dst[r*ldd+o] = bias[o] + wScale[o] * sum over t < taps of scale[r'] * sum over c < in of (x[r',c] - zero[r']) * w[o,t,c]
//
// for r < rows and o < outs, with r' = r*step + t*dilation a row of x. The inner sum is exact in 32 bits; what is around it is rounded
// operation by operation, tap after tap, so all levels give the same bits, at any number of rows and outputs. dst is [rows, outs]
// with rows ldd apart; bias may be nil.
func ConvInt8(dst []float32, ldd int, x *ConvCodes, step, dilation int, w *ConvWeights, bias []float32, rows, outs int) {
	const kernel = "ConvInt8"
	taps, kp := w.Taps, Int8K(w.In)
	if taps < 1 || step < 0 || dilation < 0 || w.In < 0 || w.In > MaxConvInt8 || outs < 0 {
		panic(fmt.Sprintf("kernel: ConvInt8: %d taps %d apart of %d channels to %d outputs, rows %d apart", taps, dilation, w.In, outs, step))
	}
	panels := (outs + PanelWidth - 1) / PanelWidth
	mustHold(kernel, "x", len(x.Codes), rows, step*kp, (taps-1)*dilation*kp+kp)
	mustHold(kernel, "rows of x", len(x.Rows), rows, step, (taps-1)*dilation+1)
	mustHold(kernel, "dst", len(dst), rows, ldd, outs)
	mustHold(kernel, "w", len(w.Codes), panels, PanelWidth*taps*kp, PanelWidth*taps*kp)
	mustHold(kernel, "wScale", len(w.Scale), panels, PanelWidth, PanelWidth)
	mustHold(kernel, "wSum", len(w.Sum), panels, PanelWidth*taps, PanelWidth*taps)
	if bias != nil {
		mustEqual(kernel, "bias", len(bias), "outputs", outs)
	}
	if rows == 0 || outs == 0 {
		return
	}
	convInt8(dst, ldd, x, step, taps, dilation, w, bias, rows, outs)
}

func convInt8Generic(dst []float32, ldd int, x *ConvCodes, step, taps, dilation int, w *ConvWeights, bias []float32, rows, outs int) {
	kp := Int8K(w.In)
	for o := 0; o < outs; o += PanelWidth {
		n := min(PanelWidth, outs-o)
		for r := range rows {
			var acc [PanelWidth]float32
			for t := range taps {
				panel := w.Codes[(o*taps+t*PanelWidth)*kp:][:PanelWidth*kp]
				row := r*step + t*dilation
				var sum [PanelWidth]int32
				for i, v := range x.Codes[row*kp : (row+1)*kp] {
					lane := panel[i/4*4*PanelWidth+i%4:]
					for j := range sum {
						sum[j] += int32(v) * int32(lane[4*j])
					}
				}
				for j := range acc {
					sum[j] -= x.Rows[row].Zero * w.Sum[o*taps+t*PanelWidth+j]
					acc[j] += float32(float32(sum[j]) * x.Rows[row].Scale)
				}
			}
			for j := range n {
				v := float32(acc[j] * w.Scale[o+j])
				if bias != nil {
					v += bias[o+j]
				} else {
					v += 0
				}
				dst[r*ldd+o+j] = v
			}
		}
	}
}
