package synth

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/mynah-tts/mynah/sampler"
)

// generationConfig is generation_config.json. A field that is absent there keeps
// the reference implementation's built-in default.
type generationConfig struct {
	DoSample          *bool    `json:"do_sample"`
	Temperature       *float64 `json:"temperature"`
	TopK              *int     `json:"top_k"`
	TopP              *float64 `json:"top_p"`
	RepetitionPenalty *float64 `json:"repetition_penalty"`

	SubDoSample    *bool    `json:"subtalker_dosample"`
	SubTemperature *float64 `json:"subtalker_temperature"`
	SubTopK        *int     `json:"subtalker_top_k"`
	SubTopP        *float64 `json:"subtalker_top_p"`

	MaxNewTokens *int `json:"max_new_tokens"`
}

// The reference's built-in defaults.
const (
	defaultTemperature       = 0.9
	defaultTopK              = 50
	defaultTopP              = 1.0
	defaultRepetitionPenalty = 1.05
	defaultMaxFrames         = 2048
)

// defaults are the values of a checkpoint that a request may override.
type defaults struct {
	talker, residual sampler.Params
	maxFrames        int
}

func readDefaults(fsys fs.FS) (defaults, error) {
	var g generationConfig
	if err := readJSON(fsys, "generation_config.json", &g); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return defaults{}, err
	}
	d := defaults{
		talker: sampler.Params{
			DoSample: or(g.DoSample, true), Temperature: float32(or(g.Temperature, defaultTemperature)), TopK: or(g.TopK, defaultTopK),
			TopP: float32(or(g.TopP, defaultTopP)), RepetitionPenalty: float32(or(g.RepetitionPenalty, defaultRepetitionPenalty)),
		},
		residual: sampler.Params{
			DoSample: or(g.SubDoSample, true), Temperature: float32(or(g.SubTemperature, defaultTemperature)), TopK: or(g.SubTopK, defaultTopK),
			TopP: float32(or(g.SubTopP, defaultTopP)), RepetitionPenalty: 1,
		},
		maxFrames: or(g.MaxNewTokens, defaultMaxFrames),
	}
	return d, d.validate()
}

func (d defaults) validate() error {
	if err := d.talker.Validate(""); err != nil {
		return fmt.Errorf("generation_config.json: %w", err)
	}
	if err := d.residual.Validate(subPrefix); err != nil {
		return fmt.Errorf("generation_config.json: %w", err)
	}
	if d.maxFrames < 1 {
		return fmt.Errorf("generation_config.json: max_new_tokens is %d, allowed are 1 and up", d.maxFrames)
	}
	return nil
}

// subPrefix is how names of the predictor's parameters begin.
const subPrefix = "subtalker_"

func or[T any](p *T, otherwise T) T {
	if p != nil {
		return *p
	}
	return otherwise
}
