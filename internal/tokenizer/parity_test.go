package tokenizer

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// golden is golden/NAME/tokenizer.json. ids_patched_regex, which some cases have,
// is what a faulty switch of the reference gives and is not looked at.
type golden struct {
	Cases []struct {
		Text    string `json:"text"`
		IDs     []int  `json:"ids"`
		Decoded string `json:"decoded"`
	} `json:"cases"`
}

// parityModels calls test for each checkpoint of the parity set.
func parityModels(t *testing.T, test func(t *testing.T, tok *Tokenizer, m paritytest.Model, g golden)) {
	for _, m := range paritytest.Models(t, "tokenizer") {
		t.Run(m.Name, func(t *testing.T) {
			tok, err := Load(os.DirFS(m.Dir))
			if err != nil {
				t.Fatal(err)
			}
			var g golden
			paritytest.ReadJSON(t, filepath.Join(m.Golden, "tokenizer.json"), &g)
			if len(g.Cases) == 0 {
				t.Fatal("the golden has no cases")
			}
			test(t, tok, m, g)
		})
	}
}

func (g golden) check(t *testing.T, tok *Tokenizer) {
	t.Helper()
	for _, c := range g.Cases {
		got := tok.Encode(c.Text)
		if len(got) != len(c.IDs) || len(got) > 0 && !reflect.DeepEqual(got, c.IDs) {
			t.Errorf("Encode(%q) = %v, wanted %v", c.Text, got, c.IDs)
		}
		if got := tok.Decode(c.IDs); got != c.Decoded {
			t.Errorf("Decode(%v) = %q, wanted %q", c.IDs, got, c.Decoded)
		}
	}
}

func TestParityTokenizer(t *testing.T) {
	parityModels(t, func(t *testing.T, tok *Tokenizer, _ paritytest.Model, g golden) { g.check(t, tok) })
}

// TestParityText: EncodeText and Stream give the reference's ids wherever a text
// has no added tokens and no leading line breaks, and never an added token.
func TestParityText(t *testing.T) {
	parityModels(t, func(t *testing.T, tok *Tokenizer, _ paritytest.Model, g golden) {
		equal := 0
		for _, c := range g.Cases {
			got := tok.EncodeText(c.Text)
			for _, id := range got {
				if tok.isAdded(id) {
					t.Errorf("EncodeText(%q) gives the added token %d", c.Text, id)
				}
			}
			checkCuts(t, tok, c.Text, got)
			plain := true
			for s := range tok.added {
				plain = plain && !strings.Contains(c.Text, s)
			}
			white := c.Text[:len(c.Text)-len(strings.TrimLeftFunc(c.Text, unicode.IsSpace))]
			if c.Text == "" || !plain || strings.ContainsAny(white, "\r\n") {
				continue
			}
			equal++
			if !reflect.DeepEqual(got, c.IDs) {
				t.Errorf("EncodeText(%q) = %v, wanted %v", c.Text, got, c.IDs)
			}
		}
		if equal == 0 {
			t.Error("no case is plain text")
		}
	})
}

// TestParityTokenizerJSON: the same ids from a tokenizer.json made of vocab.json,
// merges.txt and tokenizer_config.json, with both ways to write merges.
func TestParityTokenizerJSON(t *testing.T) {
	parityModels(t, func(t *testing.T, _ *Tokenizer, m paritytest.Model, g golden) {
		for _, pairs := range []bool{false, true} {
			files := map[string]string{jsonFile: deriveJSON(t, os.DirFS(m.Dir), pairs)}
			tok, err := Load(mapFS(files))
			if err != nil {
				t.Fatal(err)
			}
			g.check(t, tok)
		}
	})
}
