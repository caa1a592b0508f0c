package encoder

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"io/fs"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mynah-tts/mynah/internal/safetensors"
)

// published is a config with the values that all published checkpoints share.
func published() Config {
	return Config{
		ModelType: modelType, SampleRate: 24000, Groups: 16,
		Encoder: EncoderConfig{
			SamplingRate: 24000, Channels: 1, Kernel: 7, LastKernel: 3, ResidualKernel: 3, ResidualLayers: 1, Compress: 2, PadMode: "constant",
			Causal: true, Eps: 1e-5, RopeTheta: 1e4, Positions: 8000, Activation: "gelu", Books: 32, SemanticBooks: 1,
		},
	}
}

// oddConfig has sizes that are multiples of nothing, so that no test passes by luck of alignment.
func oddConfig() Config {
	c := published()
	c.Groups, c.Hop = 5, 60
	e := &c.Encoder
	e.Filters, e.Ratios, e.Kernel, e.ResidualKernel, e.Compress = 6, []int{2, 5, 3}, 5, 2, 3
	e.Hidden, e.Layers, e.Heads, e.KVHeads, e.HeadDim, e.FFN, e.Positions = 18, 2, 4, 2, 6, 22, 400
	e.Books, e.Bins, e.EntryDim, e.SearchDim = 7, 19, 10, 10
	return c
}

// fullConfig is that of the published checkpoints.
func fullConfig() Config {
	c := published()
	c.Hop = 1920
	e := &c.Encoder
	e.Filters, e.Ratios = 64, []int{8, 6, 5, 4}
	e.Hidden, e.Layers, e.Heads, e.KVHeads, e.HeadDim, e.FFN = 512, 8, 8, 8, 64, 2048
	e.Bins, e.EntryDim, e.SearchDim = 2048, 256, 256
	return c
}

// shapes lists the tensors of an encoder with this config, in the order of the data's way.
func shapes(cfg Config) []safetensors.Tensor {
	var list []safetensors.Tensor
	add := func(name string, shape ...int) {
		list = append(list, safetensors.Tensor{Name: "encoder." + name, DType: safetensors.F32, Shape: shape})
	}
	c := cfg.Encoder
	conv := func(layer string, out, in, k int) {
		add("encoder.layers."+layer+"conv.weight", out, in, k)
		add("encoder.layers."+layer+"conv.bias", out)
	}
	conv("0.", c.Filters, 1, c.Kernel)
	n, channels := 1, c.Filters
	for i := len(c.Ratios) - 1; i >= 0; i-- {
		conv(fmt.Sprintf("%d.block.1.", n), channels/c.Compress, channels, c.ResidualKernel)
		conv(fmt.Sprintf("%d.block.3.", n), channels, channels/c.Compress, 1)
		conv(fmt.Sprintf("%d.", n+2), 2*channels, channels, 2*c.Ratios[i])
		channels *= 2
		n += 3
	}
	conv(fmt.Sprintf("%d.", n+1), c.Hidden, channels, c.LastKernel)
	for l := range c.Layers {
		p := fmt.Sprintf("encoder_transformer.layers.%d.", l)
		add(p+"self_attn.q_proj.weight", c.Heads*c.HeadDim, c.Hidden)
		add(p+"self_attn.k_proj.weight", c.KVHeads*c.HeadDim, c.Hidden)
		add(p+"self_attn.v_proj.weight", c.KVHeads*c.HeadDim, c.Hidden)
		add(p+"self_attn.o_proj.weight", c.Hidden, c.Heads*c.HeadDim)
		add(p+"mlp.fc1.weight", c.FFN, c.Hidden)
		add(p+"mlp.fc2.weight", c.Hidden, c.FFN)
		for _, name := range []string{"input_layernorm.weight", "input_layernorm.bias", "post_attention_layernorm.weight",
			"post_attention_layernorm.bias", "self_attn_layer_scale.scale", "mlp_layer_scale.scale"} {
			add(p+name, c.Hidden)
		}
	}
	add("downsample.conv.weight", c.Hidden, c.Hidden, 2*downStride)
	for g := range cfg.Groups {
		p, book := "quantizer.semantic_residual_vector_quantizer.", g
		if g > 0 {
			p, book = "quantizer.acoustic_residual_vector_quantizer.", g-1
		}
		if book == 0 {
			add(p+"input_proj.weight", c.SearchDim, c.Hidden, 1)
		}
		add(fmt.Sprintf("%slayers.%d.codebook.embed_sum", p, book), c.Bins, c.EntryDim)
		add(fmt.Sprintf("%slayers.%d.codebook.cluster_usage", p, book), c.Bins)
	}
	return list
}

// spread returns mean and deviation of a tensor's random values. They keep every stage of the order of one.
func spread(name string, shape []int) (mean, deviation float64) {
	fan := 1
	for _, n := range shape[1:] {
		fan *= n
	}
	switch {
	case strings.HasSuffix(name, "cluster_usage"):
		return 1, 0
	case strings.HasSuffix(name, "embed_sum"):
		return 0, 1
	case strings.HasSuffix(name, ".scale"):
		return 0.1, 0.02
	case strings.HasSuffix(name, ".bias"):
		return 0, 0.1
	case len(shape) == 1:
		return 1, 0.05
	}
	return 0, 1.3 / math.Sqrt(float64(fan))
}

// fill gives every tensor random values, drawn when it is written.
func fill(list []safetensors.Tensor, seed uint64) {
	for i := range list {
		t := &list[i]
		mean, deviation := spread(t.Name, t.Shape)
		t.Data = func(w io.Writer) error {
			rng := rand.New(rand.NewPCG(seed, uint64(i)))
			n := 1
			for _, d := range t.Shape {
				n *= d
			}
			buf := make([]byte, 0, 4*n)
			for range n {
				u := rng.Uint64()
				v := (float64(uint32(u)) + float64(u>>32)) / (1 << 32) // two uniform halves are as good as normal here
				buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(float32(mean+deviation*math.Sqrt(6)*(v-1))))
			}
			_, err := w.Write(buf)
			return err
		}
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
	return openFS(t, fstest.MapFS{"m.safetensors": {Data: b.Bytes()}})
}

func openFS(t testing.TB, fsys fs.FS) *safetensors.Set {
	t.Helper()
	w, err := safetensors.Open(fsys, "m.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	return w
}

// oddEncoder is a small encoder of random weights.
func oddEncoder(t testing.TB) *Encoder {
	t.Helper()
	list := shapes(oddConfig())
	fill(list, 1)
	e, err := LoadEncoder(openTensors(t, list), oddConfig())
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// fullEncoder is one of the published sizes, in a file of the test's folder.
func fullEncoder(t testing.TB) *Encoder {
	t.Helper()
	list := shapes(fullConfig())
	fill(list, 1)
	dir := t.TempDir()
	f, err := os.Create(filepath.Join(dir, "m.safetensors"))
	if err != nil {
		t.Fatal(err)
	}
	err = safetensors.Write(f, list, nil)
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		t.Fatal(err)
	}
	e, err := LoadEncoder(openFS(t, os.DirFS(dir)), fullConfig())
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
