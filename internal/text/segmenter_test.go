package text

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// TestSegmenterReleases: text comes out as soon as it is known to belong to the
// segment under way. A step is a piece and what it settles, | where a segment ends.
func TestSegmenterReleases(t *testing.T) {
	const flush = "\x00flush"
	for _, c := range []struct {
		name  string
		limit Limits
		steps [][2]string
	}{
		{"below the limits all but one character", DefaultLimits(), [][2]string{
			{"Hello", "Hell"}, {" ", "o"}, {"wor", " wo"}, {"ld. ", "rld."}, {"The U", " The"}, {"", ""}, {".S. ", " U.S."}, {"T", ""}, {"he", " Th"}, {" e", "e"}, {"nd.", " end"}}},
		{"a sentence ends at the next", SentenceLimits(), [][2]string{
			{"One", "On"}, {".", "e"}, {" ", "."}, {"T", ""}, {"wo. ", " |Two."}, {"“Th", " |“T"}, {"ree”", "hree"}}},
		{"a word decides", SentenceLimits(), [][2]string{
			{"The U.S. ", "The U.S."}, {"The", ""}, {" d", " |The"}, {"of the U.S. ", " dof the U.S."}, {"Embass", ""}, {"yx", " Embassy"}}},
		{"no white space", SentenceLimits(), [][2]string{
			{"你好。", "你好"}, {"”", "。"}, {"再", "”"}, {"见。", "|再见"}}},
		{"a head waits", SentenceLimits(), [][2]string{
			{"\n*** ", ""}, {"…\n", ""}, {"😄", ""}, {"a", ""}, {"b", "\n*** …\n😄a"}}},
		{"what has nothing to say joins the segment before", SentenceLimits(), [][2]string{
			{"One.\n", "One."}, {"***", ""}, {"\n\n", "\n***"}, {"Two", "\n\n|Tw"}}},
		{"long runs of it do not wait", SentenceLimits(), [][2]string{
			{"One. ", "One."}, {strings.Repeat("(", 30), " " + strings.Repeat("(", 29)}, {"Two", "(|Tw"}}},
		{"flush", SentenceLimits(), [][2]string{
			{"  ", ""}, {flush, ""}, {"*", ""}, {flush, ""}, {"One tw", "  *One t"}, {flush, "w|"}, {flush, ""}, {" ", ""}, {"three. ", " three."}, {flush, " |"}, {"f", ""}, {"our", "fou"}}},
		{"flush decides as the end does", SentenceLimits(), [][2]string{
			{"Plan B. The", "Plan B."}, {flush, " |The|"}, {"y", ""}, {flush, "y|"}, {"One. “", "One."}, {flush, " “|"}}},
		{"flush leaves half a character", SentenceLimits(), [][2]string{
			{"e\xcc", ""}, {flush, "e|"}, {"\x81", ""}, {"a\xe4\xbd", ""}, {"\xa0", "\u0301a"}, {flush, "你|"}}},
		{"a mark at the start is left out", SentenceLimits(), [][2]string{{"\xef", ""}, {"\xbb", ""}, {"\xbfab", "a"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := NewSegmenter(c.limit)
			for i, step := range c.steps {
				var parts []Part
				var err error
				if step[0] == flush {
					parts = s.Flush()
				} else {
					parts, err = s.Write(step[0])
				}
				if got := show(parts); got != step[1] || err != nil {
					t.Fatalf("step %d, %q: got %q, %v, wanted %q", i, step[0], got, err, step[1])
				}
			}
		})
	}
}

// TestSegmenterLimit: a text in pieces has the limit that Clean gives the whole, of which a
// mark at the start and half a character are no part.
func TestSegmenterLimit(t *testing.T) {
	limit := Limit{Name: "one test", Max: 4}
	for _, whole := range []string{"", "abcd", "abcde", "\uFEFFabcd", "\uFEFFabcde", "\uFEFF\uFEFFabc", "\uFEFF\uFEFFabcd", "日本語文", "日本語文章", "日本語文。"} {
		_, err := Clean(whole, limit)
		for size := 1; size <= max(1, len(whole)); size++ {
			s := NewSegmenter(Limits{})
			s.SetLimit(limit)
			var got error
			for rest := whole; rest != ""; rest = rest[min(size, len(rest)):] {
				_, got = s.Write(rest[:min(size, len(rest))])
			}
			if (got == nil) != (err == nil) || got != nil && !strings.Contains(got.Error(), "one test allows") {
				t.Errorf("%q, %d bytes at a time: %v, Clean says %v", whole, size, got, err)
			}
			if _, end := s.Close(); end != got {
				t.Errorf("%q: Write says %v, Close %v", whole, got, end)
			}
		}
	}
}

// show writes parts with a | behind each end.
func show(parts []Part) string {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
		if p.End {
			b.WriteString("|")
		}
	}
	return b.String()
}

