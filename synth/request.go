package synth

import (
	"fmt"
	"math"
	"strconv"
	"time"

	"github.com/mynah-tts/mynah/sampler"
)

// Layout is how text is fed to the talker.
type Layout string

// The layouts. The default is that of the reference: whole text for preset and
// designed voices, streaming for cloned ones.
const (
	LayoutDefault   Layout = ""
	LayoutStreaming Layout = "streaming" // one text token a frame
	LayoutWhole     Layout = "whole"     // all text before the first frame
)

// Request is one utterance. Only Text is always needed.
type Request struct {
	Text     string
	Voice    string // a preset speaker, in any case; "" takes the model's default
	Language string // in any case, or its ISO 639-1 code ("en"); "" and "auto" take the checkpoint's only one, or leave it to the model
	Instruct string // how to speak, for checkpoints that take instructions
	Layout   Layout

	// Reference is the voice to speak in, for Base checkpoints.
	Reference *Reference

	// Seed starts the request's noise: equal seeds give equal audio. Nil or -1
	// choose one at random; Start reports which.
	Seed *int64

	// MaxFrames bounds the utterance, 80 ms a frame; 0 takes the checkpoint's
	// bound, for each segment. The text's length bounds it as well: see FrameBound.
	MaxFrames int

	// SegmentRunes is how many characters a part of a long text has at least before it is
	// cut behind a sentence: each such segment is spoken by itself, in the same voice, with
	// noise of its own. Without sentences it is cut at 1.5 times as many (of 300, if that is
	// more) behind a clause, at 2 at white space, at 2.5 anywhere. 1 cuts behind every sentence,
	// -1 cuts nowhere, 0 takes the checkpoint's own limits: segment_characters (300) and
	// clause_characters (450) of its generation_config.json.
	SegmentRunes int

	// Gap is the silence between segments, rounded to whole samples; 10 s at most.
	Gap time.Duration

	Sampling Sampling
}

// Sampling overrides the checkpoint's generation_config.json, value by value.
// Names and meanings are the same there. A temperature of 0 chooses greedily; for
// both models, if the predictor has no temperature of its own.
type Sampling struct {
	Temperature       *float64
	TopK              *int
	TopP              *float64
	RepetitionPenalty *float64

	SubTemperature *float64 // subtalker_temperature: the predictor's
	SubTopK        *int
	SubTopP        *float64
}

// RequestError says what is wrong with a request: the parameter by its name in the
// APIs, and one sentence with the value and what is allowed.
type RequestError struct {
	Param   string
	Message string
}

func (e *RequestError) Error() string { return e.Param + ": " + e.Message }

func requestErrorf(param, format string, args ...any) error {
	return &RequestError{Param: param, Message: fmt.Sprintf(format, args...)}
}

// A text token seldom takes a second of speech. An utterance that goes on beyond
// this many frames for its text has lost its end and is cut: finish reason length.
const (
	boundFrames         = 40
	boundFramesPerToken = 12
)

// FrameBound is the most frames that a text of so many tokens may take, given the
// largest number asked for.
func FrameBound(maxFrames, textTokens int) int {
	return min(maxFrames, boundFrames+boundFramesPerToken*textTokens)
}

// apply merges the overrides into a checkpoint's defaults and checks the result.
func (s Sampling) apply(d defaults) (talker, residual sampler.Params, err error) {
	talker, residual = d.talker, d.residual
	for _, f := range []struct {
		param string
		to    *float32
		from  *float64
	}{
		{"temperature", &talker.Temperature, s.Temperature}, {"top_p", &talker.TopP, s.TopP},
		{"repetition_penalty", &talker.RepetitionPenalty, s.RepetitionPenalty},
		{subPrefix + "temperature", &residual.Temperature, s.SubTemperature}, {subPrefix + "top_p", &residual.TopP, s.SubTopP},
	} {
		if err := set(f.to, f.from, f.param); err != nil {
			return talker, residual, err
		}
	}
	if s.Temperature != nil {
		talker.DoSample = *s.Temperature != 0
		residual.DoSample = residual.DoSample && talker.DoSample
	}
	if s.SubTemperature != nil {
		residual.DoSample = *s.SubTemperature != 0
	}
	talker.TopK, residual.TopK = or(s.TopK, talker.TopK), or(s.SubTopK, residual.TopK)
	if err := talker.Validate(""); err != nil {
		return talker, residual, rangeError(err)
	}
	return talker, residual, rangeError(residual.Validate(subPrefix))
}

// set takes an override that is given. What would turn into 0 or infinity as a
// float32 is refused as it was written.
func set(to *float32, from *float64, param string) error {
	if from == nil {
		return nil
	}
	if size := math.Abs(*from); size > math.MaxFloat32 || size != 0 && size < smallestValue {
		zero := "0 and "
		if param == "repetition_penalty" {
			zero = ""
		}
		return requestErrorf(param, "%g, allowed are %ssizes from %g to %g", *from, zero, smallestValue, float32(math.MaxFloat32))
	}
	*to = float32(*from)
	return nil
}

// smallestValue is the smallest size of a sampling value other than 0: smaller ones
// would turn logits into infinities.
const smallestValue = 1e-6

// rangeError turns the sampler's refusal into the request's.
func rangeError(err error) error {
	if r, ok := err.(*sampler.RangeError); ok {
		return requestErrorf(r.Param, "%s, allowed is %s", r.Value, r.Allowed)
	}
	return err
}

// seed returns the request's seed, chosen at random if it has none.
func (r *Request) seed(random func() int64) (int64, error) {
	switch {
	case r.Seed == nil || *r.Seed == -1:
		return random(), nil
	case *r.Seed < 0:
		return 0, requestErrorf("seed", "%s, allowed is -1 for a random one or 0 and up", strconv.FormatInt(*r.Seed, 10))
	}
	return *r.Seed, nil
}
