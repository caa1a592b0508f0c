package sampler

import (
	"errors"
	"math"
	"testing"
)

// usual are the values of published checkpoints.
var usual = Params{DoSample: true, Temperature: 0.9, TopK: 50, TopP: 1, RepetitionPenalty: 1.05}

func TestValidate(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	tests := []struct {
		name   string
		change func(*Params)
		param  string // refused by this name; empty means allowed
	}{
		{"usual", func(p *Params) {}, ""},
		{"temperature 0", func(p *Params) { p.Temperature = 0 }, ""},
		{"temperature -0", func(p *Params) { p.Temperature = float32(math.Copysign(0, -1)) }, ""},
		{"temperature smallest", func(p *Params) { p.Temperature = math.SmallestNonzeroFloat32 }, ""},
		{"temperature largest", func(p *Params) { p.Temperature = math.MaxFloat32 }, ""},
		{"temperature below 0", func(p *Params) { p.Temperature = -0.5 }, "temperature"},
		{"temperature NaN", func(p *Params) { p.Temperature = nan }, "temperature"},
		{"temperature +Inf", func(p *Params) { p.Temperature = inf }, "temperature"},
		{"temperature -Inf", func(p *Params) { p.Temperature = -inf }, "temperature"},
		{"top_k 0", func(p *Params) { p.TopK = 0 }, ""},
		{"top_k 1", func(p *Params) { p.TopK = 1 }, ""},
		{"top_k largest", func(p *Params) { p.TopK = math.MaxInt }, ""},
		{"top_k -1", func(p *Params) { p.TopK = -1 }, "top_k"},
		{"top_k smallest", func(p *Params) { p.TopK = math.MinInt }, "top_k"},
		{"top_p 0", func(p *Params) { p.TopP = 0 }, ""},
		{"top_p smallest", func(p *Params) { p.TopP = math.SmallestNonzeroFloat32 }, ""},
		{"top_p 1", func(p *Params) { p.TopP = 1 }, ""},
		{"top_p just above 1", func(p *Params) { p.TopP = math.Nextafter32(1, 2) }, "top_p"},
		{"top_p below 0", func(p *Params) { p.TopP = -math.SmallestNonzeroFloat32 }, "top_p"},
		{"top_p NaN", func(p *Params) { p.TopP = nan }, "top_p"},
		{"top_p +Inf", func(p *Params) { p.TopP = inf }, "top_p"},
		{"penalty below 1", func(p *Params) { p.RepetitionPenalty = 0.8 }, ""},
		{"penalty smallest", func(p *Params) { p.RepetitionPenalty = math.SmallestNonzeroFloat32 }, ""},
		{"penalty largest", func(p *Params) { p.RepetitionPenalty = math.MaxFloat32 }, ""},
		{"penalty 0", func(p *Params) { p.RepetitionPenalty = 0 }, "repetition_penalty"},
		{"penalty below 0", func(p *Params) { p.RepetitionPenalty = -1 }, "repetition_penalty"},
		{"penalty NaN", func(p *Params) { p.RepetitionPenalty = nan }, "repetition_penalty"},
		{"penalty +Inf", func(p *Params) { p.RepetitionPenalty = inf }, "repetition_penalty"},
	}
	for _, test := range tests {
		for _, prefix := range []string{"", "subtalker_"} {
			for _, sample := range []bool{true, false} {
				p := usual
				p.DoSample = sample
				test.change(&p)
				err := p.Validate(prefix)
				if test.param == "" {
					if err != nil {
						t.Errorf("%s: %v, wanted no error", test.name, err)
					}
					continue
				}
				var ranged *RangeError
				if !errors.As(err, &ranged) || ranged.Param != prefix+test.param || ranged.Value == "" || ranged.Allowed == "" {
					t.Errorf("%s: error %v, wanted a RangeError that names %s", test.name, err, prefix+test.param)
				}
			}
		}
	}
}

func TestRangeErrorText(t *testing.T) {
	p := usual
	p.TopP = 1.5
	const want = "subtalker_top_p is 1.5, allowed is 0 to 1 (off)"
	if err := p.Validate("subtalker_"); err == nil || err.Error() != want {
		t.Errorf("error %q, wanted %q", err, want)
	}
}

func TestDroppedMassIsThatOfTheWrittenNumber(t *testing.T) {
	for written := range 1000 {
		top := float64(written) / 1000
		if got, want := (Params{TopP: float32(top)}).dropped(), float32(1-top); got != want {
			t.Errorf("top_p %v drops %v, wanted %v", top, got, want)
		}
	}
}
