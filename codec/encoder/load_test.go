package encoder

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/safetensors"
)

// TestLoadErrors takes each tensor away, gives it another shape and another type: the error names it.
func TestLoadErrors(t *testing.T) {
	list := shapes(oddConfig())
	fill(list, 1)
	for i := range list {
		name := list[i].Name
		check := func(what, problem string, list []safetensors.Tensor) {
			t.Helper()
			_, err := LoadEncoder(openTensors(t, list), oddConfig())
			var bad *safetensors.TensorError
			if !errors.As(err, &bad) {
				t.Fatalf("%s: %s: %v, wanted a TensorError", name, what, err)
			}
			if bad.Tensor != name || bad.Problem != problem || bad.File == "" || bad.Wanted == "" || !strings.HasPrefix(err.Error(), "codec/encoder: ") {
				t.Errorf("%s: %s: %v", name, what, err)
			}
		}
		check("absent", "missing", slices.Delete(slices.Clone(list), i, i+1))

		wider := slices.Clone(list)
		wider[i].Shape = slices.Clone(wider[i].Shape)
		wider[i].Shape[len(wider[i].Shape)-1]++
		fill(wider[i:i+1], 1)
		check("wider", "shape", wider)

		flat := slices.Clone(list)
		flat[i].Shape = append([]int{1}, flat[i].Shape...)
		check("of higher rank", "shape", flat)

		integers := slices.Clone(list)
		integers[i].DType = safetensors.I32
		check("of integers", "dtype", integers)
	}
}

