package codec

import (
	"errors"
	"math"
	"slices"
	"testing"
)

// TestNonFinite damages one tensor after the other: the error names the stage, no sample comes out, and the state stays closed.
func TestNonFinite(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	for _, c := range []struct {
		tensor string
		value  float32
		stage  string
	}{
		{"decoder.quantizer.rvq_rest.vq.layers.2._codebook.embedding_sum", inf, "quantizer"},
		{"decoder.quantizer.rvq_first.output_proj.weight", nan, "quantizer"},
		{"decoder.pre_conv.conv.weight", nan, "pre_transformer"},
		{"decoder.pre_transformer.layers.1.self_attn.k_proj.weight", nan, "pre_transformer"},
		{"decoder.pre_transformer.layers.0.mlp.down_proj.weight", inf, "pre_transformer"},
		{"decoder.upsample.0.1.dwconv.conv.weight", nan, "upsample_0"},
		{"decoder.upsample.1.1.pwconv2.weight", nan, "upsample_1"},
		{"decoder.decoder.0.conv.weight", inf, "decoder_1"},
		{"decoder.decoder.2.block.1.conv.weight", nan, "decoder_2"},
		{"decoder.decoder.3.block.3.conv1.conv.weight", nan, "decoder_3"},
		{"decoder.decoder.5.conv.weight", 3e38, "output"},
	} {
		list := shapes(oddConfig(), 9)
		fill(list, 1)
		constant(t, list, c.tensor, c.value)
		d, err := LoadDecoder(openTensors(t, list), oddConfig())
		if err != nil {
			t.Fatalf("%s: %v", c.tensor, err)
		}
		wk, sc, s := work(t, 2), d.NewScratch(2), d.NewState(2)
		codes := randomCodes(d, 3, 1)
		dst := make([]float32, 3*d.Hop())
		for i := range dst {
			dst[i] = 1
		}
		err = d.Decode(wk, sc, s, dst, codes)
		var bad *NonFiniteError
		if !errors.As(err, &bad) || bad.Stage != c.stage || bad.Frame != 0 {
			t.Errorf("%s: %v, wanted stage %s in frame 0", c.tensor, err, c.stage)
		}
		if slices.ContainsFunc(dst, func(v float32) bool { return v != 0 }) {
			t.Errorf("%s: samples came out", c.tensor)
		}
		if err := d.Decode(wk, sc, s, dst, codes); !errors.Is(err, ErrBroken) {
			t.Errorf("%s: %v after the error, wanted ErrBroken", c.tensor, err)
		}
		s.Reset()
		if err := d.Decode(wk, sc, s, dst, codes); !errors.As(err, &bad) {
			t.Errorf("%s: %v after Reset, wanted the first error again", c.tensor, err)
		}
	}
}

// TestNonFiniteFrame spoils one entry of a codebook: the error names the frame that uses it, and a stream without it is untouched.
func TestNonFiniteFrame(t *testing.T) {
	list := shapes(oddConfig(), 9)
	fill(list, 1)
	d, err := LoadDecoder(openTensors(t, list), oddConfig())
	if err != nil {
		t.Fatal(err)
	}
	const entry = 10
	d.quantizer.books[3].sum = slices.Clone(d.quantizer.books[3].sum)
	d.quantizer.books[3].sum[entry*d.quantizer.dim+1] = float32(math.NaN())
	codes := randomCodes(d, 9, 1)
	for i := range codes {
		codes[i] %= entry
	}
	wk, sc, s := work(t, 1), d.NewScratch(4), d.NewState(4)
	want := decode(t, d, wk, sc, s, codes, 9)
	s.Reset()
	codes[7*d.Groups()+3] = entry
	dst := make([]float32, len(want))
	err = d.Decode(wk, sc, s, dst, codes)
	var bad *NonFiniteError
	if !errors.As(err, &bad) || *bad != (NonFiniteError{Stage: "quantizer", Frame: 7}) {
		t.Fatalf("%v, wanted stage quantizer in frame 7", err)
	}
	s.Reset()
	if got := decode(t, d, wk, sc, s, codes[:7*d.Groups()], 2); !slices.Equal(got, want[:7*d.Hop()]) {
		t.Error("a stream after Reset differs from a fresh one")
	}
}