// TestSegmenterHoldsBack: what Segmenter says it holds back, and no more.
func TestSegmenterHoldsBack(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	texts := append(corpus(), "One. T"+strings.Repeat("\u00ad", 1000), "U.S. T"+strings.Repeat("\u00ad", 1000), "a"+strings.Repeat("\u0301", 1000), "U.S. \u200f(T"+strings.Repeat("\u200d", 1000))
	for range 500 {
		texts = append(texts, randomText(rng, 100))
	}
	for i, text := range texts {
		l := someLimits[i%len(someLimits)]
		s := NewSegmenter(l)
		written, given := "", 0
		for _, piece := range strings.Split(text, "") {
			parts, err := s.Write(piece)
			if err != nil {
				t.Fatal(err)
			}
			for _, p := range parts {
				given += len(p.Text)
			}
			written += piece
			if s.Pending() != len(written)-given || s.Characters() != utf8.RuneCountInString(written) {
				t.Fatalf("%q: %d bytes are pending of %d, %d were given; %d characters", written, s.Pending(), len(written), given, s.Characters())
			}
			if given == 0 && !Speakable(written[:len(written)-len(piece)]) {
				continue
			}
			held := strings.TrimLeft(written[given:], " \n\r\u00a0\u2029\u200b")
			if n := clusters(held); n > maxLead+maxPeek+1 || n > 1+maxLead && l == (Limits{}) {
				t.Fatalf("%q: held back %q, %d clusters", written, held, n)
			}
		}
	}
}

func clusters(s string) (n int) {
	for it := graphemes.FromString(s); it.Next(); {
		n += (utf8.RuneCountInString(it.Value()) + maxCluster - 1) / maxCluster
	}
	return n
}

// TestSegmenterErrors: the offset of the error is that of Clean, however the text is
// cut, and the error stays.
func TestSegmenterErrors(t *testing.T) {
	for _, c := range []struct{ text, given, problem string }{
		{"ab. \xff", "ab.", "text: byte 4: 0xff is not UTF-8"},
		{"é\xc3(x", "", "text: byte 2: 0xc3 is not UTF-8"},
		{"One. Two\x00", "One. |Tw", "text: byte 8: a NUL character"},
		{"\uFEFFa\x00", "", "text: byte 4: a NUL character"},
		{"\uFEFFab\xe4\xbd", "a", "text: byte 5: 0xe4 is not UTF-8"},
		{"ab\xed\xa0\x80", "a", "text: byte 2: 0xed is not UTF-8"},
		{"a\xf0\x9f\x98", "", "text: byte 1: 0xf0 is not UTF-8"},
	} {
		_, want := Clean(c.text, Limit{"limit", 100})
		if want == nil || want.Error() != c.problem {
			t.Fatalf("Clean(%q): %v", c.text, want)
		}
		for _, cut := range [][]string{{c.text}, bytesOf(c.text)} {
			s := NewSegmenter(SentenceLimits())
			var all []Part
			var err error
			for _, p := range cut {
				var parts []Part
				parts, err = s.Write(p)
				all = append(all, parts...)
				if err != nil {
					break
				}
			}
			if err == nil {
				_, err = s.Close()
			}
			var ie *InputError
			if !errors.As(err, &ie) || err.Error() != c.problem || show(all) != c.given {
				t.Errorf("%q: %q, %v; wanted %q, %s", cut, show(all), err, c.given, c.problem)
			}
			_, again := s.Write("x")
			parts, closed := s.Close()
			if again != err || closed != err || parts != nil || s.Flush() != nil {
				t.Errorf("%q: after %v come %v and %v", cut, err, again, closed)
			}
		}
	}
}

func bytesOf(s string) (cut []string) {
	for i := range len(s) {
		cut = append(cut, s[i:i+1])
	}
	return cut
}

func TestSegmenterClose(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", ""}, {" *** ", ""}, {"a", "a|"}, {"One. Two. \n", " |Two. \n|"},
	} {
		s := NewSegmenter(SentenceLimits())
		first, err := s.Write(c.text)
		if err != nil {
			t.Fatal(err)
		}
		rest, err := s.Close()
		if got := show(first) + show(rest); err != nil || !strings.HasSuffix(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("%q: %q, %v; wanted %q", c.text, got, err, c.want)
		}
		if _, err := s.Write("b"); err == nil {
			t.Errorf("%q: a closed segmenter takes text", c.text)
		}
	}
}

// TestFlush: flushes cut the text where they stand and nowhere else; what is between
// them is cut as a text of its own. How the text arrived does not matter.
func TestFlush(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 8))
	for i := range 3000 {
		l := someLimits[i%len(someLimits)]
		var got []Part
		var want []string
		head := "" // what had nothing to say so far
		s := NewSegmenter(l)
		for range 1 + rng.IntN(4) {
			part := "x" + randomText(rng, rng.IntN(12))
			if rng.IntN(5) == 0 {
				part = "* "
			}
			for _, p := range pieces(rng, part) {
				parts, err := s.Write(p)
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, parts...)
			}
			got = append(got, s.Flush()...)
			if head += part; Speakable(head) {
				want = append(want, Split(head, l)...)
				head = ""
			}
		}
		if rest, err := s.Close(); err != nil || rest != nil {
			t.Fatalf("after Flush Close gives %v, %v", rest, err)
		}
		if joined := join(got); !slices.Equal(joined, want) {
			t.Fatalf("with %v: %q, wanted %q", l, joined, want)
		}
	}
}

func BenchmarkSegmenter(b *testing.B) {
	text := strings.Repeat("Mr. Smith, who was 98.6 years old, went to the U.S. Embassy. Then he left. ", 1000)
	cut := strings.SplitAfter(text, " ")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s := NewSegmenter(DefaultLimits())
		for _, p := range cut {
			if _, err := s.Write(p); err != nil {
				b.Fatal(err)
			}
		}
		if _, err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
