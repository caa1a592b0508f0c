package nn

import "fmt"

// Switches are fields of a stack's config that change what it computes, and that no
// published checkpoint sets. A checkpoint that does is refused rather than run wrong.
type Switches struct {
	AttentionBias bool         `json:"attention_bias"`
	SlidingWindow bool         `json:"use_sliding_window"`
	RopeScaling   *RopeScaling `json:"rope_scaling"`
}

// RopeScaling is rope_scaling of a config. Its sections say how three equal position
// axes share the frequencies, which has no effect.
type RopeScaling struct {
	RopeType string `json:"rope_type"`
	Type     string `json:"type"`
}

// Validate names the first switch that is set.
func (s Switches) Validate() error {
	if s.AttentionBias {
		return fmt.Errorf("attention_bias is true, only false is known")
	}
	if s.SlidingWindow {
		return fmt.Errorf("use_sliding_window is true, only false is known")
	}
	if s.RopeScaling == nil {
		return nil
	}
	for _, kind := range []string{s.RopeScaling.RopeType, s.RopeScaling.Type} {
		if kind != "" && kind != "default" {
			return fmt.Errorf("rope_scaling is of type %q, only \"default\" is known", kind)
		}
	}
	return nil
}
