package synth

import "testing"

// TestLanguageOfTheOnly: a checkpoint that speaks one language is told so in every prompt,
// whatever the request says of it; others are told what the request says.
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
		equalPCM(t, c.m.Info().Name+", language "+c.given, got.Rows, want.Rows)
	}
}
