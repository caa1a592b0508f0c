package synth

import (
	"context"
	"errors"
	"strings"
	"testing"
)

// TestRequestErrors checks that a request is refused by the name of its parameter,
// with the value and what is allowed.
func TestRequestErrors(t *testing.T) {
	custom, design, base := tiny(t, CustomVoice, 1), tiny(t, VoiceDesign, 1), tiny(t, Base, 1)
	vector := make([]float32, base.cfg.Talker.Hidden)
	frame := make([]int32, base.cfg.Talker.Groups)
	bad := append([]int32(nil), frame...)
	bad[1] = -1
	high := append([]int32(nil), frame...)
	high[0] = int32(base.cfg.Talker.Vocab)
	for name, c := range map[string]struct {
		m     *Model
		r     Request
		param string
		want  string
	}{
		"empty":              {custom, Request{}, "input", "nothing to say"},
		"blank":              {custom, Request{Text: " \n\t "}, "input", "nothing to say"},
		"dots":               {custom, Request{Text: "…"}, "input", "nothing to say"},
		"emoji":              {custom, Request{Text: "😄"}, "input", "nothing to say"},
		"not UTF-8":          {custom, Request{Text: "a\xff"}, "input", "UTF-8"},
		"NUL":                {custom, Request{Text: "a\x00b"}, "input", "NUL"},
		"too long":           {custom, Request{Text: strings.Repeat("a", MaxTextRunes+1)}, "input", "10000"},
		"unknown voice":      {custom, Request{Text: "a", Voice: "nobody"}, "voice", "nobody"},
		"unknown language":   {custom, Request{Text: "a", Language: "klingon"}, "language", "klingon"},
		"dialect":            {custom, Request{Text: "a", Language: "sichuan_dialect"}, "language", "sichuan_dialect"},
		"layout":             {custom, Request{Text: "a", Layout: "other"}, "layout", "streaming"},
		"seed":               {custom, Request{Text: "a", Seed: new(int64(-2))}, "seed", "-2"},
		"max frames":         {custom, Request{Text: "a", MaxFrames: -1}, "max_frames", "-1"},
		"temperature":        {custom, Request{Text: "a", Sampling: Sampling{Temperature: new(-0.1)}}, "temperature", "-0.1"},
		"top k":              {custom, Request{Text: "a", Sampling: Sampling{TopK: new(-1)}}, "top_k", "-1"},
		"top p":              {custom, Request{Text: "a", Sampling: Sampling{TopP: new(1.5)}}, "top_p", "1.5"},
		"penalty":            {custom, Request{Text: "a", Sampling: Sampling{RepetitionPenalty: new(0.0)}}, "repetition_penalty", "0"},
		"residual top p":     {custom, Request{Text: "a", Sampling: Sampling{SubTopP: new(-1.0)}}, "subtalker_top_p", "-1"},
		"instruct on 0b6":    {custom, Request{Text: "a", Instruct: "gently"}, "instructions", "0b6"},
		"instruct on base":   {base, Request{Text: "a", Instruct: "gently", Reference: &Reference{XVector: vector}}, "instructions", "voice_design or custom_voice checkpoint, this is base"},
		"reference on it":    {custom, Request{Text: "a", Reference: &Reference{}}, "reference", "custom_voice"},
		"preset on design":   {design, Request{Text: "a", Voice: "ryan"}, "voice", "voice_design"},
		"preset on base":     {base, Request{Text: "a", Voice: "ryan"}, "voice", "base"},
		"no reference":       {base, Request{Text: "a"}, "voice", "base"},
		"short vector":       {base, Request{Text: "a", Reference: &Reference{XVector: vector[1:]}}, "reference", "x_vector"},
		"codes without text": {base, Request{Text: "a", Reference: &Reference{XVector: vector, Codes: [][]int32{frame}}}, "reference", "transcript"},
		"text without codes": {base, Request{Text: "a", Reference: &Reference{XVector: vector, Text: "b"}}, "reference", "codes"},
		"short frame":        {base, Request{Text: "a", Reference: &Reference{XVector: vector, Text: "b", Codes: [][]int32{frame[1:]}}}, "reference", "frame 0"},
		"negative code":      {base, Request{Text: "a", Reference: &Reference{XVector: vector, Text: "b", Codes: [][]int32{frame, bad}}}, "reference", "frame 1: code 1 is -1"},
		"control code":       {base, Request{Text: "a", Reference: &Reference{XVector: vector, Text: "b", Codes: [][]int32{high}}}, "reference", "frame 0: code 0"},
	} {
		_, err := c.m.Speak(context.Background(), c.r)
		var request *RequestError
		switch {
		case !errors.As(err, &request):
			t.Errorf("%s: error %v is no RequestError", name, err)
		case request.Param != c.param || !strings.Contains(err.Error(), c.want):
			t.Errorf("%s: %q, wanted parameter %s and %q", name, err, c.param, c.want)
		case strings.Contains(err.Error(), "\n"):
			t.Errorf("%s: more than a line: %q", name, err)
		}
	}
}

// TestSamplingOverrides checks how a request's values and the checkpoint's combine.
func TestSamplingOverrides(t *testing.T) {
	sampled := defaults{}
	sampled.talker.DoSample, sampled.residual.DoSample = true, true
	sampled.talker.Temperature, sampled.residual.Temperature = 0.9, 0.9
	sampled.talker.TopP, sampled.residual.TopP = 1, 1
	sampled.talker.RepetitionPenalty, sampled.residual.RepetitionPenalty = 1.05, 1
	greedy := sampled
	greedy.talker.DoSample, greedy.residual.DoSample = false, false
	for name, c := range map[string]struct {
		d                defaults
		s                Sampling
		talker, residual bool // greedy?
	}{
		"defaults":              {sampled, Sampling{}, false, false},
		"zero is greedy twice":  {sampled, Sampling{Temperature: new(0.0)}, true, true},
		"predictor on its own":  {sampled, Sampling{Temperature: new(0.0), SubTemperature: new(0.5)}, true, false},
		"predictor greedy":      {sampled, Sampling{SubTemperature: new(0.0)}, false, true},
		"greedy checkpoint":     {greedy, Sampling{}, true, true},
		"temperature samples":   {greedy, Sampling{Temperature: new(0.5)}, false, true},
		"both temperatures":     {greedy, Sampling{Temperature: new(0.5), SubTemperature: new(0.5)}, false, false},
		"top k does not sample": {greedy, Sampling{TopK: new(5)}, true, true},
	} {
		talker, residual, err := c.s.apply(c.d)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if talker.Greedy() != c.talker || residual.Greedy() != c.residual {
			t.Errorf("%s: greedy is %v and %v, wanted %v and %v", name, talker.Greedy(), residual.Greedy(), c.talker, c.residual)
		}
	}
}
