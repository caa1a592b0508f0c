package encoder

import (
	"encoding/json"
	"fmt"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/plainjson"
)

// Bounds of what a config may ask for. The sizes of tensors are bounded by the file that holds them; these bound what is
// allocated beyond that.
const (
	maxSize      = 1 << 20 // any width, so that products stay far from overflow
	maxWidth     = 1 << 14 // channels of the last level, for each of which a chunk has a few rows
	maxGroups    = 64      // codes in a frame
	maxRatios    = 8       // levels
	maxHop       = 1 << 16 // samples of a frame
	maxPositions = 1 << 18 // rows of the transformer; the published checkpoints have 8,000, which is 320 s
	minRate      = 8_000   // Hz
	maxRate      = 768_000 // Hz
)

// modelType is what config.json of this tokenizer calls itself. The 25 Hz tokenizer of the same family is another network.
const modelType = "qwen3_tts_tokenizer_12hz"

// downStride is the stride between transformer and quantizer. No config holds it; the kernel is twice as long.
const downStride = 2

// Config is speech_tokenizer/config.json, as far as the encoder needs it.
type Config struct {
	ModelType  string        `json:"model_type"`
	SampleRate int           `json:"input_sample_rate"`            // Hz
	Hop        int           `json:"encode_downsample_rate"`       // samples of a frame; the product of all strides when absent
	Groups     int           `json:"encoder_valid_num_quantizers"` // codes in a frame, of the codebooks that are stored
	Encoder    EncoderConfig `json:"encoder_config"`
}

// EncoderConfig is encoder_config of the same file. Fields that it leaves out have the values of published checkpoints where only
// those are known.
type EncoderConfig struct {
	SamplingRate   int    `json:"sampling_rate"` // Hz; the same again
	Channels       int    `json:"audio_channels"`
	Filters        int    `json:"num_filters"`          // channels of the first convolution; each level doubles them
	Ratios         []int  `json:"upsampling_ratios"`    // strides of the levels, last level first
	Kernel         int    `json:"kernel_size"`          // of the first convolution
	LastKernel     int    `json:"last_kernel_size"`     // of the one before the transformer
	ResidualKernel int    `json:"residual_kernel_size"` // of residual units
	ResidualLayers int    `json:"num_residual_layers"`  // residual units of a level; only 1 is known
	Compress       int    `json:"compress"`             // by which a residual unit narrows its channels
	PadMode        string `json:"pad_mode"`             // only "constant" is known
	Causal         bool   `json:"use_causal_conv"`      // only true is known
	Shortcut       bool   `json:"use_conv_shortcut"`    // only false is known

	Hidden     int     `json:"hidden_size"`
	Layers     int     `json:"num_hidden_layers"`
	Heads      int     `json:"num_attention_heads"`
	KVHeads    int     `json:"num_key_value_heads"` // num_attention_heads when absent
	HeadDim    int     `json:"head_dim"`            // hidden_size / num_attention_heads when absent
	FFN        int     `json:"intermediate_size"`
	Eps        float64 `json:"norm_eps"`
	RopeTheta  float64 `json:"rope_theta"`
	Positions  int     `json:"max_position_embeddings"` // bounds the length of a clip
	Activation string  `json:"hidden_act"`              // only "gelu" is known, its exact form

	// The reference ignores sliding_window here: every row sees all before it.
	AttentionBias bool               `json:"attention_bias"`
	RopeScaling   *nn.RopeScaling    `json:"rope_scaling"`
	Rope          *nn.RopeParameters `json:"rope_parameters"`
	Quantization  json.RawMessage    `json:"quantization_config"`

	Books         int `json:"num_quantizers"`          // codebooks stored, of which Groups are used
	SemanticBooks int `json:"num_semantic_quantizers"` // the first of them; only 1 is known
	Bins          int `json:"codebook_size"`           // entries of every codebook
	EntryDim      int `json:"codebook_dim"`            // of an entry
	SearchDim     int `json:"vector_quantization_hidden_dimension"`
}

// ParseConfig reads speech_tokenizer/config.json and checks it. The error names the first value that the encoder cannot work
// with, and what it allows.
func ParseConfig(data []byte) (Config, error) {
	c := Config{Encoder: EncoderConfig{
		Channels: 1, Kernel: 7, LastKernel: 3, ResidualKernel: 3, ResidualLayers: 1, Compress: 2, PadMode: "constant", Causal: true,
		Activation: "gelu", Positions: 8000, SemanticBooks: 1,
	}}
	if err := plainjson.Decode(data, &c); err != nil {
		return c, fmt.Errorf("codec/encoder: config: %w", err)
	}
	if err := c.validate(); err != nil {
		return c, fmt.Errorf("codec/encoder: config: %w", err)
	}
	return c, nil
}