// TestLoadRefuses gives weights that cannot be those of a whole checkpoint of this config.
func TestLoadRefuses(t *testing.T) {
	const entries = "encoder.quantizer.acoustic_residual_vector_quantizer.layers.2.codebook.embed_sum"
	for _, c := range []struct {
		tensor, want string
		value        float32
	}{
		{entries, "entry", math.MaxFloat32},
		{entries, "entry", float32(math.NaN())},
		{"encoder.encoder_transformer.layers.1.mlp.fc1.weight", "zeros only", 0},
	} {
		list := shapes(oddConfig())
		fill(list, 1)
		constant(t, list, c.tensor, c.value)
		_, err := LoadEncoder(openTensors(t, list), oddConfig())
		var bad *safetensors.TensorError
		if !errors.As(err, &bad) || bad.Tensor != c.tensor || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s of %g: %v, wanted %q", c.tensor, c.value, err, c.want)
		}
	}
	list := shapes(oddConfig())
	fill(list, 1)
	shorter := oddConfig()
	shorter.Encoder.Layers = 1
	if _, err := LoadEncoder(openTensors(t, list), shorter); err == nil || !strings.Contains(err.Error(), "more layers than num_hidden_layers") {
		t.Errorf("a layer too many: %v", err)
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
	if theta := c.Encoder.RopeTheta; theta != 5000 {
		t.Errorf("theta is %g, wanted 5000", theta)
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
		{modelType, "qwen3_tts_tokenizer_25hz", `codec/encoder: config: model_type is "qwen3_tts_tokenizer_25hz"`},
		{`"input_sample_rate":24000`, `"input_sample_rate":0`, "input_sample_rate is 0, allowed are 8000 to 768000"},
		{`"sampling_rate":24000`, `"sampling_rate":16000`, "sampling_rate is 16000, but input_sample_rate is 24000"},
		{`"encode_downsample_rate":60`, `"encode_downsample_rate":1920`, "encode_downsample_rate is 1920, but upsampling_ratios [2 5 3] and the last stride of 2 make 60"},
		{`"encoder_valid_num_quantizers":5`, `"encoder_valid_num_quantizers":8`, "encoder_valid_num_quantizers is 8, allowed are 2 to 7"},
		{`"num_filters":6`, `"num_filters":6000`, "num_filters is 6000, doubled by each of 3 upsampling_ratios it is more than 16384"},
		{`"upsampling_ratios":[2,5,3]`, `"upsampling_ratios":[]`, "length of upsampling_ratios is 0, allowed are 1 to 8"},
		{`"upsampling_ratios":[2,5,3]`, `"upsampling_ratios":[2,-5,3]`, "upsampling_ratios is -5, allowed are 1 to 65536"},
		{`"upsampling_ratios":[2,5,3]`, `"upsampling_ratios":[60000,60000,60000]`, "make more than 65536 samples of a frame"},
		{`"audio_channels":1`, `"audio_channels":2`, "audio_channels is 2, only 1 is known"},
		{`"num_residual_layers":1`, `"num_residual_layers":2`, "num_residual_layers is 2, only 1 is known"},
		{`"compress":3`, `"compress":7`, "compress is 7, allowed are 1 to 6"},
		{`"pad_mode":"constant"`, `"pad_mode":"reflect"`, `pad_mode is "reflect", only "constant" is known`},
		{`"use_causal_conv":true`, `"use_causal_conv":false`, "use_causal_conv is false, only true is known"},
		{`"use_conv_shortcut":false`, `"use_conv_shortcut":true`, "use_conv_shortcut is true, only false is known"},
		{`"hidden_act":"gelu"`, `"hidden_act":"silu"`, `hidden_act is "silu", only "gelu" is known`},
		{`"num_attention_heads":4`, `"num_attention_heads":3`, "num_attention_heads (3) must be a multiple of num_key_value_heads (2)"},
		{`"head_dim":6`, `"head_dim":7`, "head_dim is 7, must be even"},
		{`"norm_eps":0.00001`, `"norm_eps":0`, "norm_eps is 0, must be positive"},
		{`"rope_theta":10000`, `"rope_theta":1`, "rope_theta is 1, must be above 1"},
		{`"attention_bias":false`, `"attention_bias":true`, "attention_bias is true, only false is known"},
		{`"rope_parameters":null`, `"rope_parameters":{"rope_type":"yarn"}`, `rope_parameters is of type "yarn", only "default" is known`},
		{`"rope_parameters":null`, `"rope_parameters":{"rope_theta":1e6}`, "rope_theta is 10000, but 1e+06 in rope_parameters"},
		{`"quantization_config":null`, `"quantization_config":{"bits":4}`, "quantization_config is there"},
		{`"max_position_embeddings":400`, `"max_position_embeddings":0`, "max_position_embeddings is 0, allowed are 1 to 262144"},
		{`"num_semantic_quantizers":1`, `"num_semantic_quantizers":2`, "num_semantic_quantizers is 2, only 1 is known"},
		{`"vector_quantization_hidden_dimension":10`, `"vector_quantization_hidden_dimension":12`, "vector_quantization_hidden_dimension is 12, only 10 is known"},
		{`"codebook_size":19`, `"codebook_size":"x"`, "codec/encoder: config: encoder_config.codebook_size is of type string"},
	} {
		// A leading quote alone would find sampling_rate in other names.
		if strings.Count(good, c.old) != 1 {
			t.Fatalf("%s is not in the config once", c.old)
		}
		_, err := ParseConfig([]byte(strings.Replace(good, c.old, c.new, 1)))
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, wanted %q", c.new, err, c.want)
		}
	}
}

// TestConfigDefaults leaves out what may be left out.
func TestConfigDefaults(t *testing.T) {
	c := oddConfig()
	c.Encoder.Kernel = 7
	c.Encoder.ResidualKernel = 3
	c.Encoder.Compress = 2
	c.Encoder.Positions = 8000
	data, err := json.Marshal(c)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	for _, cut := range []string{
		`"encode_downsample_rate":60,`, `"sampling_rate":24000,`, `"audio_channels":1,`, `"kernel_size":7,`, `"last_kernel_size":3,`, `"residual_kernel_size":3,`,
		`"num_residual_layers":1,`, `"compress":2,`, `"pad_mode":"constant",`, `"use_causal_conv":true,`, `"hidden_act":"gelu",`, `"num_semantic_quantizers":1,`,
		`"max_position_embeddings":8000,`,
	} {
		if strings.Count(text, cut) != 1 {
			t.Fatalf("%s is not in the config once", cut)
		}
		text = strings.Replace(text, cut, "", 1)
	}
	got, err := ParseConfig([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	want := c
	want.Encoder.SamplingRate = 0
	if a, b := mustJSON(t, got), mustJSON(t, want); a != b {
		t.Errorf("%s, wanted %s", a, b)
	}
}

func mustJSON(t *testing.T, v any) string {
	t.Helper()
	data, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
