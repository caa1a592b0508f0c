package normalize

import (
	"bufio"
	"encoding/json"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
	"unicode/utf8"
)

// golden returns what the specification makes of our texts, as pairs of the text as
// written and as said. From the root of the repository:
//
//	cat internal/normalize/testdata/texts.txt tools/voice/heldout/*.txt |
//		python3 tools/voice/spoken.py --golden > internal/normalize/testdata/english.json
//
// In texts.txt \n and \t stand for a line end and a tab.
func golden(t testing.TB) [][2]string {
	t.Helper()
	f, err := os.Open("testdata/english.json")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	var pairs [][2]string
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var pair [2]string
		if err := json.Unmarshal(lines.Bytes(), &pair); err != nil {
			t.Fatalf("line %d: %v", len(pairs)+1, err)
		}
		pairs = append(pairs, pair)
	}
	if len(pairs) < 800 {
		t.Fatalf("only %d pairs", len(pairs))
	}
	return pairs
}

func TestEnglish(t *testing.T) {
	for _, pair := range golden(t) {
		if got := English(pair[0]); got != pair[1] {
			t.Errorf("%q\n got %q\nwant %q", pair[0], got, pair[1])
		}
	}
}

// pieces returns text cut between characters at random.
func pieces(text string, random *rand.Rand, most int) []string {
	var cut []string
	for text != "" {
		end := 0
		for n := 1 + random.IntN(most); n > 0 && end < len(text); n-- {
			_, size := utf8.DecodeRuneInString(text[end:])
			end += size
		}
		cut = append(cut, text[:end])
		text = text[end:]
	}
	return cut
}

func stream(s *Stream, pieces []string) string {
	var b strings.Builder
	for _, p := range pieces {
		b.WriteString(s.Write(p))
	}
	return b.String() + s.Close()
}

// TestStream: however a text is cut, the Stream makes of it what English does, with one
// Stream for all texts.
func TestStream(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	pairs := golden(t)
	var s Stream
	for round := range 6000 {
		text, want := pairs[round%len(pairs)][0], pairs[round%len(pairs)][1]
		if round >= len(pairs) {
			text = mixture(pairs, random)
			want = English(text)
		}
		cut := pieces(text, random, 1+random.IntN(8))
		if got := stream(&s, cut); got != want {
			t.Fatalf("%q\n got %q\nwant %q", cut, got, want)
		}
		if n := s.Pending(); n != 0 {
			t.Fatalf("%q: %d bytes pending at the end", text, n)
		}
	}
}

// mixture returns words and texts of the golden ones in any order.
func mixture(pairs [][2]string, random *rand.Rand) string {
	var b strings.Builder
	for range 1 + random.IntN(6) {
		text := pairs[random.IntN(len(pairs))][0]
		if words := strings.Fields(text); len(words) > 0 && random.IntN(3) > 0 {
			text = words[random.IntN(len(words))]
		}
		b.WriteString(text)
		b.WriteString([]string{" ", " ", " ", "\n\n", "", "\u00a0"}[random.IntN(6)])
	}
	return b.String()
}

// TestWaits: what comes out early is what a Stream that always waits for the token
// behind would say.
func TestWaits(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	pairs := golden(t)
	for round := range 8000 {
		text := pairs[round%len(pairs)][0]
		if round >= len(pairs) {
			text = mixture(pairs, random)
		}
		if got, want := English(text), patient(text); got != want {
			t.Fatalf("%q\n  got %q\npatient %q", text, got, want)
		}
	}
}

// patient is English for a whole text at once, where every token's neighbours are known.
func patient(text string) string {
	var f folder
	var b strings.Builder
	for _, r := range text {
		b.WriteString(f.rune(r))
	}
	raw := strings.FieldsFunc(b.String(), isSpace)
	var s Stream // for its write
	var items []item
	var marks marker
	last := ""
	for i, token := range raw {
		plain, what := marks.next(token)
		if what == drop || what == wait && (i+1 == len(raw) || !beginsDigit(raw[i+1])) {
			continue
		}
		marks.passed(plain)
		for _, t := range strings.Fields(readings(plain, last)) {
			last = t
			next := item{token: lower(t), core: bare(lower(t))}
			if n := len(items); n > 0 {
				next.before, next.previous = items[n-1].core, items[n-1].token
			}
			items = append(items, next)
		}
	}
	for i, t := range items {
		after := item{}
		if i+1 < len(items) {
			after = items[i+1]
		}
		if words := t.words(after, i+1 == len(items), !s.said); words != "" {
			s.write(words)
		}
	}
	return s.take()
}

