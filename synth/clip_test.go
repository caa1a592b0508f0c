package synth

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
)

// syllables is a sound like speech: bursts of a hum with overtones, four a second, the last
// one over before the end. loudness is that of the bursts.
func syllables(rate int, seconds, loudness float64) []float32 {
	x := make([]float32, int(seconds*float64(rate)))
	for i := range x {
		at := float64(i) / float64(rate)
		phase := at*4 - math.Floor(at*4)
		if phase > 0.7 || at > seconds-0.2 {
			continue
		}
		v := 0.0
		for k := 1; k <= 5; k++ {
			v += math.Sin(2*math.Pi*float64(k)*(110+15*math.Floor(at*4))*at) / float64(k)
		}
		x[i] = float32(loudness * v / 2 * math.Sin(math.Pi*phase/0.7))
	}
	return x
}

// clipOf makes one change to a clip that is as it should be.
func clipOf(change func(c *Clip)) Clip {
	c := Clip{Samples: syllables(24000, 5, 0.3), Rate: 24000}
	change(&c)
	return c
}

// TestListenRefuses: clips and transcripts that cannot be used are refused by name, with
// what is wrong.
func TestListenRefuses(t *testing.T) {
	base := tiny(t, Base, 1)
	for name, c := range map[string]struct {
		m     *Model
		clip  Clip
		param string
		want  string
	}{
		"preset checkpoint":  {tiny(t, CustomVoice, 1), clipOf(func(c *Clip) {}), "ref_audio", "base checkpoint, this is custom_voice"},
		"design checkpoint":  {tiny(t, VoiceDesign, 1), clipOf(func(c *Clip) {}), "ref_audio", "base checkpoint, this is voice_design"},
		"no samples":         {base, Clip{Rate: 24000}, "ref_audio", "0.00 s long"},
		"one sample":         {base, clipOf(func(c *Clip) { c.Samples = c.Samples[:1] }), "ref_audio", "allowed are 1 to 120 s"},
		"below a second":     {base, clipOf(func(c *Clip) { c.Samples = c.Samples[:23999] }), "ref_audio", "0.99 s long"},
		"over two minutes":   {base, clipOf(func(c *Clip) { c.Samples = make([]float32, 121*24000) }), "ref_audio", "121.00 s long"},
		"rate 0":             {base, clipOf(func(c *Clip) { c.Rate = 0 }), "ref_audio", "0 to 24000 Hz"},
		"rate below":         {base, clipOf(func(c *Clip) { c.Rate = -8000 }), "ref_audio", "-8000"},
		"rate above":         {base, clipOf(func(c *Clip) { c.Rate = 1 << 40 }), "ref_audio", "192000"},
		"digital silence":    {base, clipOf(func(c *Clip) { clear(c.Samples) }), "ref_audio", "silent"},
		"constant":           {base, clipOf(func(c *Clip) { fill(c.Samples, 0.5) }), "ref_audio", "silent"},
		"one bit of noise":   {base, clipOf(func(c *Clip) { c.Samples = syllables(24000, 2, 1.0/32768) }), "ref_audio", "dB of full scale"},
		"no sound":           {base, clipOf(func(c *Clip) { c.Samples[48000] = -8.9e37 }), "ref_audio", "sample 48000, at 2.00 s, is -8.9e+37, allowed are up to 1000 times full scale"},
		"not a number":       {base, clipOf(func(c *Clip) { c.Samples[48000] = float32(math.NaN()) }), "ref_audio", "sample 48000, at 2.00 s, is NaN"},
		"infinite":           {base, clipOf(func(c *Clip) { c.Samples[1] = float32(math.Inf(-1)) }), "ref_audio", "sample 1, at 0.00 s, is -Inf"},
		"text says nothing":  {base, clipOf(func(c *Clip) { c.Text = "…!" }), "ref_text", "wanted is what the clip says"},
		"text is not UTF-8":  {base, clipOf(func(c *Clip) { c.Text = "a\xff" }), "ref_text", "UTF-8"},
		"text beyond bounds": {base, clipOf(func(c *Clip) { c.Text = strings.Repeat("word ", MaxTextRunes) }), "ref_text", "100000"},
		"text of positions":  {base, clipOf(func(c *Clip) { c.Text = strings.Repeat("Żółć ", 19_000) }), "ref_audio", "positions"},
	} {
		_, _, err := c.m.Listen(context.Background(), c.clip)
		var request *RequestError
		switch {
		case !errors.As(err, &request):
			t.Errorf("%s: error %v is no RequestError", name, err)
		case request.Param != c.param || !strings.Contains(request.Message, c.want):
			t.Errorf("%s: %q, wanted %s: …%s…", name, err, c.param, c.want)
		}
	}
}

