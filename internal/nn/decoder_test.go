package nn

import (
	"encoding/json"
	"strings"
	"testing"
)

// TestDecoderConfig tries fields that change the computation: what a published
// checkpoint has is taken, anything else is refused by name.
func TestDecoderConfig(t *testing.T) {
	const base = `"hidden_size": 64, "num_hidden_layers": 2, "num_attention_heads": 2, "num_key_value_heads": 1, "head_dim": 32,
		"intermediate_size": 64, "rms_norm_eps": 1e-6, "hidden_act": "silu"`
	const theta = `"rope_theta": 1e6`
	for name, c := range map[string]struct{ fields, refusal string }{
		"published":                {theta + `, "rope_scaling": {"interleaved": true, "mrope_section": [6, 5, 5], "rope_type": "default", "type": "default"}`, ""},
		"published predictor":      {theta + `, "rope_scaling": null, "layer_types": ["full_attention", "full_attention"], "tie_word_embeddings": false`, ""},
		"nothing of quantization":  {theta + `, "quantization_config": null`, ""},
		"rope_parameters alone":    {`"rope_parameters": {"rope_theta": 1e6, "rope_type": "default"}`, ""},
		"rope_parameters by layer": {`"rope_parameters": {"full_attention": {"rope_theta": 1e6, "partial_rotary_factor": 1.0}}`, ""},
		"both, alike":              {theta + `, "rope_parameters": {"rope_theta": 1e6}`, ""},
		"both, different":          {theta + `, "rope_parameters": {"rope_theta": 1e4}`, "rope_theta is 1e+06, but 10000 in rope_parameters"},
		"both, different by layer": {theta + `, "rope_parameters": {"full_attention": {"rope_theta": 1e4}}`, "rope_theta is 1e+06, but 10000 in rope_parameters.full_attention"},
		"no theta":                 {`"rope_parameters": {"rope_type": "default"}`, "rope_theta is 0, must be above 1"},
		"scaled rope_parameters":   {theta + `, "rope_parameters": {"rope_type": "yarn", "factor": 4}`, `rope_parameters is of type "yarn", only "default" is known`},
		"scaled by layer":          {theta + `, "rope_parameters": {"full_attention": {"rope_type": "linear"}}`, `rope_parameters.full_attention is of type "linear"`},
		"scaled rope_scaling":      {theta + `, "rope_scaling": {"type": "dynamic"}`, `rope_scaling is of type "dynamic"`},
		"part of the head":         {theta + `, "partial_rotary_factor": 0.5`, "partial_rotary_factor is 0.5, only 1 is known"},
		"part of the head, new":    {theta + `, "rope_parameters": {"partial_rotary_factor": 0.5}`, "rope_parameters.partial_rotary_factor is 0.5"},
		"tied":                     {theta + `, "tie_word_embeddings": true`, "tie_word_embeddings is true"},
		"quantized by others":      {theta + `, "quantization_config": {"quant_method": "gptq", "bits": 4}`, "quantization_config is there"},
		"a sliding layer":          {theta + `, "layer_types": ["full_attention", "sliding_attention"]`, `layer_types has "sliding_attention" for layer 1`},
		"window":                   {theta + `, "use_sliding_window": true`, "use_sliding_window is true"},
		"bias":                     {theta + `, "attention_bias": true`, "attention_bias is true"},
	} {
		t.Run(name, func(t *testing.T) {
			var cfg DecoderConfig
			if err := json.Unmarshal([]byte("{"+base+", "+c.fields+"}"), &cfg); err != nil {
				t.Fatal(err)
			}
			err := cfg.Validate()
			switch {
			case c.refusal == "" && err != nil:
				t.Error(err)
			case c.refusal == "" && cfg.Stack().Theta != 1e6:
				t.Errorf("theta is %g", cfg.Stack().Theta)
			case c.refusal != "" && (err == nil || !strings.Contains(err.Error(), c.refusal)):
				t.Errorf("error %v, want %s", err, c.refusal)
			}
		})
	}
}
