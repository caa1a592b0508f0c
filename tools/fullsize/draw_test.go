package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

func TestRoundBF16(t *testing.T) {
	for _, c := range []struct {
		in   uint32 // bits of the float32
		want uint16
	}{
		{0x3f800000, 0x3f80},
		{0x3f807fff, 0x3f80}, // just below the middle
		{0x3f808000, 0x3f80}, // the middle goes to the even one, down
		{0x3f808001, 0x3f81},
		{0x3f818000, 0x3f82}, // the middle, up
		{0xbf818000, 0xbf82},
		{0x3fffffff, 0x4000}, // carries into the exponent
		{0x00008000, 0x0000},
		{0x80000000, 0x8000},
	} {
		if got := roundBF16(math.Float32frombits(c.in)); got != c.want {
			t.Errorf("%#08x: got %#04x, wanted %#04x", c.in, got, c.want)
		}
	}
}

// draw returns the bytes that a drawing writes.
func draw(t *testing.T, d drawing) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := d.writeTo(&b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestDrawingIsTheSameOnAnyWorkers also shows that another seed, name or block gives other values.
func TestDrawingIsTheSameOnAnyWorkers(t *testing.T) {
	d := drawing{spec{"x", []int{5, blockLen/2 + 3}}, law{mean: 1, std: 2}, safetensors.F32, 1, 1}
	one := draw(t, d)
	if len(one) != 4*product(d.shape) {
		t.Fatalf("%d bytes, wanted %d", len(one), 4*product(d.shape))
	}
	for _, workers := range []int{2, 3, 8} {
		d.workers = workers
		if !bytes.Equal(one, draw(t, d)) {
			t.Errorf("%d workers gave other bytes than one", workers)
		}
	}
	if first, second := one[:4*blockLen], one[4*blockLen:8*blockLen]; bytes.Equal(first, second) {
		t.Error("two blocks are alike")
	}
	d.seed = 2
	if bytes.Equal(one, draw(t, d)) {
		t.Error("two seeds gave the same bytes")
	}
	d.seed, d.name = 1, "y"
	if bytes.Equal(one, draw(t, d)) {
		t.Error("two names gave the same bytes")
	}
}

func TestDrawingStopsWhenTheWriterFails(t *testing.T) {
	d := drawing{spec{"x", []int{40, blockLen}}, law{std: 1}, safetensors.F32, 1, 4}
	full := errors.New("disk full")
	w := &limitedWriter{left: 6 * blockLen, err: full}
	if err := d.writeTo(w); !errors.Is(err, full) {
		t.Errorf("got %v, wanted the writer's error", err)
	}
}

type limitedWriter struct {
	left int
	err  error
}

func (w *limitedWriter) Write(p []byte) (int, error) {
	if w.left -= len(p); w.left < 0 {
		return 0, w.err
	}
	return len(p), nil
}

func TestLaws(t *testing.T) {
	const last = "decoder.decoder.6.conv"
	codec := func(s spec) law { return codecLaw(s, last) }
	model := func(s spec) law { return modelLaw(s, 2) }
	for _, c := range []struct {
		law  func(spec) law
		name string
		dims []int
		want law
	}{
		{model, "talker.model.norm.weight", []int{4}, law{mean: 1, std: 0.05}},
		{model, "talker.text_projection.linear_fc1.bias", []int{4}, law{std: 0.01}},
		{model, "talker.model.layers.0.mlp.up_proj.weight", []int{4, 9}, law{std: 0.02}},
		{model, codecHead, []int{4, 10}, law{std: 0.02, zeroLo: 20, zeroHi: 30}},
		{codec, "decoder.quantizer.rvq_rest.vq.layers.3._codebook.cluster_usage", []int{4}, law{mean: 1}},
		{codec, "encoder.quantizer.acoustic_residual_vector_quantizer.layers.0.codebook.initialized", []int{1}, law{mean: 1}},
		{codec, "decoder.quantizer.rvq_first.vq.layers.0._codebook.embedding_sum", []int{4, 9}, law{std: 1}},
		{codec, "encoder.quantizer.semantic_residual_vector_quantizer.layers.0.codebook.embed_sum", []int{4, 9}, law{std: 1}},
		{codec, "decoder.decoder.1.block.2.act1.alpha", []int{4}, law{std: 0.1}},
		{codec, "decoder.decoder.5.beta", []int{4}, law{std: 0.1}},
		{codec, "decoder.upsample.0.1.gamma", []int{4}, law{mean: 0.1, std: 0.02}},
		{codec, "decoder.pre_transformer.layers.0.mlp_layer_scale.scale", []int{4}, law{mean: 0.1, std: 0.02}},
		{codec, "decoder.pre_conv.conv.bias", []int{4}, law{std: 0.01}},
		{codec, "decoder.pre_transformer.layers.0.self_attn.q_proj.weight", []int{4, 16}, law{std: 0.25}},
		{codec, "decoder.pre_conv.conv.weight", []int{4, 3, 3}, law{std: 1.0 / 3}},
		{codec, "decoder.upsample.0.0.conv.weight", []int{16, 16, 2}, law{std: 0.25}},
		{codec, "decoder.upsample.0.1.dwconv.conv.weight", []int{16, 1, 4}, law{std: 0.5}},
		{codec, "decoder.decoder.1.block.1.conv.weight", []int{8, 4, 16}, law{std: 0.25}},
		{codec, "decoder.decoder.1.block.2.conv1.conv.weight", []int{4, 4, 4}, law{std: 0.1}},
		{codec, "decoder.decoder.1.block.2.conv2.conv.weight", []int{4, 4, 1}, law{std: 0.2}},
		{codec, last + ".weight", []int{1, 5, 5}, law{std: 0.01}},
		{codec, "encoder.encoder.layers.1.block.1.conv.weight", []int{2, 4, 4}, law{std: 0.25}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := c.law(spec{c.name, c.dims})
			if math.Abs(got.std-c.want.std) > 1e-12 {
				t.Errorf("standard deviation %v, wanted %v", got.std, c.want.std)
			}
			if got.std = c.want.std; got != c.want {
				t.Errorf("got %+v, wanted %+v", got, c.want)
			}
		})
	}
}