func fill(x []float32, v float32) {
	for i := range x {
		x[i] = v
	}
}

// TestListenWarns: clips that can be used, and what people are told about them.
func TestListenWarns(t *testing.T) {
	m := tiny(t, Base, 2)
	const latin, chinese = "He came back to the harbour before the rain, and nobody saw.", "他在下雨之前回到了港口，没有人看见他离开。"
	for name, c := range map[string]struct {
		clip Clip
		want []string // a part of each warning
	}{
		"fine":             {clipOf(func(c *Clip) {}), nil},
		"fine with text":   {clipOf(func(c *Clip) { c.Text = latin }), nil},
		"fine in Chinese":  {clipOf(func(c *Clip) { c.Text = chinese }), nil},
		"numbers":          {clipOf(func(c *Clip) { c.Text = "1998, 2003, 2026" }), nil},
		"blank text":       {clipOf(func(c *Clip) { c.Text = " \n" }), nil},
		"offset":           {clipOf(func(c *Clip) { shift(c.Samples, 0.4) }), nil},
		"silence before":   {clipOf(func(c *Clip) { c.Samples = append(make([]float32, 72000), c.Samples...); c.Text = latin }), nil},
		"a lot of silence": {clipOf(func(c *Clip) { c.Samples = append(make([]float32, 20*24000), c.Samples...); c.Text = latin }), nil},
		"quiet":            {clipOf(func(c *Clip) { c.Samples = syllables(24000, 5, 0.004) }), []string{"very quiet"}},
		"short":            {clipOf(func(c *Clip) { c.Samples = syllables(24000, 1.5, 0.2) }), []string{"1.5 s long"}},
		"long":             {clipOf(func(c *Clip) { c.Samples = syllables(24000, 31, 0.2) }), []string{"more than 30 s"}},
		"clipped":          {clipOf(func(c *Clip) { c.Samples = clipped(syllables(24000, 5, 2)) }), []string{"clipped"}},
		"beyond":           {clipOf(func(c *Clip) { c.Samples = syllables(24000, 5, 2) }), []string{"beyond full scale"}},
		"text too short":   {clipOf(func(c *Clip) { c.Text = "He came." }), []string{"too short for the clip"}},
		"text too long":    {clipOf(func(c *Clip) { c.Text = strings.Repeat(latin, 3) }), []string{"too long for the clip"}},
		"Chinese too long": {clipOf(func(c *Clip) { c.Text = strings.Repeat(chinese, 4) }), []string{"too long for the clip"}},
		"Chinese too few":  {clipOf(func(c *Clip) { c.Text = "他在" }), []string{"too short for the clip"}},
		"ends in a word":   {clipOf(func(c *Clip) { c.Samples = c.Samples[:4*24000+2000]; c.Text = latin }), []string{"half a second of silence"}},
		"timbre alone":     {clipOf(func(c *Clip) { c.Samples = c.Samples[:4*24000+2000] }), nil},
	} {
		ref, warnings, err := m.Listen(context.Background(), c.clip)
		if err != nil || ref == nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		match := func(warning, part string) bool { return strings.Contains(warning, part) }
		if !slices.EqualFunc(warnings, c.want, match) {
			t.Errorf("%s: warnings %q, wanted %q", name, warnings, c.want)
		}
	}
}

func shift(x []float32, by float32) {
	for i := range x {
		x[i] += by
	}
}

func clipped(x []float32) []float32 {
	for i, v := range x {
		x[i] = min(1, max(-1, v))
	}
	return x
}

// TestRest puts silence behind a clip that ends in a word: half a second and what fills the
// last frame, but never more than a reference may have.
func TestRest(t *testing.T) {
	const rate, hop = 24000, 1920
	for _, n := range []int{24000, 24001, 25920, 119 * 24000, 120 * 24000} {
		x := make([]float32, n)
		x[n-1] = 1
		got := rest(x, rate, hop)
		added := len(got) - n
		if n == 120*24000 {
			if added != 0 {
				t.Errorf("%d samples behind the longest clip", added)
			}
			continue
		}
		if got[n-1] != 1 || len(got)%hop != 0 || added < rate/2 || added >= rate/2+hop {
			t.Errorf("%d samples behind %d", added, n)
		}
	}
}
