package codec

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
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// oddConfig has sizes that are multiples of nothing, so that no test passes by luck of alignment.
func oddConfig() Config {
	return Config{
		ModelType: modelType, SampleRate: 24000, Hop: 180,
		Decoder: DecoderConfig{
			Groups: 5, SemanticGroups: 1, Bins: 11, CodebookDim: 10, Latent: 18,
			Hidden: 12, Layers: 2, Heads: 4, KVHeads: 2, HeadDim: 6, FFN: 14, Eps: 1e-5, RopeTheta: 1e4, Window: 7,
			Activation: "silu", Width: 40, Upsampling: []int{3, 2}, BlockStride: []int{5, 2, 3},
		},
	}
}

// fullConfig is that of the published checkpoints.
func fullConfig() Config {
	return Config{
		ModelType: modelType, SampleRate: 24000, Hop: 1920,
		Decoder: DecoderConfig{
			Groups: 16, SemanticGroups: 1, Bins: 2048, CodebookDim: 512, Latent: 1024,
			Hidden: 512, Layers: 8, Heads: 16, KVHeads: 16, HeadDim: 64, FFN: 1024, Eps: 1e-5, RopeTheta: 1e4, Window: 72,
			Activation: "silu", Width: 1536, Upsampling: []int{2, 2}, BlockStride: []int{8, 5, 4, 3},
		},
	}
}

// shapes lists the tensors of a decoder with this config, in the order of the data's way.
func shapes(cfg Config, entry int) []safetensors.Tensor {
	var list []safetensors.Tensor
	add := func(name string, shape ...int) {
		list = append(list, safetensors.Tensor{Name: "decoder." + name, DType: safetensors.F32, Shape: shape})
	}
	c := cfg.Decoder
	for g := range c.Groups {
		name := fmt.Sprintf("quantizer.rvq_rest.vq.layers.%d._codebook.", g-1)
		if g == 0 {
			name = "quantizer.rvq_first.vq.layers.0._codebook."
		}
		add(name+"embedding_sum", c.Bins, entry)
		add(name+"cluster_usage", c.Bins)
	}
	add("quantizer.rvq_first.output_proj.weight", c.CodebookDim, entry, 1)
	add("quantizer.rvq_rest.output_proj.weight", c.CodebookDim, entry, 1)
	conv := func(name string, a, b, k, bias int) {
		add(name+".weight", a, b, k)
		add(name+".bias", bias)
	}
	linear := func(name string, in, out int) {
		add(name+".weight", out, in)
		add(name+".bias", out)
	}
	conv("pre_conv.conv", c.Latent, c.CodebookDim, 3, c.Latent)
	linear("pre_transformer.input_proj", c.Latent, c.Hidden)
	for l := range c.Layers {
		p := fmt.Sprintf("pre_transformer.layers.%d.", l)
		add(p+"input_layernorm.weight", c.Hidden)
		add(p+"post_attention_layernorm.weight", c.Hidden)
		add(p+"self_attn_layer_scale.scale", c.Hidden)
		add(p+"mlp_layer_scale.scale", c.Hidden)
		add(p+"self_attn.q_proj.weight", c.Heads*c.HeadDim, c.Hidden)
		add(p+"self_attn.k_proj.weight", c.KVHeads*c.HeadDim, c.Hidden)
		add(p+"self_attn.v_proj.weight", c.KVHeads*c.HeadDim, c.Hidden)
		add(p+"self_attn.o_proj.weight", c.Hidden, c.Heads*c.HeadDim)
		add(p+"mlp.gate_proj.weight", c.FFN, c.Hidden)
		add(p+"mlp.up_proj.weight", c.FFN, c.Hidden)
		add(p+"mlp.down_proj.weight", c.Hidden, c.FFN)
	}
	add("pre_transformer.norm.weight", c.Hidden)
	linear("pre_transformer.output_proj", c.Hidden, c.Latent)
	for i, r := range c.Upsampling {
		p := fmt.Sprintf("upsample.%d.", i)
		conv(p+"0.conv", c.Latent, c.Latent, r, c.Latent)
		conv(p+"1.dwconv.conv", c.Latent, 1, 7, c.Latent)
		add(p+"1.norm.weight", c.Latent)
		add(p+"1.norm.bias", c.Latent)
		linear(p+"1.pwconv1", c.Latent, 4*c.Latent)
		linear(p+"1.pwconv2", 4*c.Latent, c.Latent)
		add(p+"1.gamma", c.Latent)
	}
	snake := func(name string, n int) {
		add(name+".alpha", n)
		add(name+".beta", n)
	}
	conv("decoder.0.conv", c.Width, c.Latent, 7, c.Width)
	n := c.Width
	for i, r := range c.BlockStride {
		p := fmt.Sprintf("decoder.%d.block.", i+1)
		snake(p+"0", n)
		conv(p+"1.conv", n, n/2, 2*r, n/2)
		n /= 2
		for j := 2; j < 5; j++ {
			p := fmt.Sprintf("%s%d.", p, j)
			snake(p+"act1", n)
			conv(p+"conv1.conv", n, n, 7, n)
			snake(p+"act2", n)
			conv(p+"conv2.conv", n, n, 1, n)
		}
	}
	snake(fmt.Sprintf("decoder.%d", len(c.BlockStride)+1), n)
	conv(fmt.Sprintf("decoder.%d.conv", len(c.BlockStride)+2), 1, n, 7, 1)
	return list
}

