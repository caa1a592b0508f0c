package codec

import (
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// weights is the weights of a convolution: those of the checkpoint, until they are packed, and then one packed form. (Depthwise
// and last convolution hold theirs in f32, in an order of their own.)
type weights struct {
	taps   int                 // input rows that one output row sees
	source *source             // in the checkpoint; nil once packed
	f32    []float32           // [ceil(outs/16), taps, in, 16], see kernel.PackPanels
	bf16   []uint16            // the same, as bfloat16 bits
	int8   *kernel.ConvWeights // 8-bit codes
	points []float32           // [10, ceil(outs/16), in, 16]: values of f32 for minimal filtering, where that is done; never exported
	dot    []uint16            // bf16 or f32 rounded, where the CPU has dot products of bfloat16 and the precision is; never exported
}

// source is a tensor [out, in, k], or [in, out, k] of a transposed convolution.
type source struct {
	matrix
	in, out, k int
	transposed bool
}

// Names of packed tensors, behind the name of a convolution.
const (
	panelsF32  = ".f32.panels"  // F32 [panels, taps, in, 16]
	panelsBF16 = ".bf16.panels" // BF16 [panels, taps, in, 16]
	int8Codes  = ".int8.codes"  // I8 [panels, taps, in/4, 16, 4], in rounded up to fours
	int8Scale  = ".int8.scale"  // F32 [panels, 16]
	int8Sum    = ".int8.sum"    // I32 [panels, taps, 16]
)

// load takes the weights from a checkpoint: its tensor, or a packed form of it, as views. The size k of the tensor's kernel must be
// a multiple of the stride.
func (c *conv) load(w *safetensors.Set, transposed bool) (err error) {
	const width = kernel.PanelWidth
	panels := (c.outs + width - 1) / width
	for _, form := range []struct {
		suffix string
		take   func() error
	}{
		{panelsF32, func() (err error) {
			c.f32, err = w.F32(c.name+panelsF32, panels, c.taps, c.in, width)
			return err
		}},
		{panelsBF16, func() (err error) {
			c.bf16, err = w.BF16(c.name+panelsBF16, panels, c.taps, c.in, width)
			return err
		}},
		{int8Codes, func() error { return c.loadInt8(w, panels) }},
	} {
		if info, ok := w.Info(c.name + form.suffix); ok && len(info.Shape) > 1 {
			c.taps = info.Shape[1]
			if c.taps < 1 || c.taps > maxSize {
				return fmt.Errorf("%s%s: %d taps, allowed are 1 to %d", c.name, form.suffix, c.taps, maxSize)
			}
			return form.take()
		}
	}
	s := &source{in: c.in, out: c.outs / c.stride, transposed: transposed}
	a, b := s.out, s.in
	if transposed {
		a, b = b, a
	}
	if s.matrix, s.k, err = loadKernel(w, c.name+".weight", a, b, c.stride); err != nil {
		return err
	}
	c.taps, c.source = s.k/c.stride, s
	return nil
}

func (c *conv) loadInt8(w *safetensors.Set, panels int) (err error) {
	const width = kernel.PanelWidth
	m := &kernel.ConvWeights{In: c.in, Taps: c.taps}
	if m.Codes, err = w.I8(c.name+int8Codes, panels, c.taps, kernel.Int8K(c.in)/4, width, 4); err != nil {
		return err
	}
	if m.Scale, err = w.F32(c.name+int8Scale, panels, width); err != nil {
		return err
	}
	if i := kernel.FirstNonFinite(m.Scale); i >= 0 {
		return fmt.Errorf("%s%s: element %d is %v, wanted finite numbers", c.name, int8Scale, i, m.Scale[i])
	}
	c.int8 = m
	m.Sum, err = w.I32(c.name+int8Sum, panels, c.taps, width)
	return err
}

// form is what the weights are packed as, "" before that.
func (w *weights) form() Precision {
	switch {
	case w.f32 != nil:
		return F32
	case w.bf16 != nil:
		return BF16
	case w.int8 != nil:
		return Int8
	}
	return ""
}

// pack packs the weights, which then are no longer views of the checkpoint. Packed ones stay as they are.
func (c *conv) pack(p Precision) (err error) {
	if c.form() != "" {
		return nil
	}
	switch p {
	case F32:
		c.f32 = packPanels(c, func(panel []float32) []float32 { return panel })
	case BF16:
		c.bf16 = packPanels(c, kernel.PackBF16)
	case Int8:
		c.int8, err = c.packInt8()
	}
	c.source = nil
	return err
}

// pair makes the weights ready for dot products of bfloat16. Those that the packed form holds exactly are rounded here.
func (w *weights) pair() {
	w.dot = w.bf16
	if w.f32 != nil {
		w.dot = kernel.PackBF16(w.f32)
	}
}

// row writes the weights of an output, taps [in] each, step values apart, to dst.
func (c *conv) row(dst []float32, step, o int) {
	s := c.source
	if !s.transposed {
		for t := range c.taps {
			for ci := range s.in {
				dst[t*step+ci] = s.at((o*s.in+ci)*s.k + t)
			}
		}
		return
	}
	phase, channel := o/s.out, o%s.out
	for j := range c.taps {
		tap := dst[(c.taps-1-j)*step:][:s.in]
		for ci := range tap {
			tap[ci] = s.at((ci*s.out+channel)*s.k + phase + j*c.stride)
		}
	}
}

// packPanels packs float weights panel by panel, so that no second copy of the whole is made, on all processors. narrow makes a
// panel's weights what they are stored as.
func packPanels[T float32 | uint16](c *conv, narrow func(panel []float32) []T) []T {
	const width = kernel.PanelWidth
	k, panels := c.taps*c.in, (c.outs+width-1)/width
	packed := make([]T, panels*width*k)
	eachPanel(panels, func(p int) {
		rows := make([]float32, width*k)
		n := min(width, c.outs-p*width)
		for i := range n {
			c.row(rows[i*k:(i+1)*k], c.in, p*width+i)
		}
		copy(packed[p*width*k:(p+1)*width*k], narrow(kernel.PackPanels(rows[:n*k], n, k)))
	})
	return packed
}

// eachPanel does something for each of so many panels, on all processors.
func eachPanel(panels int, do func(p int)) {
	var wg sync.WaitGroup
	workers := min(runtime.GOMAXPROCS(0), panels)
	for worker := range workers {
		wg.Go(func() {
			for p := worker * panels / workers; p < (worker+1)*panels/workers; p++ {
				do(p)
			}
		})
	}
	wg.Wait()
}

// packInt8 chooses the codes of each output, symmetric about 0 with one scale.
func (c *conv) packInt8() (*kernel.ConvWeights, error) {
	if c.in > kernel.MaxConvInt8 {
		return nil, fmt.Errorf("%s: %d channels, 8-bit sums have room for %d", c.name, c.in, kernel.MaxConvInt8)
	}
	const width = kernel.PanelWidth
	kp := kernel.Int8K(c.in)
	panels := (c.outs + width - 1) / width
	m := &kernel.ConvWeights{
		In: c.in, Taps: c.taps, Codes: make([]int8, panels*width*c.taps*kp),
		Scale: make([]float32, panels*width), Sum: make([]int32, panels*width*c.taps),
	}
	bad := make([]bool, panels)
	eachPanel(panels, func(p int) {
		row, codes := make([]float32, c.taps*kp), make([]int8, width*c.taps*kp)
		n := min(width, c.outs-p*width)
		for i := range n {
			c.row(row, kp, p*width+i)
			bad[p] = bad[p] || kernel.FirstNonFinite(row) >= 0
			m.Scale[p*width+i] = encodePairs(codes[i*c.taps*kp:(i+1)*c.taps*kp], row)
		}
		packed := m.Codes[p*width*c.taps*kp:][:copy(m.Codes[p*width*c.taps*kp:], kernel.PackInt8(codes[:n*c.taps*kp], n, c.taps*kp))]
		sums := m.Sum[p*c.taps*width:]
		for i, code := range packed {
			sums[i/(kp*width)*width+i/4%width] += int32(code)
		}
	})
	if slices.Contains(bad, true) {
		return nil, fmt.Errorf("%s: weights with NaN or infinity", c.name)
	}
	return m, nil
}

// encodePairs chooses the codes of one output's weights and returns their scale. It is so large that the magnitudes of two
// neighbouring codes are at most kernel.ConvPair together, rounding included. That costs the weights some 2 dB beside codes to 127.
func encodePairs(codes []int8, w []float32) (scale float32) {
	var most float64
	for i := 0; i < len(w); i += 2 {
		most = max(most, math.Abs(float64(w[i]))+math.Abs(float64(w[i+1])))
	}
	scale = float32(most / (kernel.ConvPair - 1))
	if scale < smallestScale {
		clear(codes)
		return 0
	}
	inverse := 1 / float64(scale)
	for i, v := range w {
		codes[i] = int8(min(max(math.RoundToEven(float64(v)*inverse), -math.MaxInt8), math.MaxInt8))
	}
	return scale
}

// smallestScale is the smallest number that float32 holds in full precision. Weights that would need a smaller one are as good as 0.
const smallestScale = 0x1p-126

// export returns the packed weights as tensors that load takes.
func (c *conv) export() []safetensors.Tensor {
	const width = kernel.PanelWidth
	panels := (c.outs + width - 1) / width
	switch c.form() {
	case F32:
		return []safetensors.Tensor{{Name: c.name + panelsF32, DType: safetensors.F32, Shape: []int{panels, c.taps, c.in, width}, Data: safetensors.Values(c.f32)}}
	case BF16:
		return []safetensors.Tensor{{Name: c.name + panelsBF16, DType: safetensors.BF16, Shape: []int{panels, c.taps, c.in, width}, Data: safetensors.Values(c.bf16)}}
	case Int8:
		return []safetensors.Tensor{
			{Name: c.name + int8Codes, DType: safetensors.I8, Shape: []int{panels, c.taps, kernel.Int8K(c.in) / 4, width, 4}, Data: safetensors.Values(c.int8.Codes)},
			{Name: c.name + int8Scale, DType: safetensors.F32, Shape: []int{panels, width}, Data: safetensors.Values(c.int8.Scale)},
			{Name: c.name + int8Sum, DType: safetensors.I32, Shape: []int{panels, c.taps, width}, Data: safetensors.Values(c.int8.Sum)},
		}
	}
	return nil
}

// bytes is what a step reads of the weights.
func (w *weights) bytes() int64 {
	switch {
	case w.dot != nil:
		return 2 * int64(len(w.dot))
	case w.points != nil:
		return 4 * int64(len(w.points))
	}
	n := 4*int64(len(w.f32)) + 2*int64(len(w.bf16))
	if w.int8 != nil {
		n += int64(len(w.int8.Codes)) + 4*int64(len(w.int8.Scale)+len(w.int8.Sum))
	}
	return n
}
