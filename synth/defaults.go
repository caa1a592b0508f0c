package synth

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/mynah-tts/mynah/internal/text"
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

	// Keys of ours: how text is cut for a voice that does best with less than the usual
	// segments. The first is what Request.SegmentRunes is, the second after how many
	// characters a segment ends behind a clause.
	SegmentCharacters *int `json:"segment_characters"`
	ClauseCharacters  *int `json:"clause_characters"`

	// And how loud its codec is made, and how its utterances begin.
	GainDB   *float64 `json:"gain_db"`
	FadeInMS *float64 `json:"fade_in_ms"`
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
	limits           text.Limits // of segments
	shape            shape
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
		limits:    segmentLimits(or(g.SegmentCharacters, text.DefaultSentence)),
	}
	if g.ClauseCharacters != nil {
		d.limits.Clause = *g.ClauseCharacters
	}
	if d.limits.Sentence < 1 {
		return d, fmt.Errorf("generation_config.json: segment_characters is %d, allowed are 1 and up", *g.SegmentCharacters)
	}
	if d.limits.Clause < 1 {
		return d, fmt.Errorf("generation_config.json: clause_characters is %d, allowed are 1 and up", *g.ClauseCharacters)
	}
	var err error
	if d.shape, err = readShape(or(g.GainDB, 0), or(g.FadeInMS, 0)); err != nil {
		return d, err
	}
	return d, d.validate()
}

// segmentLimits returns the limits of segments that end at the first sentence end behind so
// many characters. They are cut elsewhere as they are by default, or later if that is more;
// with a number below 1 nowhere.
func segmentLimits(characters int) text.Limits {
	if characters < 1 {
		return text.Limits{Sentence: characters}
	}
	l := text.LimitsFor(max(characters, text.DefaultSentence))
	l.Sentence = characters
	return l
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
