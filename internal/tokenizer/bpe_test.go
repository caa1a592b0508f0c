package tokenizer

import (
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// plainMerge is the definition of merging: again and again the pair of best rank,
// the leftmost of equals.
func plainMerge(t *Tokenizer, word string) []int {
	var ids []int
	for i := range len(word) {
		ids = append(ids, int(t.byteID[word[i]]))
	}
	for {
		best, at := uint32(noRank), -1
		for i := range len(ids) - 1 {
			if rank, ok := t.rank[pairKey(uint32(ids[i]), uint32(ids[i+1]))]; ok && rank < best {
				best, at = rank, i
			}
		}
		if at < 0 {
			return ids
		}
		ids[at] = int(t.made[best])
		ids = slices.Delete(ids, at+1, at+2)
	}
}

// TestMerge checks the heap against the definition, on words made of the tokens
// themselves, so that merges overlap and compete.
func TestMerge(t *testing.T) {
	toks := map[string]*Tokenizer{"small": small(t)}
	for _, m := range paritytest.Models(t, "tokenizer") {
		tok, err := Load(os.DirFS(m.Dir))
		if err != nil {
			t.Fatal(err)
		}
		toks[m.Name] = tok
	}
	for name, tok := range toks {
		t.Run(name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(16, 17))
			for range 3000 {
				var b strings.Builder
				for range 1 + rng.IntN(8) {
					b.Write(tok.bytes(int(tok.made[rng.IntN(len(tok.made))>>rng.IntN(12)])))
				}
				word := b.String()
				want := plainMerge(tok, word)
				for range 2 { // the second may come from the cache
					if got := tok.appendWord(nil, word); !slices.Equal(got, want) {
						t.Fatalf("%q: %v, wanted %v", word, got, want)
					}
				}
			}
		})
	}
}

// plainEncode is the whole of Encode in its simplest form, by the definitions.
func plainEncode(t testing.TB, tok *Tokenizer, text string) (ids []int) {
	text = validUTF8(text)
	piece := func(s string) {
		for _, w := range regexpWords(t, nfc(s)) {
			ids = append(ids, plainMerge(tok, w)...)
		}
	}
	for start, i := 0, 0; ; {
		if i == len(text) {
			piece(text[start:])
			return ids
		}
		longest := ""
		for s := range tok.added {
			if strings.HasPrefix(text[i:], s) && len(s) > len(longest) {
				longest = s
			}
		}
		if longest == "" {
			i++
			continue
		}
		piece(text[start:i])
		ids = append(ids, tok.added[longest])
		i += len(longest)
		start = i
	}
}

func TestEncodeEqualsPlain(t *testing.T) {
	tok := small(t)
	rng := rand.New(rand.NewPCG(18, 19))
	for range 10000 {
		s := nastyText(rng, 20)
		if got, want := tok.Encode(s), plainEncode(t, tok, s); !slices.Equal(got, want) {
			t.Fatalf("%q: %q, wanted %q", s, words(tok, got), words(tok, want))
		}
	}
}

func FuzzEncode(f *testing.F) {
	f.Add("hello  world it's 12\n\n")
	f.Add("<|im_start|>a<tts>>>\u0301\xff")
	f.Add("e\u0301\u0323\u0344\u1112\u1161")
	tok := small(f)
	f.Fuzz(func(t *testing.T, s string) {
		got := tok.Encode(s)
		if want := plainEncode(t, tok, s); !slices.Equal(got, want) {
			t.Errorf("%q: %v, wanted %v", s, got, want)
		}
		text := tok.EncodeText(s)
		for _, id := range text {
			if tok.isAdded(id) {
				t.Errorf("EncodeText(%q) gives an added token", s)
			}
		}
		want := nfc(validUTF8(s))
		back := tok.Decode(text)
		if dropped, ok := strings.CutSuffix(want, back); !ok || dropped != "" && !isBreak(dropped) {
			t.Errorf("%q is encoded as the text %q", s, back)
		}
	})
}
