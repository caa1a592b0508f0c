package codec

import (
	"fmt"
	"math"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// conv is a causal convolution over channel-last rows, plain or transposed, and the activation that follows it.
//
// Its input is a buffer of [left + rows, in]: the last left rows of what came before (zeros at the start of a stream), then the
// new rows. A transposed convolution of stride r is a plain one with r times the outputs: each input row gives r output rows, which
// lie one after the other in one row of [r * channels] outputs.
type conv struct {
	in, outs int       // channels of an input row; values made of it, stride * output channels
	stride   int       // output rows of an input row; 1 unless transposed
	dilation int       // rows between taps
	left     int       // rows kept from before: (taps - 1) * dilation
	slot     int       // index of the first kept value in State.left
	rate     int       // input rows of a frame
	name     string    // in the checkpoint, without ".weight"
	bias     []float32 // [outs]
	act      snake     // [outs] each, empty where no activation follows
	next     *conv     // what takes the activation's results as input; nil where none follows

	weights // in the form that the precision asks for
}

// loadConv takes name.weight [out, in, k], or its packed form, and name.bias [out]. The kernel's size k is the tensor's.
func loadConv(w *safetensors.Set, name string, in, out, dilation int) (conv, error) {
	c := conv{name: name, in: in, outs: out, stride: 1, dilation: dilation}
	if err := c.load(w, false); err != nil {
		return conv{}, err
	}
	c.left = (c.taps - 1) * dilation
	var err error
	c.bias, err = w.Widen(name+".bias", out)
	return c, err
}

// loadTransposed takes name.weight [in, out, k], or its packed form, and name.bias [out] of a transposed convolution whose last
// k - stride samples are cut off, so that each input row gives stride rows which depend on nothing later. k must be a multiple of
// the stride: with k = m*stride, output row t*stride + p is the sum over j < m of x[t-j] * weight[:, :, p + j*stride].
func loadTransposed(w *safetensors.Set, name string, in, out, stride int) (conv, error) {
	c := conv{name: name, in: in, outs: stride * out, stride: stride, dilation: 1}
	if err := c.load(w, true); err != nil {
		return conv{}, err
	}
	c.left = c.taps - 1
	bias, err := w.Widen(name+".bias", out)
	c.bias = repeat(bias, stride)
	return c, err
}

// loadKernel returns the weights of a convolution [a, b, k] and k, which must be a multiple of unit.
func loadKernel(w *safetensors.Set, name string, a, b, unit int) (m matrix, k int, err error) {
	info, ok := w.Info(name)
	if !ok || len(info.Shape) != 3 {
		_, err = loadMatrix(w, name, a, b, unit)
		return m, 0, err
	}
	k = info.Shape[2]
	if k < 1 || k%unit != 0 {
		return m, 0, &safetensors.TensorError{
			File: info.File, Tensor: name, Problem: "shape", Found: fmt.Sprint(info.Shape),
			Wanted: fmt.Sprintf("[%d %d k] with k a multiple of %d", a, b, unit),
		}
	}
	m, err = loadMatrix(w, name, a, b, k)
	return m, k, err
}

// matrix is a view of a float32 or bfloat16 tensor.
type matrix struct {
	f32  []float32
	bf16 []uint16
}

func loadMatrix(w *safetensors.Set, name string, shape ...int) (m matrix, err error) {
	if info, ok := w.Info(name); ok && info.DType == safetensors.BF16 {
		m.bf16, err = w.BF16(name, shape...)
		return m, err
	}
	m.f32, err = w.F32(name, shape...)
	return m, err
}

// at returns value i as float32.
func (m *matrix) at(i int) float32 {
	if m.bf16 != nil {
		return math.Float32frombits(uint32(m.bf16[i]) << 16)
	}
	return m.f32[i]
}

// floats returns a float32 or bfloat16 tensor as float32: a view of the former, a copy of the latter.
func floats(w *safetensors.Set, name string, shape ...int) ([]float32, error) {
	if info, ok := w.Info(name); !ok || info.DType != safetensors.BF16 {
		return w.F32(name, shape...)
	}
	bits, err := w.BF16(name, shape...)
	if err != nil {
		return nil, err
	}
	wide := make([]float32, len(bits))
	kernel.WidenBF16(wide, bits)
	return wide, nil
}

// follow makes act the activation behind the convolution, and next what takes its results.
func (c *conv) follow(act snake, next *conv) {
	c.next = next
	c.act = snake{a: repeat(act.a, c.stride), ib: repeat(act.ib, c.stride)}
}

// snake is the activation x + sin(a*x)^2 / b, with a and b per channel.
type snake struct {
	a, ib []float32 // [channels]: a, and 1 / (b + 1e-9)
}

// snakeEps keeps the quotient finite where b is almost zero.
const snakeEps = 1e-9

// loadSnake takes name.alpha and name.beta [channels], the logarithms of a and b.
func loadSnake(w *safetensors.Set, name string, channels int) (snake, error) {
	alpha, err := loadExp(w, name+".alpha", channels, func(v float64) float64 { return v })
	if err != nil {
		return snake{}, err
	}
	beta, err := loadExp(w, name+".beta", channels, func(v float64) float64 { return 1 / (v + snakeEps) })
	return snake{a: alpha, ib: beta}, err
}

// loadExp returns f(exp(v)) of each value of a tensor. A value whose result no float32 can hold is refused here, where the tensor
// has a name: it would turn every sample into NaN.
func loadExp(w *safetensors.Set, name string, channels int, f func(float64) float64) ([]float32, error) {
	values, err := w.Widen(name, channels)
	if err != nil {
		return nil, err
	}
	for i, v := range values {
		values[i] = float32(f(math.Exp(float64(v))))
		if math.IsInf(float64(values[i]), 0) {
			info, _ := w.Info(name)
			return nil, &safetensors.TensorError{
				File: info.File, Tensor: name, Problem: "element", Found: fmt.Sprintf("%d is %g", i, v),
				Wanted: "a logarithm within float32",
			}
		}
	}
	return values, nil
}

// repeat returns n copies of x, one after the other.
func repeat(x []float32, n int) []float32 {
	out := make([]float32, 0, n*len(x))
	for range n {
		out = append(out, x...)
	}
	return out
}

// load takes name.weight [1, in, k] and name.bias [1].
func (o *outConv) load(w *safetensors.Set, name string, in int) error {
	weight, k, err := loadKernel(w, name+".weight", 1, in, 1)
	if err != nil {
		return err
	}
	bias, err := w.Widen(name+".bias", 1)
	o.conv = conv{name: name, in: in, outs: 1, stride: 1, dilation: 1, left: k - 1, bias: bias}
	o.taps, o.f32 = k, make([]float32, k*in)
	for i := range k * in {
		o.f32[i%k*in+i/k] = weight.at(i)
	}
	return err
}