// TestWrite writes a checkpoint from the configs of a small model and looks at the values in it.
func TestWrite(t *testing.T) {
	small := filepath.Join("..", "..", fullTokenizer)
	read := func(name string) (o object) {
		paritytest.ReadJSON(t, filepath.Join(small, name), &o)
		return o
	}
	c := checkpoint{model: read("config.json"), codec: read(codecDir + "/config.json"), seed: 7, workers: 2}
	out := filepath.Join(t.TempDir(), "out")
	var log strings.Builder
	if err := c.write(out, small, &log); err != nil {
		t.Fatal(err)
	}
	model, codec := shapesOf(t, out)
	compareShapes(t, out, ".", model.tensors(), safetensors.BF16)
	compareShapes(t, out, codecDir, codec.tensors(), safetensors.F32)
	if !strings.Contains(log.String(), "model.safetensors: 94 tensors") {
		t.Errorf("log %q does not tell the tensors", log.String())
	}
	for _, name := range []string{"vocab.json", "merges.txt", "tokenizer_config.json", "config.json", "generation_config.json",
		"preprocessor_config.json", "speech_tokenizer/config.json", "speech_tokenizer/preprocessor_config.json"} {
		if b, err := os.ReadFile(filepath.Join(out, name)); err != nil || len(b) == 0 || (strings.HasSuffix(name, ".json") && !json.Valid(b)) {
			t.Errorf("%s: %d bytes, %v", name, len(b), err)
		}
	}
	if parts, _ := filepath.Glob(filepath.Join(out, "*.part")); len(parts) > 0 {
		t.Errorf("left over: %v", parts)
	}
	set, err := safetensors.OpenModel(os.DirFS(out), ".")
	if err != nil {
		t.Fatal(err)
	}
	defer set.Close()
	head, err := set.Widen(codecHead, model.Talker.Vocab, model.Talker.Hidden)
	if err != nil {
		t.Fatal(err)
	}
	var sum, square float64
	for i, v := range head {
		if end := i/model.Talker.Hidden == model.Talker.EOS; end && v != 0 {
			t.Fatalf("row of the end token holds %v, wanted 0", v)
		}
		sum += float64(v)
		square += float64(v) * float64(v)
	}
	n := float64(len(head))
	if mean, std := sum/n, math.Sqrt(square/n); math.Abs(mean) > 1e-3 || math.Abs(std-0.02) > 5e-4 {
		t.Errorf("codec_head has mean %v and standard deviation %v, wanted 0 and 0.02", mean, std)
	}
}

func TestWriteRefusesTokenizer(t *testing.T) {
	model, err := modelConfigOf("0.6b", "custom_voice")
	if err != nil {
		t.Fatal(err)
	}
	c := checkpoint{model: model, codec: codecConfigOf(), seed: 1, workers: 1}
	err = c.write(t.TempDir(), t.TempDir(), io.Discard)
	if err == nil || !strings.Contains(err.Error(), "vocab.json") {
		t.Errorf("got %v, wanted an error that names vocab.json", err)
	}
	cut := paritytest.VoiceDir(t)
	err = c.write(t.TempDir(), cut, io.Discard)
	if err == nil || !strings.Contains(err.Error(), `added token 151644 is "", wanted "<|im_start|>"`) {
		t.Errorf("got %v, wanted an error about the added token", err)
	}
}
