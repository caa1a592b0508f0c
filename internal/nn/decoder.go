package nn

import "fmt"

// DecoderConfig is the part of a checkpoint's config.json that talker and predictor
// share: a stack of decoder layers in the Qwen3 style.
type DecoderConfig struct {
	Hidden     int     `json:"hidden_size"`
	Layers     int     `json:"num_hidden_layers"`
	Heads      int     `json:"num_attention_heads"`
	KVHeads    int     `json:"num_key_value_heads"`
	HeadDim    int     `json:"head_dim"` // hidden_size / num_attention_heads when absent
	FFN        int     `json:"intermediate_size"`
	Eps        float32 `json:"rms_norm_eps"`
	RopeTheta  float64 `json:"rope_theta"`
	Activation string  `json:"hidden_act"`

	Switches
}

// Validate fills in what may be left out and names the first value that cannot be.
func (c *DecoderConfig) Validate() error {
	if c.HeadDim == 0 && c.Heads > 0 {
		c.HeadDim = c.Hidden / c.Heads
	}
	var err error
	if c.RopeTheta, err = c.Rope.Resolve(c.RopeTheta); err != nil {
		return err
	}
	if err := c.Stack().Validate(); err != nil {
		return err
	}
	if c.Activation != "silu" {
		return fmt.Errorf("hidden_act is %q, only \"silu\" is known", c.Activation)
	}
	return c.Switches.Validate()
}

// Stack describes the layers.
func (c *DecoderConfig) Stack() StackConfig {
	return StackConfig{
		Layers: c.Layers, Hidden: c.Hidden, Heads: c.Heads, KVHeads: c.KVHeads, HeadDim: c.HeadDim,
		FFN: c.FFN, Eps: c.Eps, Theta: c.RopeTheta, QKNorm: true,
	}
}
