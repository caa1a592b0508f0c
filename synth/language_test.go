package synth

import (
	"slices"
	"testing"
)

// TestLanguageOfTheOnly: the prompts of a checkpoint that speaks one language have its tag,
// also if the request leaves the language to the model; others have what the request says.
func TestLanguageOfTheOnly(t *testing.T) {
	english, several := openBuiltin(t, Float32Precision), tiny(t, CustomVoice, 1)
	for _, c := range []struct {
		m           *Model
		given, want string
	}{
		{english, "", "english"}, {english, "auto", "english"}, {english, "Auto", "english"}, {english, "en-GB", "english"},
		{several, "", ""}, {several, "auto", ""}, {several, "english", "english"},
	} {
		p, err := c.m.planWhole(Request{Text: "One.", Language: c.given})
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.m.prompts.Build(c.m.work, c.m.ts, p.request)
		if err != nil {
			t.Fatal(err)
		}
		r := p.request
		r.Language = c.want
		want, err := c.m.prompts.Build(c.m.work, c.m.ts, r)
		if err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(got.Rows, want.Rows) {
			t.Errorf("%s, language %q: the prompt is not that of %q", c.m.Info().Name, c.given, c.want)
		}
	}
	if _, err := english.planWhole(Request{Text: "One.", Language: "german"}); err == nil {
		t.Error("a language that the checkpoint lacks was taken for its own")
	}
}
