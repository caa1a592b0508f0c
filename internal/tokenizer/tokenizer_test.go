package tokenizer

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"reflect"
	"strings"
	"sync"
	"testing"
	"testing/fstest"
)

// smallMerges make a tokenizer in which words, spaces, accents and line breaks
// merge over several levels, some of them by a rank that is not in order of making.
var smallMerges = []string{
	"Ġ Ġ", "ĠĠ ĠĠ", "Ċ Ċ", "č Ċ", "h e", "l l", "he ll", "hell o", "Ġ w", "o r", "Ġw or", "l d", "Ġwor ld",
	"' s", "' l", "'l l", "Ã ©", "c a", "f Ã©", "ca fÃ©", "a a", "aa aa", "a b", "b c", "ab c", "a bc", "# #", "# include",
	"i n", "in c", "l u", "lu d", "inc lud", "includ e", "! !", "ĠĠ a", "1 2", "e Ì", "Ì ģ", "e Ìģ",
}

// smallFiles are the files of a tokenizer with smallMerges.
func smallFiles() map[string]string {
	vocab := make(map[string]int)
	for _, r := range byteToRune {
		vocab[string(r)] = len(vocab)
	}
	// "# include" comes before its parts are made: such a merge never applies, but loads.
	for _, m := range smallMerges {
		if s := strings.ReplaceAll(m, " ", ""); vocab[s] == 0 && s != string(byteToRune[0]) {
			vocab[s] = len(vocab)
		}
	}
	added := make(map[string]any)
	for _, s := range []string{"<|im_start|>", "<|im_end|>", "<tts_pad>", "<tts>", "<tts>>"} {
		added[fmt.Sprint(len(vocab)+len(added))] = map[string]any{"content": s, "lstrip": false,
			"normalized": false, "rstrip": false, "single_word": false, "special": true}
	}
	return map[string]string{
		vocabFile:  toJSON(vocab),
		mergesFile: "#version: 0.2\n" + strings.Join(smallMerges, "\n") + "\n",
		configFile: toJSON(map[string]any{"added_tokens_decoder": added}),
	}
}

func toJSON(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err)
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func mapFS(files map[string]string) fs.FS {
	m := fstest.MapFS{}
	for name, data := range files {
		m[name] = &fstest.MapFile{Data: []byte(data)}
	}
	return m
}

func small(t testing.TB) *Tokenizer {
	t.Helper()
	tok, err := Load(mapFS(smallFiles()))
	if err != nil {
		t.Fatal(err)
	}
	return tok
}

// words returns the tokens of ids as text, for tests that read well.
func words(tok *Tokenizer, ids []int) []string {
	var s []string
	for _, id := range ids {
		w, ok := tok.Token(id)
		if !ok {
			w = fmt.Sprint("no token ", id)
		}
		s = append(s, w)
	}
	return s
}

func TestEncode(t *testing.T) {
	tok := small(t)
	for _, c := range []struct {
		text string
		want []string
	}{
		{"", nil},
		{"hello world", []string{"hello", " world"}},
		{"hello  world", []string{"hello", " ", " world"}},
		{"hello    world", []string{"hello", "  ", " ", " world"}},
		{"hello 's", []string{"hello", " ", "'", "s"}}, // the words are "hello", " '" and "s"
		{"hello's", []string{"hello", "'s"}},
		{"12", []string{"1", "2"}},
		{"abc", []string{"abc"}},
		{"aaaaa", []string{"aaaa", "a"}},
		{"cafe\u0301", []string{"café"}},
		{"\n\nhello", []string{"\n\n", "hello"}},
		{"##include!!", []string{"##", "include", "!!"}},
		{"<|im_start|>hello<|im_end|>", []string{"<|im_start|>", "hello", "<|im_end|>"}},
		{"<tts>>>", []string{"<tts>>", ">"}},
		{"<tts><tts_pad><tts_pa", []string{"<tts>", "<tts_pad>", "<", "t", "t", "s", "_", "p", "a"}},
		{"e<tts>\u0301", []string{"e", "<tts>", "\u0301"}},
		{"\xff\xe4\xbdo", []string{"\xef", "\xbf", "\xbd", "\xef", "\xbf", "\xbd", "\xef", "\xbf", "\xbd", "o"}},
	} {
		if got := words(tok, tok.Encode(c.text)); !reflect.DeepEqual(got, c.want) {
			t.Errorf("Encode(%q) = %q, wanted %q", c.text, got, c.want)
		}
	}
}

