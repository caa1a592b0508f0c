package speaker

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
	"testing/fstest"

	"github.com/mynah-tts/mynah/internal/safetensors"
)

// oddConfig has sizes that are multiples of nothing that matters.
func oddConfig() Config {
	return Config{
		SampleRate: 24000, Bands: 128, Dim: 13, Channels: []int{15, 15, 15, 21}, Kernels: []int{5, 3, 5, 3}, Dilations: []int{1, 4, 2, 2},
		Scale: 3, Squeeze: 7, Attention: 9,
	}
}

// shapes lists the tensors of an encoder with this config, in the order of the data's way.
func shapes(c Config) []safetensors.Tensor {
	var list []safetensors.Tensor
	conv := func(name string, out, in, k int) {
		list = append(list, safetensors.Tensor{Name: "speaker_encoder." + name + ".weight", DType: safetensors.F32, Shape: []int{out, in, k}},
			safetensors.Tensor{Name: "speaker_encoder." + name + ".bias", DType: safetensors.F32, Shape: []int{out}})
	}
	last := len(c.Channels) - 1
	conv("blocks.0.conv", c.Channels[0], c.Bands, c.Kernels[0])
	for i := 1; i < last; i++ {
		b, n := fmt.Sprintf("blocks.%d.", i), c.Channels[i]
		conv(b+"tdnn1.conv", n, n, 1)
		for p := range c.Scale - 1 {
			conv(fmt.Sprintf("%sres2net_block.blocks.%d.conv", b, p), n/c.Scale, n/c.Scale, c.Kernels[i])
		}
		conv(b+"tdnn2.conv", n, n, 1)
		conv(b+"se_block.conv1", c.Squeeze, n, 1)
		conv(b+"se_block.conv2", n, c.Squeeze, 1)
	}
	n := c.Channels[last]
	conv("mfa.conv", n, c.Channels[0]*(last-1), c.Kernels[last])
	conv("asp.tdnn.conv", c.Attention, 3*n, 1)
	conv("asp.conv", n, c.Attention, 1)
	conv("fc", c.Dim, 2*n, 1)
	return list
}

// fill gives every tensor random values.
func fill(list []safetensors.Tensor, seed uint64) {
	for i := range list {
		t := &list[i]
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		n, fan := 1, 1
		for d, size := range t.Shape {
			if n *= size; d > 0 {
				fan *= size
			}
		}
		values := make([]float32, n)
		for i := range values {
			values[i] = float32(rng.NormFloat64() * 1.3 / math.Sqrt(float64(fan)))
			if len(t.Shape) == 1 {
				values[i] *= 0.1
			}
		}
		t.Data = safetensors.Values(values)
	}
}

// constant makes every value of the named tensor v.
func constant(t testing.TB, list []safetensors.Tensor, name string, v float32) {
	t.Helper()
	for i := range list {
		if list[i].Name == name {
			n := 1
			for _, d := range list[i].Shape {
				n *= d
			}
			values := make([]float32, n)
			for i := range values {
				values[i] = v
			}
			list[i].Data = safetensors.Values(values)
			return
		}
	}
	t.Fatalf("no tensor %q", name)
}

// openTensors writes tensors to memory and opens them.
func openTensors(t testing.TB, list []safetensors.Tensor) *safetensors.Set {
	t.Helper()
	var b bytes.Buffer
	if err := safetensors.Write(&b, list, nil); err != nil {
		t.Fatal(err)
	}
	w, err := safetensors.Open(fstest.MapFS{"m.safetensors": {Data: b.Bytes()}}, "m.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// random is an encoder of random weights.
func random(t testing.TB, c Config) *Encoder {
	t.Helper()
	list := shapes(c)
	fill(list, 1)
	e, err := LoadEncoder(openTensors(t, list), c)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// noise returns n random samples.
func noise(n int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 7))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64() * 0.2)
	}
	return x
}
