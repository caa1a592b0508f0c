package synth

import (
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// TestPrefixCache speaks requests of several voices twice, in both layouts: the second
// time, with the voice's keys and values from the cache, gives the same samples, and
// so does a model that never saw the voice.
func TestPrefixCache(t *testing.T) {
	dir := paritytest.Own(t, "tiny-custom").Dir
	for _, precision := range []Precision{Float32Precision, FastPrecision} {
		m, err := Open(dir, Options{Threads: 2, Precision: precision})
		if err != nil {
			t.Fatal(err)
		}
		defer m.Close()
		for _, layout := range []Layout{LayoutWhole, LayoutStreaming} {
			for _, voice := range []string{"ryan", "vivian", "eric"} {
				r := Request{Text: "One and two.", Voice: voice, Layout: layout, Seed: new(int64(5)), MaxFrames: 3}
				_, first, _ := say(t, m, r)
				_, second, _ := say(t, m, r)
				equalPCM(t, "from the cache", second, first)
				r.Text = "Other words."
				_, warm, _ := say(t, m, r)
				cold, err := Open(dir, Options{Threads: 1, Precision: precision})
				if err != nil {
					t.Fatal(err)
				}
				_, want, _ := say(t, cold, r)
				cold.Close()
				equalPCM(t, "of another text", warm, want)
			}
		}
		if n := len(m.engine.prefixes.entries); n != 3 {
			t.Errorf("%d prefixes for three voices in two layouts", n)
		}
	}
}

// TestPromptKept: a stream tells at its start which rows of its prompt need not be computed.
func TestPromptKept(t *testing.T) {
	m := tiny(t, CustomVoice, 1)
	for _, want := range []bool{false, true} {
		s, err := m.Speak(t.Context(), Request{Text: "One and two.", MaxFrames: 1})
		if err != nil {
			t.Fatal(err)
		}
		event, err := s.Next()
		start, ok := event.(Start)
		if !ok || start.PromptKept > 0 != want || start.PromptKept >= start.PromptRows {
			t.Errorf("%+v, %v, wanted kept rows: %v", event, err, want)
		}
		listen(t, s)
	}
}
