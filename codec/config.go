package codec

import (
	"encoding/json"
	"fmt"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/plainjson"
)

// Bounds of what a config may ask for. The sizes of tensors are bounded by the file that holds them; these bound what is
// allocated beyond that.
const (
	maxSize   = 1 << 20 // any width, so that products stay far from overflow
	maxWindow = 1 << 14 // keys kept per layer and stream; the published checkpoints have 72
	maxGroups = 64      // codes in a frame
	maxRates  = 16      // upsampling steps
	maxHop    = 1 << 16 // samples of a frame
	minRate   = 8_000   // Hz
	maxRate   = 768_000 // Hz
)

// modelType is what config.json of this tokenizer calls itself. The 25 Hz tokenizer of the same family is another network.
const modelType = "qwen3_tts_tokenizer_12hz"

// Config is speech_tokenizer/config.json, as far as the decoder needs it.
type Config struct {
	ModelType  string        `json:"model_type"`
	SampleRate int           `json:"output_sample_rate"`   // Hz
	Hop        int           `json:"decode_upsample_rate"` // samples of a frame; the product of all upsampling when absent
	Decoder    DecoderConfig `json:"decoder_config"`
}

// DecoderConfig is decoder_config of the same file.
type DecoderConfig struct {
	Groups         int `json:"num_quantizers"`          // codes in a frame
	SemanticGroups int `json:"num_semantic_quantizers"` // the first of them, with a projection of their own; only 1 is known
	Bins           int `json:"codebook_size"`           // entries of every codebook
	CodebookDim    int `json:"codebook_dim"`            // width of what the quantizer hands on
	Latent         int `json:"latent_dim"`              // width between transformer and decoder blocks

	Hidden     int     `json:"hidden_size"`
	Layers     int     `json:"num_hidden_layers"`
	Heads      int     `json:"num_attention_heads"`
	KVHeads    int     `json:"num_key_value_heads"`
	HeadDim    int     `json:"head_dim"` // hidden_size / num_attention_heads when absent
	FFN        int     `json:"intermediate_size"`
	Eps        float32 `json:"rms_norm_eps"`
	RopeTheta  float64 `json:"rope_theta"`
	Window     int     `json:"sliding_window"` // keys that a frame sees, its own included
	Activation string  `json:"hidden_act"`     // only "silu" is known

	// Of the switches only the published values are known. All layers have the window,
	// whatever they are called.
	AttentionBias bool               `json:"attention_bias"`
	RopeScaling   *nn.RopeScaling    `json:"rope_scaling"`
	Rope          *nn.RopeParameters `json:"rope_parameters"`
	Quantization  json.RawMessage    `json:"quantization_config"`

	Width       int   `json:"decoder_dim"`       // channels before the first block; each block halves them
	Upsampling  []int `json:"upsampling_ratios"` // of the steps before the blocks
	BlockStride []int `json:"upsample_rates"`    // of the blocks
}

// ParseConfig reads speech_tokenizer/config.json and checks it. The error names the first value that the decoder cannot work
// with, and what it allows.
func ParseConfig(data []byte) (Config, error) {
	c := Config{Decoder: DecoderConfig{SemanticGroups: 1}}
	if err := plainjson.Decode(data, &c); err != nil {
		return c, fmt.Errorf("codec: config: %w", err)
	}
	if err := c.validate(); err != nil {
		return c, fmt.Errorf("codec: config: %w", err)
	}
	return c, nil
}

// validate checks a config and fills in what may be left out.
func (c *Config) validate() error {
	if c.ModelType != modelType {
		return fmt.Errorf("model_type is %q, only %q is known", c.ModelType, modelType)
	}
	if err := between("output_sample_rate", c.SampleRate, minRate, maxRate); err != nil {
		return err
	}
	d := &c.Decoder
	if err := d.validate(); err != nil {
		return fmt.Errorf("decoder_config: %w", err)
	}
	hop := 1
	for _, r := range append(append([]int{}, d.Upsampling...), d.BlockStride...) {
		if hop *= r; hop > maxHop {
			return fmt.Errorf("decoder_config: upsampling_ratios %v and upsample_rates %v make more than %d samples of a frame",
				d.Upsampling, d.BlockStride, maxHop)
		}
	}
	if c.Hop == 0 {
		c.Hop = hop
	}
	if c.Hop != hop {
		return fmt.Errorf("decode_upsample_rate is %d, but upsampling_ratios %v and upsample_rates %v make %d",
			c.Hop, d.Upsampling, d.BlockStride, hop)
	}
	return nil
}

func (d *DecoderConfig) validate() error {
	if d.HeadDim == 0 && d.Heads > 0 {
		d.HeadDim = d.Hidden / d.Heads
	}
	for _, f := range []struct {
		name             string
		value, low, high int
	}{
		{"num_quantizers", d.Groups, 2, maxGroups},
		{"num_semantic_quantizers", d.SemanticGroups, 1, 1},
		{"codebook_size", d.Bins, 1, maxSize},
		{"codebook_dim", d.CodebookDim, 1, maxSize},
		{"latent_dim", d.Latent, 1, maxSize},
		{"sliding_window", d.Window, 1, maxWindow},
		{"decoder_dim", d.Width, 1, maxSize},
		{"length of upsampling_ratios", len(d.Upsampling), 0, maxRates},
		{"length of upsample_rates", len(d.BlockStride), 1, maxRates},
	} {
		if err := between(f.name, f.value, f.low, f.high); err != nil {
			return err
		}
	}
	for _, r := range d.Upsampling {
		if err := between("upsampling_ratios", r, 1, maxHop); err != nil {
			return err
		}
	}
	for _, r := range d.BlockStride {
		if err := between("upsample_rates", r, 1, maxHop); err != nil {
			return err
		}
	}
	switch {
	case d.Width>>len(d.BlockStride) == 0:
		return fmt.Errorf("decoder_dim is %d, too small to be halved by each of %d upsample_rates", d.Width, len(d.BlockStride))
	case d.Activation != "silu":
		return fmt.Errorf("hidden_act is %q, only \"silu\" is known", d.Activation)
	case d.AttentionBias:
		return fmt.Errorf("attention_bias is true, only false is known")
	}
	switches := nn.Switches{RopeScaling: d.RopeScaling, Rope: d.Rope, Quantization: d.Quantization}
	if err := switches.Validate(); err != nil {
		return err
	}
	var err error
	if d.RopeTheta, err = d.Rope.Resolve(d.RopeTheta); err != nil {
		return err
	}
	return d.stack().Validate()
}

// stack describes the transformer.
func (d *DecoderConfig) stack() nn.StackConfig {
	return nn.StackConfig{
		Layers: d.Layers, Hidden: d.Hidden, Heads: d.Heads, KVHeads: d.KVHeads, HeadDim: d.HeadDim, FFN: d.FFN,
		Eps: d.Eps, Theta: d.RopeTheta, Window: d.Window, LayerScale: true,
	}
}

func between(name string, value, low, high int) error {
	if value < low || value > high {
		return fmt.Errorf("%s is %d, allowed are %d to %d", name, value, low, high)
	}
	return nil
}
