package nn

import (
	"encoding/json"
	"fmt"
)

// Switches are fields of a stack's config that change what it computes, and that no
// published checkpoint sets. A checkpoint that does is refused rather than run wrong.
type Switches struct {
	AttentionBias bool            `json:"attention_bias"`
	SlidingWindow bool            `json:"use_sliding_window"`
	LayerTypes    []string        `json:"layer_types"`
	Rotary        *float64        `json:"partial_rotary_factor"` // nil or 1 is the whole head
	RopeScaling   *RopeScaling    `json:"rope_scaling"`
	Rope          *RopeParameters `json:"rope_parameters"`
	Tied          bool            `json:"tie_word_embeddings"`
	Quantization  json.RawMessage `json:"quantization_config"`
}

// RopeScaling is rope_scaling of a config. Its sections say how three equal position
// axes share the frequencies, which has no effect.
type RopeScaling struct {
	RopeType string `json:"rope_type"`
	Type     string `json:"type"`
}

// RopeParameters is the newer field that stands for rope_theta and rope_scaling
// together, and may have one object for each type of layer.
type RopeParameters struct {
	RopeScaling
	Theta  float64         `json:"rope_theta"`
	Rotary *float64        `json:"partial_rotary_factor"`
	Full   *RopeParameters `json:"full_attention"`
}

// fullAttention is the only type of layer.
const fullAttention = "full_attention"

// Validate names the first switch that is set.
func (s Switches) Validate() error {
	switch {
	case s.AttentionBias:
		return fmt.Errorf("attention_bias is true, only false is known")
	case s.SlidingWindow:
		return fmt.Errorf("use_sliding_window is true, only false is known")
	case s.Tied:
		return fmt.Errorf("tie_word_embeddings is true, only false is known")
	}
	for i, kind := range s.LayerTypes {
		if kind != fullAttention {
			return fmt.Errorf("layer_types has %q for layer %d, only %q is known", kind, i, fullAttention)
		}
	}
	if err := wholeHead("partial_rotary_factor", s.Rotary); err != nil {
		return err
	}
	if s.RopeScaling != nil {
		if err := s.RopeScaling.validate("rope_scaling"); err != nil {
			return err
		}
	}
	if s.Rope != nil {
		if err := s.Rope.validate("rope_parameters"); err != nil {
			return err
		}
	}
	return Unquantized(s.Quantization)
}

func (s RopeScaling) validate(field string) error {
	for _, kind := range []string{s.RopeType, s.Type} {
		if kind != "" && kind != "default" {
			return fmt.Errorf("%s is of type %q, only \"default\" is known", field, kind)
		}
	}
	return nil
}

func (r *RopeParameters) validate(field string) error {
	if err := r.RopeScaling.validate(field); err != nil {
		return err
	}
	if err := wholeHead(field+".partial_rotary_factor", r.Rotary); err != nil {
		return err
	}
	if r.Full != nil {
		return r.Full.validate(field + "." + fullAttention)
	}
	return nil
}

// Resolve returns the base of the rotary angles: theta, which is rope_theta of the same
// config, or if that is 0 the parameters' own. It is 0 if neither has one, and an error if
// they differ. The parameters may be nil.
func (r *RopeParameters) Resolve(theta float64) (float64, error) {
	for field := "rope_parameters"; r != nil; r, field = r.Full, field+"."+fullAttention {
		switch {
		case theta == 0:
			theta = r.Theta
		case r.Theta != 0 && r.Theta != theta:
			return theta, fmt.Errorf("rope_theta is %g, but %g in %s", theta, r.Theta, field)
		}
	}
	return theta, nil
}

func wholeHead(field string, factor *float64) error {
	if factor != nil && *factor != 1 {
		return fmt.Errorf("%s is %g, only 1 is known", field, *factor)
	}
	return nil
}

// Unquantized refuses the quantization_config of checkpoints whose weights were packed
// by others, which is in config.json or one of its parts.
func Unquantized(field json.RawMessage) error {
	if len(field) == 0 || string(field) == "null" {
		return nil
	}
	return fmt.Errorf("quantization_config is there, wanted a checkpoint of float weights: mynah packs them itself")
}