// validate checks a config and fills in what may be left out.
func (c *Config) validate() error {
	if c.ModelType != modelType {
		return fmt.Errorf("model_type is %q, only %q is known", c.ModelType, modelType)
	}
	if err := between("input_sample_rate", c.SampleRate, minRate, maxRate); err != nil {
		return err
	}
	e := &c.Encoder
	if err := e.validate(); err != nil {
		return fmt.Errorf("encoder_config: %w", err)
	}
	if e.SamplingRate != 0 && e.SamplingRate != c.SampleRate {
		return fmt.Errorf("encoder_config: sampling_rate is %d, but input_sample_rate is %d", e.SamplingRate, c.SampleRate)
	}
	if err := between("encoder_valid_num_quantizers", c.Groups, 2, min(maxGroups, e.Books)); err != nil {
		return err
	}
	hop := e.stride() * downStride
	if c.Hop == 0 {
		c.Hop = hop
	}
	if c.Hop != hop {
		return fmt.Errorf("encode_downsample_rate is %d, but upsampling_ratios %v and the last stride of %d make %d",
			c.Hop, e.Ratios, downStride, hop)
	}
	return nil
}

func (e *EncoderConfig) validate() error {
	if e.KVHeads == 0 {
		e.KVHeads = e.Heads
	}
	if e.HeadDim == 0 && e.Heads > 0 {
		e.HeadDim = e.Hidden / e.Heads
	}
	for _, f := range []struct {
		name             string
		value, low, high int
	}{
		{"audio_channels", e.Channels, 1, 1},
		{"num_filters", e.Filters, 1, maxWidth},
		{"length of upsampling_ratios", len(e.Ratios), 1, maxRatios},
		{"kernel_size", e.Kernel, 1, maxHop},
		{"last_kernel_size", e.LastKernel, 1, maxHop},
		{"residual_kernel_size", e.ResidualKernel, 1, maxHop},
		{"num_residual_layers", e.ResidualLayers, 1, 1},
		{"compress", e.Compress, 1, e.Filters},
		{"hidden_size", e.Hidden, 1, maxSize},
		{"num_hidden_layers", e.Layers, 1, maxSize},
		{"num_attention_heads", e.Heads, 1, maxSize},
		{"num_key_value_heads", e.KVHeads, 1, maxSize},
		{"head_dim", e.HeadDim, 1, maxSize},
		{"intermediate_size", e.FFN, 1, maxSize},
		{"max_position_embeddings", e.Positions, 1, maxPositions},
		{"num_quantizers", e.Books, 2, maxSize},
		{"num_semantic_quantizers", e.SemanticBooks, 1, 1},
		{"codebook_size", e.Bins, 1, maxSize},
		{"codebook_dim", e.EntryDim, 1, maxSize},
		{"vector_quantization_hidden_dimension", e.SearchDim, e.EntryDim, e.EntryDim},
	} {
		if err := between(f.name, f.value, f.low, f.high); err != nil {
			return err
		}
	}
	if err := e.validateRatios(); err != nil {
		return err
	}
	return e.validateSwitches()
}

func (e *EncoderConfig) validateRatios() error {
	hop := downStride
	for _, r := range e.Ratios {
		if err := between("upsampling_ratios", r, 1, maxHop); err != nil {
			return err
		}
		if hop *= r; hop > maxHop {
			return fmt.Errorf("upsampling_ratios %v make more than %d samples of a frame", e.Ratios, maxHop)
		}
	}
	if w := e.Filters << len(e.Ratios); w > maxWidth {
		return fmt.Errorf("num_filters is %d, doubled by each of %d upsampling_ratios it is more than %d", e.Filters, len(e.Ratios), maxWidth)
	}
	return nil
}

func (e *EncoderConfig) validateSwitches() (err error) {
	if e.RopeTheta, err = e.Rope.Resolve(e.RopeTheta); err != nil {
		return err
	}
	switch {
	case e.PadMode != "constant":
		return fmt.Errorf("pad_mode is %q, only \"constant\" is known", e.PadMode)
	case !e.Causal:
		return fmt.Errorf("use_causal_conv is false, only true is known")
	case e.Shortcut:
		return fmt.Errorf("use_conv_shortcut is true, only false is known")
	case e.Activation != "gelu":
		return fmt.Errorf("hidden_act is %q, only \"gelu\" is known", e.Activation)
	case e.Heads%e.KVHeads != 0:
		return fmt.Errorf("num_attention_heads (%d) must be a multiple of num_key_value_heads (%d)", e.Heads, e.KVHeads)
	case e.HeadDim%2 != 0:
		return fmt.Errorf("head_dim is %d, must be even", e.HeadDim)
	case !(e.Eps > 0):
		return fmt.Errorf("norm_eps is %g, must be positive", e.Eps)
	case !(e.RopeTheta > 1):
		return fmt.Errorf("rope_theta is %g, must be above 1", e.RopeTheta)
	}
	return nn.Switches{
		AttentionBias: e.AttentionBias, RopeScaling: e.RopeScaling, Rope: e.Rope, Quantization: e.Quantization,
	}.Validate()
}

// stride is the number of samples of a row of the transformer.
func (e *EncoderConfig) stride() int {
	n := 1
	for _, r := range e.Ratios {
		n *= r
	}
	return n
}

func between(name string, value, low, high int) error {
	if value < low || value > high {
		if low == high {
			return fmt.Errorf("%s is %d, only %d is known", name, value, low)
		}
		return fmt.Errorf("%s is %d, allowed are %d to %d", name, value, low, high)
	}
	return nil
}