// spread returns mean and deviation of a tensor's random values. They keep every stage of the order of one and the waveform
// neither silent nor clipped.
func spread(name string, shape []int) (mean, deviation float64) {
	fan := 1
	for _, n := range shape[1:] {
		fan *= n
	}
	switch {
	case strings.HasSuffix(name, "cluster_usage"):
		return 1, 0
	case strings.HasSuffix(name, "embedding_sum"):
		return 0, 1
	case strings.HasSuffix(name, ".alpha"), strings.HasSuffix(name, ".beta"):
		return 0, 0.1
	case strings.HasSuffix(name, ".gamma"), strings.HasSuffix(name, ".scale"):
		return 0.1, 0.02
	case strings.HasSuffix(name, ".bias"):
		return 0, 0.01
	case len(shape) == 1:
		return 1, 0.05
	case strings.Contains(name, ".block.1.conv"):
		return 0, 1 / math.Sqrt(2*float64(shape[0]))
	case strings.Contains(name, "upsample") && strings.Contains(name, ".0.conv"):
		return 0, 1 / math.Sqrt(float64(shape[0]))
	case strings.Contains(name, ".conv1.conv"), strings.Contains(name, ".conv2.conv"):
		return 0, 0.4 / math.Sqrt(float64(fan))
	case shape[0] == 1:
		return 0, 0.05 / math.Sqrt(float64(fan))
	}
	return 0, 1 / math.Sqrt(float64(fan))
}

// fill gives every tensor random values, drawn when it is written.
func fill(list []safetensors.Tensor, seed uint64) {
	for i := range list {
		t := &list[i]
		rng := rand.New(rand.NewPCG(seed, uint64(i)))
		mean, deviation := spread(t.Name, t.Shape)
		t.Data = func(w io.Writer) error {
			n := 1
			for _, d := range t.Shape {
				n *= d
			}
			buf := make([]byte, 0, min(4*n, 1<<16))
			for i := range n {
				// Two uniform halves: as good as normal here, and quick for a hundred million values.
				u := rng.Uint64()
				v := (float64(uint32(u)) + float64(u>>32)) / (1 << 32)
				buf = binary.LittleEndian.AppendUint32(buf, math.Float32bits(float32(mean+deviation*math.Sqrt(6)*(v-1))))
				if len(buf) == cap(buf) || i == n-1 {
					if _, err := w.Write(buf); err != nil {
						return err
					}
					buf = buf[:0]
				}
			}
			return nil
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

// oddDecoder is a small decoder of random weights.
func oddDecoder(t testing.TB) *Decoder {
	t.Helper()
	list := shapes(oddConfig(), 9)
	fill(list, 1)
	d, err := LoadDecoder(openTensors(t, list), oddConfig())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// dotted is BF16 as it is where the CPU has dot products of bfloat16; without them the kernels' twins do the same.
const dotted Precision = "bf16 by dot products"

// precisions are all that are tested, whatever the CPU has.
var precisions = append(slices.Clone(Precisions), string(dotted))

// slow reports whether only the twin runs what a precision needs.
func slow(p Precision) bool { return p == dotted && !kernel.DotsBF16() }

// quantize packs a decoder for one of precisions.
func quantize(t testing.TB, d *Decoder, p Precision) {
	t.Helper()
	if d.dots = p == dotted; d.dots {
		p = BF16
	}
	if err := d.Quantize(p); err != nil {
		t.Fatal(err)
	}
}

// oddDecoderAt is oddDecoder at a precision.
func oddDecoderAt(t testing.TB, p Precision) *Decoder {
	t.Helper()
	d := oddDecoder(t)
	quantize(t, d, p)
	return d
}

// fullDecoder is one of the published sizes, 450 MB of random weights in a file of the test's folder.
func fullDecoder(t testing.TB) *Decoder {
	t.Helper()
	list := shapes(fullConfig(), 256)
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
	d, err := LoadDecoder(openFS(t, os.DirFS(dir)), fullConfig())
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// randomCodes returns codes [frames, groups] within bounds.
func randomCodes(d *Decoder, frames int, seed uint64) []int32 {
	rng := rand.New(rand.NewPCG(seed, 0))
	codes := make([]int32, frames*d.Groups())
	for i := range codes {
		codes[i] = rng.Int32N(int32(d.Codes()))
	}
	return codes
}
