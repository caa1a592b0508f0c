package synth

import (
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/mynah-tts/mynah/internal/normalize"
	"github.com/mynah-tts/mynah/internal/tokenizer"
	"github.com/mynah-tts/mynah/internal/voice"
)

// segmentIDs returns the ids of each segment of a text that comes in pieces.
func segmentIDs(t *testing.T, tok *tokenizer.Tokenizer, pieces []string) (ids [][]int, texts []string) {
	t.Helper()
	s := newScript(tok, segmentLimits(1))
	for _, p := range pieces {
		if err := s.write(p); err != nil {
			t.Fatalf("%q: %v", p, err)
		}
	}
	if err := s.end(); err != nil {
		t.Fatalf("%q: %v", pieces, err)
	}
	for _, seg := range s.segments {
		ids, texts = append(ids, seg.ids), append(texts, string(seg.text))
	}
	return ids, texts
}

// TestNumbersAreWords: the built-in voice reads numbers and signs as words, segment by
// segment, however the text was cut, and segments keep the text as it was written.
func TestNumbersAreWords(t *testing.T) {
	tok, err := tokenizer.Load(voice.FS())
	if err != nil {
		t.Fatal(err)
	}
	const text = "It costs $19.99, i.e. 20 dollars. “Don’t”  pay\nmore!  Call at 3:30 p.m."
	want := []string{"It costs nineteen dollars and ninety nine cents, that is twenty dollars.", `"Don't" pay more!`, "Call at three thirty P M."}
	var wantIDs [][]int
	for _, w := range want {
		wantIDs = append(wantIDs, tok.EncodeText(w))
	}
	rng := rand.New(rand.NewPCG(1, 2))
	for i := range 50 {
		pieces := []string{text}
		if i > 0 {
			pieces = cutUp(text, rng)
		}
		ids, texts := segmentIDs(t, tok, pieces)
		if !slices.EqualFunc(ids, wantIDs, slices.Equal) {
			var got []string
			for _, v := range ids {
				got = append(got, tok.Decode(v))
			}
			t.Fatalf("%q in %d pieces: %q, want %q", text, len(pieces), got, want)
		}
		if want := []string{"It costs $19.99, i.e. 20 dollars.", "“Don’t”  pay\nmore!", "Call at 3:30 p.m."}; !slices.Equal(texts, want) {
			t.Fatalf("segments %q, want %q", texts, want)
		}
	}
}

// TestWordsComeAtOnce: ordinary words wait no longer than without the normalization, which
// is until the next one has begun.
func TestWordsComeAtOnce(t *testing.T) {
	tok, err := tokenizer.Load(voice.FS())
	if err != nil {
		t.Fatal(err)
	}
	s := newScript(tok, segmentLimits(300))
	if err := s.write("The weather is nice t"); err != nil {
		t.Fatal(err)
	}
	if got, want := tok.Decode(s.segments[0].ids), "The weather is"; got != want {
		t.Errorf("settled %q, want %q", got, want)
	}
}

// TestAnyCut: whatever a text holds, its ids are those of its words, however it was cut.
func TestAnyCut(t *testing.T) {
	tok, err := tokenizer.Load(voice.FS())
	if err != nil {
		t.Fatal(err)
	}
	bits := []string{" ", "  ", "\n", "$3", "million", ".", "...", "“", "word", "Dr.", "5", "*", "**bold**", "—", "-", "e\u0301", "Café", "7:30", "p.m.", "FBI's", "…", "你好", "don’t", "№", ",", "1,000", "x", "²", "₂", strings.Repeat("a1", 2100)}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 400 {
		text := "Well "
		for range rng.IntN(30) {
			text += bits[rng.IntN(len(bits))]
			if rng.IntN(2) == 0 {
				text += " "
			}
		}
		text = strings.Join(strings.Fields(text), " ") + " end"
		want := tok.EncodeText(normalize.English(text))
		for range 3 {
			s := newScript(tok, segmentLimits(-1))
			for _, p := range cutUp(text, rng) {
				if err := s.write(p); err != nil {
					t.Fatalf("%q: %v", p, err)
				}
			}
			if err := s.end(); err != nil {
				t.Fatalf("%q: %v", text, err)
			}
			if got := s.segments[0].ids; len(s.segments) != 1 || !slices.Equal(got, want) {
				t.Fatalf("%q: %q, want %q", text, tok.Decode(got), tok.Decode(want))
			}
		}
	}
}

// TestAsWritten: other checkpoints get text as it is written.
func TestAsWritten(t *testing.T) {
	m := tiny(t, CustomVoice, 1)
	ids, _ := segmentIDs(t, m.encoder.Tokenizer(), []string{"It costs $5."})
	if got := m.encoder.Tokenizer().Decode(ids[0]); got != "It costs $5." {
		t.Errorf("encoded %q", got)
	}
}

// TestUnknownNormalization: a checkpoint that asks for a normalization that there is not is
// refused, by file, key and value.
func TestUnknownNormalization(t *testing.T) {
	files := fstest.MapFS{}
	err := fs.WalkDir(voice.FS(), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(voice.FS(), name)
		files[name] = &fstest.MapFile{Data: data}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	config := files["tokenizer_config.json"]
	config.Data = []byte(strings.Replace(string(config.Data), `"english"`, `"klingon"`, 1))
	m, err := OpenFS(files, "english", Options{})
	if err == nil {
		m.Close()
		t.Fatal("it was opened")
	}
	for _, part := range []string{"tokenizer_config.json", "text_normalization", `"klingon"`, `"english"`} {
		if !strings.Contains(err.Error(), part) {
			t.Errorf("%q says nothing of %s", err, part)
		}
	}
}
