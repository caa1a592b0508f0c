package codec

import (
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/safetensors"
)

// TestLoadErrors takes each tensor away, gives it another shape and another type: the error names it.
func TestLoadErrors(t *testing.T) {
	list := shapes(oddConfig(), 9)
	fill(list, 1)
	for i := range list {
		name := list[i].Name
		check := func(what, problem string, list []safetensors.Tensor) {
			t.Helper()
			_, err := LoadDecoder(openTensors(t, list), oddConfig())
			var bad *safetensors.TensorError
			if !errors.As(err, &bad) {
				t.Fatalf("%s: %s: %v, wanted a TensorError", name, what, err)
			}
			// The width of an entry is what the first codebook says, so a wrong one shows in the second.
			later := what == "wider" && strings.Contains(name, "rvq_first") && strings.Contains(bad.Tensor, "rvq_rest.vq.layers.0")
			if bad.Tensor != name && !later || bad.Problem != problem || bad.File == "" || bad.Wanted == "" {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		check("absent", "missing", slices.Delete(slices.Clone(list), i, i+1))

		wider := slices.Clone(list)
		wider[i].Shape = slices.Clone(wider[i].Shape)
		wider[i].Shape[len(wider[i].Shape)-1]++
		transposed := strings.Contains(name, "block.1.") || strings.Contains(name, "upsample") && strings.Contains(name, "0.conv")
		if len(wider[i].Shape) < 3 || transposed { // a plain convolution may have a kernel of any size
			fill(wider[i:i+1], 1)
			check("wider", "shape", wider)
		}
		flat := slices.Clone(list)
		flat[i].Shape = append([]int{1}, flat[i].Shape...)
		check("of higher rank", "shape", flat)

		half := slices.Clone(list)
		half[i].DType = safetensors.I32
		check("of integers", "dtype", half)
	}
}

// TestLoadRefusesNothing gives the two sizes that no config has as 0, in tensors of no bytes that fit each other.
func TestLoadRefusesNothing(t *testing.T) {
	const inner = "decoder.upsample.1.1.pwconv"
	for name, c := range map[string]struct {
		tensor string
		entry  int
		shapes map[string][]int
	}{
		"inner width of an upsampling": {inner + "1.weight", 9, map[string][]int{inner + "1.weight": {0, 18}, inner + "1.bias": {0}, inner + "2.weight": {18, 0}}},
		"width of an entry":            {"decoder.quantizer.rvq_first.vq.layers.0._codebook.embedding_sum", 0, nil},
	} {
		list := shapes(oddConfig(), c.entry)
		for i := range list {
			if shape, ok := c.shapes[list[i].Name]; ok {
				list[i].Shape = shape
			}
		}
		fill(list, 1)
		_, err := LoadDecoder(openTensors(t, list), oddConfig())
		var bad *safetensors.TensorError
		if !errors.As(err, &bad) || bad.Tensor != c.tensor || bad.Problem != "shape" || bad.File == "" || bad.Found == "" || bad.Wanted == "" {
			t.Errorf("%s: %v, wanted an error about the shape of %s", name, err, c.tensor)
		}
	}
}

// TestLoadRefusesOverflow wants logarithms of the snake that float32 cannot hold to be found at load.
func TestLoadRefusesOverflow(t *testing.T) {
	const name = "decoder.decoder.2.block.3.act1.alpha"
	list := shapes(oddConfig(), 9)
	fill(list, 1)
	constant(t, list, name, 89)
	_, err := LoadDecoder(openTensors(t, list), oddConfig())
	var bad *safetensors.TensorError
	if !errors.As(err, &bad) || bad.Tensor != name {
		t.Errorf("%v, wanted an error about %s", err, name)
	}
}

// TestParseConfig changes one value at a time.
func TestParseConfig(t *testing.T) {
	data, err := json.Marshal(oddConfig())
	if err != nil {
		t.Fatal(err)
	}
	good := string(data)
	if _, err := ParseConfig(data); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ old, new, want string }{
		{`"hidden_act":"silu"`, `"hidden_act":"gelu"`, `codec: config: decoder_config: hidden_act is "gelu", only "silu" is known`},
		{`"num_attention_heads":4`, `"num_attention_heads":3`, "num_attention_heads (3) must be a multiple of num_key_value_heads (2)"},
		{`"num_quantizers":5`, `"num_quantizers":1`, "num_quantizers is 1, allowed are 2 to 64"},
		{`"num_semantic_quantizers":1`, `"num_semantic_quantizers":2`, "num_semantic_quantizers is 2, allowed are 1 to 1"},
		{`"codebook_size":11`, `"codebook_size":0`, "codebook_size is 0, allowed are 1 to 1048576"},
		{`"sliding_window":7`, `"sliding_window":null`, "sliding_window is 0, allowed are 1 to 16384"},
		{`"sliding_window":7`, `"sliding_window":1000000`, "sliding_window is 1000000, allowed are 1 to 16384"},
		{`"attention_bias":false`, `"attention_bias":true`, "attention_bias is true, only false is known"},
		{`"rope_parameters":null`, `"rope_parameters":{"rope_type":"yarn"}`, `rope_parameters is of type "yarn", only "default" is known`},
		{`"rope_parameters":null`, `"rope_parameters":{"rope_theta":1e6}`, "rope_theta is 10000, but 1e+06 in rope_parameters"},
		{`"quantization_config":null`, `"quantization_config":{"bits":4}`, "quantization_config is there"},
		{`"head_dim":6`, `"head_dim":7`, "head_dim is 7, must be even"},
		{`"decoder_dim":40`, `"decoder_dim":7`, "decoder_dim is 7, too small to be halved by each of 3 upsample_rates"},
		{`"upsample_rates":[5,2,3]`, `"upsample_rates":[]`, "length of upsample_rates is 0, allowed are 1 to 16"},
		{`"upsample_rates":[5,2,3]`, `"upsample_rates":[5,-2,3]`, "upsample_rates is -2, allowed are 1 to 65536"},
		{`"upsample_rates":[5,2,3]`, `"upsample_rates":[60000,60000,60000]`, "make more than 65536 samples of a frame"},
		{`"decode_upsample_rate":180`, `"decode_upsample_rate":1920`, "decode_upsample_rate is 1920, but"},
		{`"output_sample_rate":24000`, `"output_sample_rate":0`, "output_sample_rate is 0, allowed are 8000 to 768000"},
		{modelType, "qwen3_tts_tokenizer_25hz", `model_type is "qwen3_tts_tokenizer_25hz"`},
		{`"latent_dim":18`, `"latent_dim":"x"`, "codec: config: decoder_config.latent_dim is of type string"},
		{`"rms_norm_eps":0.00001`, `"rms_norm_eps":0`, "rms_norm_eps is 0, must be positive"},
	} {
		if strings.Count(good, c.old) != 1 {
			t.Fatalf("%s is not in the config once", c.old)
		}
		_, err := ParseConfig([]byte(strings.Replace(good, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, wanted %q", c.new, err, c.want)
		}
	}
}

// TestConfigOfNewerTransformers has the base of the rotary angles in rope_parameters alone.
func TestConfigOfNewerTransformers(t *testing.T) {
	data, err := json.Marshal(oddConfig())
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, c := range []struct{ old, new string }{
		{`"rope_theta":10000,`, ""}, {`"rope_parameters":null`, `"rope_parameters":{"rope_theta":5000,"rope_type":"default"}`},
	} {
		if strings.Count(text, c.old) != 1 {
			t.Fatalf("%s is not in the config once", c.old)
		}
		text = strings.Replace(text, c.old, c.new, 1)
	}
	c, err := ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if theta := c.Decoder.stack().Theta; theta != 5000 {
		t.Errorf("theta is %g, wanted 5000", theta)
	}
}

// TestConfigDefaults leaves out what may be left out.
func TestConfigDefaults(t *testing.T) {
	data, err := json.Marshal(oddConfig())
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	text = strings.Replace(text, `"num_attention_heads":4`, `"num_attention_heads":2`, 1)
	for _, cut := range []string{`"decode_upsample_rate":180,`, `"num_semantic_quantizers":1,`, `"head_dim":6,`} {
		if !strings.Contains(text, cut) {
			t.Fatalf("%s is not in the config", cut)
		}
		text = strings.Replace(text, cut, "", 1)
	}
	c, err := ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	if c.Hop != 180 || c.Decoder.SemanticGroups != 1 || c.Decoder.HeadDim != 12/2 {
		t.Errorf("%+v", c)
	}
}