// TestLatency: a word comes out with the white space behind it unless its reading
// hangs on what follows.
func TestLatency(t *testing.T) {
	for _, word := range strings.Fields(`plain word, end. "quoted" (so) well-known don't Anna ok? fine! NASA USA in. MP3 5kg 3rd 1/2 45% 12 don't:
		example.com co. st. «été» — …`) {
		var s Stream
		s.Write("so ")
		if got := s.Write(word + " "); got == "" || s.Pending() != 0 {
			t.Errorf("%q: got %q, %d bytes pending", word, got, s.Pending())
		}
	}
	for _, word := range strings.Fields(`no. St. U.S. Dr. J. Mon. Jan. Jan $3 9:00 1984 etc. p.`) {
		var s Stream
		s.Write("so ")
		if got := s.Write(word + " "); got != "" || s.Pending() != len(word) {
			t.Errorf("%q: got %q, %d bytes pending", word, got, s.Pending())
		}
		if got := s.Write("word "); !strings.HasSuffix(got, " word") || s.Pending() != 0 {
			t.Errorf("%q and a word: got %q, %d bytes pending", word, got, s.Pending())
		}
	}
	var s Stream
	if got := s.Write("hel"); got != "" || s.Pending() != 3 {
		t.Errorf("got %q, %d bytes pending", got, s.Pending())
	}
	if got := s.Write("lo wo"); got != "hello" || s.Pending() != 2 {
		t.Errorf("got %q, %d bytes pending", got, s.Pending())
	}
	if got := s.Close(); got != " wo" {
		t.Errorf("got %q at the end", got)
	}
}

// TestLong: a token that is too long to be read goes through, so that nothing more than
// a few of them is held.
func TestLong(t *testing.T) {
	for _, c := range []string{"a", "5", "*", "é", "A.", "世", "5-", "-"} {
		for _, n := range []int{maxToken - 1, maxToken, maxToken + 1, 5 * maxToken} {
			long := strings.Repeat(c, n)
			text := "no. " + long + " 5 *" + long + " * 7 Dr. " + long + " U.S."
			want := English(text)
			random := rand.New(rand.NewPCG(5, uint64(n)))
			var s Stream
			var b strings.Builder
			for _, p := range pieces(text, random, 900) {
				b.WriteString(s.Write(p))
				if s.Pending() > 3*maxToken {
					t.Fatalf("%d bytes pending", s.Pending())
				}
			}
			if got := b.String() + s.Close(); got != want {
				t.Errorf("%d times %q: the Stream says something else", n, c)
			}
		}
	}
	word := strings.Repeat("x1", maxToken)
	if got, want := English("I saw "+word+". Then 5."), "I saw "+word+". Then five."; got != want {
		t.Errorf("got %q", got)
	}
}

func TestNotUTF8(t *testing.T) {
	if got, want := English("a\xffb \xe2\x82 c"), "a b c"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func FuzzStream(f *testing.F) {
	for _, pair := range golden(f) {
		f.Add(pair[0], uint64(len(pair[0])))
	}
	f.Fuzz(func(t *testing.T, text string, seed uint64) {
		want := English(text)
		var s Stream
		cut := pieces(text, rand.New(rand.NewPCG(seed, 0)), 1+int(seed%9))
		if got := stream(&s, cut); got != want {
			t.Errorf("%q\n got %q\nwant %q", cut, got, want)
		}
		for _, token := range strings.Fields(text) {
			if len(token) > maxToken/2 {
				return
			}
		}
		if patient := patient(text); patient != want {
			t.Errorf("%q\n    got %q\npatient %q", text, want, patient)
		}
	})
}
