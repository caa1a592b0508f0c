package encoder

import (
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// conv is a causal convolution over channel-last rows. Its input is a buffer of [left + rows, in]: the last left rows of what came
// before (zeros at the start of a clip), then the new rows, filled up with zeros to whole strides at the end of the clip.
type conv struct {
	in, outs     int
	taps, stride int
	left         int       // rows kept from before: taps - stride
	panels       []float32 // [ceil(outs/16), taps, in, 16], see kernel.PackPanels
	bias         []float32 // [outs], or nil
}

// loadConv takes name.weight [out, in, taps] and name.bias [out] if there is a bias. taps is at least the stride.
func loadConv(w *safetensors.Set, name string, in, out, taps, stride int, bias bool) (conv, error) {
	c := conv{in: in, outs: out, taps: taps, stride: stride, left: taps - stride}
	weight, err := floats(w, name+".weight", out, in, taps)
	if err != nil {
		return c, err
	}
	c.panels = packPanels(weight, out, in, taps)
	if bias {
		c.bias, err = w.Widen(name+".bias", out)
	}
	return c, err
}

// floats returns a float32 or bfloat16 tensor as float32: a view of the former, a copy of the latter.
func floats(w *safetensors.Set, name string, shape ...int) ([]float32, error) {
	if info, ok := w.Info(name); ok && info.DType == safetensors.BF16 {
		return w.Widen(name, shape...)
	}
	return w.F32(name, shape...)
}

// packPanels is kernel.PackPanels of weights [out, in, taps] whose taps are brought before the inputs.
func packPanels(weight []float32, out, in, taps int) []float32 {
	const width = kernel.PanelWidth
	k := taps * in
	panels := make([]float32, (out+width-1)/width*width*k)
	for o := range out {
		panel, row := panels[o/width*width*k:], weight[o*k:(o+1)*k]
		for c := range in {
			for t := range taps {
				panel[(t*in+c)*width+o%width] = row[c*taps+t]
			}
		}
	}
	return panels
}

// macs is the size of a convolution that makes so many rows.
func (c *conv) macs(rows int) int { return rows * c.outs * c.taps * c.in }

// input returns a buffer for up to rows new rows, its kept rows zero.
func (c *conv) input(rows int) []float32 {
	return make([]float32, (c.left+(rows+c.stride-1)/c.stride*c.stride)*c.in)
}

// fresh returns where the new rows of a buffer begin.
func (c *conv) fresh(buffer []float32) []float32 { return buffer[c.left*c.in:] }

// complete puts zeros behind the rows of a buffer, as many as make whole strides, and returns the number of rows that the
// convolution makes of them.
func (c *conv) complete(buffer []float32, rows int) int {
	made := (rows + c.stride - 1) / c.stride
	clear(c.fresh(buffer)[rows*c.in : made*c.stride*c.in])
	return made
}

// keep moves the last rows of a buffer to its front, where they come before the next ones.
func (c *conv) keep(buffer []float32, rows int) {
	copy(buffer[:c.left*c.in], buffer[rows*c.in:])
}

// multiply computes outputs o0 to o1-1 of rows r0 to r1-1 into dst, whose rows are ldd apart; o0 is a multiple of the panel width.
func (c *conv) multiply(dst []float32, ldd int, x []float32, r0, r1, o0, o1 int) {
	var bias []float32
	if c.bias != nil {
		bias = c.bias[o0:o1]
	}
	step := c.stride * c.in
	kernel.ConvF32(dst, ldd, x[r0*step:], step, c.taps, c.in, c.in, c.panels[o0*c.taps*c.in:], bias, r1-r0, o1-o0)
}