// TestEncodeText: marks typed by a user are plain text, and leading line breaks,
// which would merge with the template's, are dropped.
func TestEncodeText(t *testing.T) {
	tok := small(t)
	for _, c := range []struct{ text, same string }{
		{"", ""}, {"hello", "hello"}, {"\n", ""}, {"\n\nhello", "hello"}, {" \t\r\n \n hello", " hello"},
		{"\u3000\r  hello\n", "  hello\n"}, {"  hello", "  hello"}, {" !\nhello", " !\nhello"}, {"\n\n \u2003", " \u2003"},
	} {
		if got, want := tok.EncodeText(c.text), tok.Encode(c.same); !reflect.DeepEqual(got, want) {
			t.Errorf("EncodeText(%q) = %q, wanted %q", c.text, words(tok, got), words(tok, want))
		}
	}
	for added := range tok.added {
		for _, text := range []string{added, "hello " + added + " world", added + added, "<|im_start|>user\nshout" + added} {
			ids := tok.EncodeText(text)
			if got := tok.Decode(ids); got != text {
				t.Errorf("EncodeText(%q) decodes to %q", text, got)
			}
			for _, id := range ids {
				if s, _ := tok.Token(id); tok.isAdded(id) {
					t.Errorf("EncodeText(%q) gives the added token %q", text, s)
				}
			}
		}
	}
}

func (t *Tokenizer) isAdded(id int) bool {
	for _, a := range t.added {
		if a == id {
			return true
		}
	}
	return false
}

func TestTokenAndDecode(t *testing.T) {
	tok := small(t)
	for _, id := range []int{-1, -1 << 62, tok.Size(), 1 << 62} {
		if s, ok := tok.Token(id); ok || s != "" {
			t.Errorf("Token(%d) = %q, %v", id, s, ok)
		}
		if s := tok.Decode([]int{id}); s != "" {
			t.Errorf("Decode(%d) = %q", id, s)
		}
	}
	for id := range tok.Size() {
		if s, ok := tok.Token(id); !ok || s == "" {
			t.Errorf("Token(%d) = %q, %v", id, s, ok)
		}
	}
	if id, ok := tok.ID("<|im_end|>"); !ok || id != tok.Size()-4 {
		t.Errorf("ID = %d, %v of %d", id, ok, tok.Size())
	}
	if _, ok := tok.ID("hello"); ok {
		t.Error("ID finds a token that is not an added one")
	}
	// One U+FFFD for the longest start of a character, as the reference decodes.
	for _, c := range []struct{ bytes, want string }{
		{"a\xe4\xbdb", "a\uFFFDb"}, {"\xf0\x9f\x98", "\uFFFD"}, {"\xff\xff", "\uFFFD\uFFFD"},
		{"\xe4", "\uFFFD"}, {"\xed\xa0\x80", "\uFFFD\uFFFD\uFFFD"}, {"\xf0\x9fx\xbf", "\uFFFDx\uFFFD"},
	} {
		var ids []int
		for _, b := range []byte(c.bytes) {
			ids = append(ids, int(tok.byteID[b]))
		}
		if got := tok.Decode(ids); got != c.want {
			t.Errorf("Decode of % x = %q, wanted %q", c.bytes, got, c.want)
		}
	}
}

// nasty is an alphabet in which most neighbours matter to one of the stages.
var nasty = strings.Split("a|b|c|s|ſ|t|T|r|e|E|v|l|L|d|m|h|o|w|1|2|½|٣|Ⅷ| | | |\n|\r|\t|\v|\u0085|\u00a0|\u3000|\u2003|\u200b|'|'|’|.|!|#|<|"+
	"\u0301|\u0323|\u0338|\u0344|\u093c|\u0958|é|Å|\u212b|ẹ|ệ|ᄒ|ᅡ|ᆫ|하|한|\u09c7|\u09be|\u0b92|\u0bd7|か|\u3099|你|，|😀|\u200d|\ufe0f|\ufb2c|"+
	"\xff|\xe4|\xbd|\xa0|\xf0|\x9f|\xcc|\x81|<tts>|<|im_end|>|'ll|'re|'S|hello|  world", "|")

func nastyText(rng *rand.Rand, max int) string {
	var b strings.Builder
	for range rng.IntN(max + 1) {
		b.WriteString(nasty[rng.IntN(len(nasty))])
	}
	return b.String()
}

// TestConcurrent: encoding shares the word cache and nothing else; -race looks on.
func TestConcurrent(t *testing.T) {
	tok := small(t)
	rng := rand.New(rand.NewPCG(1, 2))
	texts := make([]string, 200)
	want := make([][]int, len(texts))
	for i := range texts {
		texts[i] = nastyText(rng, 40)
		want[i] = small2(t).Encode(texts[i])
	}
	var wg sync.WaitGroup
	for range 4 {
		wg.Go(func() {
			for i, s := range texts {
				if got := tok.Encode(s); !reflect.DeepEqual(got, want[i]) {
					t.Errorf("Encode(%q) = %v, wanted %v", s, got, want[i])
				}
			}
		})
	}
	wg.Wait()
}

var small2 = func() func(testing.TB) *Tokenizer {
	var once sync.Once
	var tok *Tokenizer
	return func(t testing.TB) *Tokenizer {
		once.Do(func() { tok = small(t) })
		return tok
	}
}()
