package codec

import (
	"math"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/safetensors"
	"github.com/mynah-tts/mynah/internal/team"
)

// upsample is one upsampling step between transformer and decoder blocks: a transposed convolution, then a ConvNeXt block
//
//	x + gamma * pw2(gelu(pw1(layernorm(depthwise(x)))))
type upsample struct {
	up        conv
	depthwise conv      // one kernel per channel: weights are [taps, channels] here
	norm      layerNorm // over channels
	pw1, pw2  nn.Linear // latent to inner, and back
	gamma     []float32 // [latent]
}

// layerNorm is (x - mean) / sqrt(variance + eps) * weight + bias over the channels of a row.
type layerNorm struct{ weight, bias []float32 }

// layerNormEps is not in the config; the reference has it as a constant.
const layerNormEps = 1e-6

func (u *upsample) load(w *safetensors.Set, prefix string, width, stride int) (err error) {
	if u.up, err = loadTransposed(w, prefix+"0.conv", width, width, stride); err != nil {
		return err
	}
	if u.depthwise, err = loadDepthwise(w, prefix+"1.dwconv.conv", width); err != nil {
		return err
	}
	// The inner width is in no config: the first linear layer says it, or its bias where the weights are packed.
	inner := 0
	if info, ok := w.Info(prefix + "1.pwconv1.weight"); ok && len(info.Shape) == 2 {
		inner = info.Shape[0]
	} else if info, ok := w.Info(prefix + "1.pwconv1.bias"); ok && len(info.Shape) == 1 {
		inner = info.Shape[0]
	}
	if u.pw1, err = nn.LoadLinear(w, prefix+"1.pwconv1", width, inner, true); err != nil {
		return err
	}
	if u.pw2, err = nn.LoadLinear(w, prefix+"1.pwconv2", inner, width, true); err != nil {
		return err
	}
	for _, v := range []struct {
		to   *[]float32
		name string
	}{{&u.norm.weight, "norm.weight"}, {&u.norm.bias, "norm.bias"}, {&u.gamma, "gamma"}} {
		if *v.to, err = w.Widen(prefix+"1."+v.name, width); err != nil {
			return err
		}
	}
	return nil
}

// loadDepthwise takes name.weight [channels, 1, k] and name.bias [channels].
func loadDepthwise(w *safetensors.Set, name string, channels int) (conv, error) {
	weight, k, err := loadKernel(w, name+".weight", channels, 1, 1)
	if err != nil {
		return conv{}, err
	}
	bias, err := w.Widen(name+".bias", channels)
	c := conv{name: name, in: channels, outs: channels, stride: 1, dilation: 1, left: k - 1, bias: bias}
	c.taps, c.f32 = k, make([]float32, k*channels)
	for i := range k * channels {
		c.f32[i%k*channels+i/k] = weight.at(i)
	}
	return c, err
}

// forward runs the step on its input in in, and returns the rows that it makes, which lie in in again; out and sc.stream are
// overwritten.
func (u *upsample) forward(wk *nn.Work, sc *Scratch, in, out []float32, index int) []float32 {
	c := &u.depthwise
	sc.open(c, out)
	sc.run(wk, convJob{conv: &u.up, x: u.up.input(in), dst: c.input(out)})
	sc.keep(&u.up, in)
	sc.keep(c, out)
	rows := sc.n * c.rate
	x, h := in[:rows*c.in], sc.stream[:rows*c.in]
	for i, s := range sc.spans {
		for r := s.first * c.rate; r < (s.first+s.frames)*c.rate; r++ {
			copy(x[r*c.in:(r+1)*c.in], out[c.input(out).at(i, c.in, r):])
			u.depthwiseRow(h[r*c.in:(r+1)*c.in], out[(r+i*c.left)*c.in:])
		}
	}
	sc.tapN(rows, x, "upsample_%d/transposed_conv", index)

	inner := sc.inner[:rows*u.pw1.Out]
	u.pw1.Forward(wk, inner, h, rows)
	sc.gelu.x = inner
	wk.Run(&sc.gelu, len(inner)*geluMACs)
	u.pw2.ForwardAdd(wk, x, h, inner, rows, u.gamma)
	sc.tapN(rows, x, "upsample_%d/convnext", index)
	return x
}

// depthwiseRow computes layernorm(depthwise(x)) of the window that x begins with into dst [channels]. All rows of a frame are a few
// microseconds, too little to share.
func (u *upsample) depthwiseRow(dst, x []float32) {
	c := &u.depthwise
	n := c.in
	copy(dst, c.bias)
	for t := range c.taps {
		kernel.MulAddF32(dst, x[t*n:(t+1)*n], c.f32[t*n:(t+1)*n])
	}
	u.norm.apply(dst)
}

// apply normalises one row in place. Mean and variance are summed in float64, in order.
func (l *layerNorm) apply(x []float32) {
	sum := 0.0
	for _, v := range x {
		sum += float64(v)
	}
	mean := sum / float64(len(x))
	sum = 0
	for _, v := range x {
		d := float64(v) - mean
		sum += d * d
	}
	scale := 1 / math.Sqrt(sum/float64(len(x))+layerNormEps)
	weight, bias := l.weight[:len(x)], l.bias[:len(x)]
	for i, v := range x {
		x[i] = float32((float64(v)-mean)*scale)*weight[i] + bias[i]
	}
}

// geluJob applies GELU to a slice.
type geluJob struct{ x []float32 }

// geluMACs is the cost of one GELU in multiply-adds, roughly.
const geluMACs = 16

func (j *geluJob) Part(worker, workers int) {
	lo, hi := team.Split(len(j.x), kernel.PanelWidth, worker, workers)
	kernel.GELUF32(j.x[lo:hi])
}
