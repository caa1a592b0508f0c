package text

import (
	"fmt"
	"math"
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestSplitInvariants(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, s := range corpus() {
		for _, l := range someLimits {
			checkText(t, rng, s, l)
		}
	}
	for i := range 4000 {
		checkText(t, rng, randomText(rng, 1+rng.IntN(60)), someLimits[i%len(someLimits)])
	}
}

// FuzzSplit: what checkText wants, for any text, limits and pieces.
func FuzzSplit(f *testing.F) {
	for i, s := range corpus() {
		l := someLimits[i%len(someLimits)]
		f.Add(s, l.Sentence, l.Clause, l.Word, l.Hard, uint64(i))
	}
	f.Fuzz(func(t *testing.T, s string, sentence, clause, word, hard int, seed uint64) {
		s, err := Clean(strings.ToValidUTF8(s, "?"), Limit{"limit", 1 << 20})
		if err != nil || strings.HasPrefix(s, byteOrderMark) {
			t.Skip()
		}
		checkText(t, rand.New(rand.NewPCG(seed, 0)), s, Limits{sentence, clause, word, hard})
	})
}

func TestSplitLimits(t *testing.T) {
	l := LimitsFor(20) // 20, 30, 40, 50
	w := func(n int) string { return strings.Repeat("word ", n) }
	for _, c := range []string{
		w(2) + "end. " + w(1) + "end. |" + w(2) + "end.",
		w(3) + "x, end. |Next.",
		w(6) + "here, |and " + w(4) + "there.",
		w(4) + "here, and " + w(2) + "|" + w(5) + "there.",
		w(8) + "|" + w(8) + "|" + w(3),
		"word " + strings.Repeat("x", 45) + "|" + strings.Repeat("x", 50) + "|" + strings.Repeat("x", 7),
		strings.Repeat("字", 19) + "。|" + strings.Repeat("字", 31) + "，|" + strings.Repeat("字", 50) + "|字",
		strings.Repeat("字", 18) + "。" + "。|" + strings.Repeat("字", 10) + "。" + strings.Repeat("字", 10) + "。|字",
		strings.Repeat("x", 50) + "!!! *** |y",
		strings.Repeat("e\u0301", 25) + "|e\u0301",
		"***" + strings.Repeat("*", 100) + w(8) + "|" + w(1),
	} {
		want := strings.Split(c, "|")
		if got := Split(strings.Join(want, ""), l); !slices.Equal(got, want) {
			t.Errorf("got %s\nwanted %s", strings.Join(got, "|"), c)
		}
	}
}

// TestLongText is T5, T6 and T10: no punctuation, no spaces, floods of one thing.
func TestLongText(t *testing.T) {
	l := DefaultLimits()
	floods := []string{"1", "1.", "(", "a", "a ", " ", "\n", ".", "…", "!", "。", "字", "字，", "e.g. ", "1. ", "A. ", "\u0301", "e\u0301\u0301", "\u200d", "😄", "🇩",
		"क्", "\u1100", "\"", "( ", "- ", "\n- ", "\u00a0", "x.\u00a0", "—", ", ", "Dr. ", "\u0600", "a\n\n", "Mr", "? "}
	for _, f := range floods {
		for _, s := range []string{strings.Repeat(f, 100_000), "Hello. " + strings.Repeat(f, 10_000) + "World", "A. " + strings.Repeat(f, 1000)} {
			segments := Split(s, l)
			checkSegments(t, s, l, segments)
			if len(s) > 50_000 {
				continue // linear, as for the others, but slow under the race detector
			}
			if got := write(t, l, strings.Split(s, "")); !slices.Equal(got, segments) {
				t.Errorf("%.20q... is cut otherwise by characters", s)
			}
		}
	}
	for _, s := range []string{strings.Repeat("word ", 1000), strings.Repeat("x", 3000), strings.Repeat("wörter ", 7000), strings.Repeat("字", 50_000),
		strings.Repeat("这是一个很长的句子，没有空格。真的吗？是的！好；", 30)} {
		segments := Split(s, l)
		checkSegments(t, s, l, segments)
		if n := len([]rune(s)); len(segments) < n/l.Hard || n > l.Word && len(segments) < 2 || len(segments) > 1+n/l.Sentence {
			t.Errorf("%.20q... of %d characters has %d segments", s, n, len(segments))
		}
	}
}

func TestLimits(t *testing.T) {
	for n, want := range map[int]Limits{0: {}, -1: {}, 1: {1, 2, 2, 3}, 2: {2, 3, 4, 5}, 300: {300, 450, 600, 750}, math.MaxInt: {Sentence: math.MaxInt}} {
		if got := LimitsFor(n); got != want {
			t.Errorf("LimitsFor(%d) = %v, wanted %v", n, got, want)
		}
	}
	if got := DefaultLimits(); got != LimitsFor(300) {
		t.Errorf("DefaultLimits() = %v", got)
	}
	s := strings.Join(corpus(), "\n\n")
	if got := Split(s, Limits{}); len(got) != 1 || got[0] != s {
		t.Errorf("without limits there are %d segments", len(got))
	}
}

// TestAtoms: numbers, addresses and names stay whole where the limits leave them room.
func TestAtoms(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	atoms := []string{"https://example.com/a,b;c?d=e!f.g", "192.168.1.1", "1.000,50", "98.6", "v2.0.1", "a.b@example.com", "main.go", "24.12.2024", "10:30", "10–20", "10—20",
		"１，０００", "U.S.A.", "e.g.", "function_call_output", "$1,234.56", "1:49", "don't", "rock'n'roll", "3.14159"}
	fill := []string{"word", "Word", "word,", "word.", "word!", "(word)", "字。", "word —", "No."}
	for range 2000 {
		var b strings.Builder
		inside := make(map[int]string)
		for range 60 {
			if rng.IntN(2) == 0 {
				a := atoms[rng.IntN(len(atoms))]
				for i := 1; i < len(a); i++ {
					inside[b.Len()+i] = a
				}
				b.WriteString(a)
			} else {
				b.WriteString(fill[rng.IntN(len(fill))])
			}
			b.WriteString(" ")
		}
		at := 0
		for _, seg := range Split(b.String(), LimitsFor(70+rng.IntN(200))) {
			if at += len(seg); inside[at] != "" {
				t.Fatalf("%q is cut: ...%q", inside[at], seg)
			}
		}
	}
}

// TestSentencesOfSentences: a sentence alone is one sentence, and cut again, even
// after its white space is gone, it stays so. (Where lines are wrapped it need not:
// how long the first line was is gone.)
func TestSentencesOfSentences(t *testing.T) {
	all := corpus()
	for _, s := range all[:len(all)-2] {
		for _, one := range Sentences(s) {
			for _, again := range []string{one, strings.TrimSpace(one)} {
				if got := Sentences(again); len(got) != 1 {
					t.Errorf("%q is one sentence of %q, alone it is %q", again, s, got)
				}
			}
		}
	}
}

// TestPlain: no plain code point joins with another, and the common ones are plain.
func TestPlain(t *testing.T) {
	var c cluster
	for r := range unicode.MaxRune + 1 {
		if !plain(r) {
			continue
		}
		for _, other := range []rune{'a', ' ', '\n', r, '字', 'あ', 'я', '。'} {
			for _, pair := range [][2]rune{{r, other}, {other, r}} {
				if n := clusters(string(pair[:])); n != 2 {
					t.Fatalf("%q is %d clusters", string(pair[:]), n)
				}
				c.start(pair[0], 1)
				if c.joins(pair[1]) {
					t.Fatalf("%q joins", string(pair[:]))
				}
			}
		}
	}
	for _, r := range "aZ9 .é字あア、。！я“…" {
		if !plain(r) {
			t.Errorf("%q is not plain", r)
		}
	}
}

// TestClassOf: what is said agrees with Speakable, and every sentence end is known.
func TestClassOf(t *testing.T) {
	for r := range unicode.MaxRune + 1 {
		c := classOf(r)
		if c.said() != said(r) {
			t.Fatalf("%U is of class %d", r, c)
		}
		if unicode.Is(unicode.STerm, r) && c != wideStop && c != query && c != dot {
			t.Errorf("%U ends sentences and is of class %d", r, c)
		}
		if unicode.IsSpace(r) && c != space && c != newline && c != glue {
			t.Errorf("%U is white space and of class %d", r, c)
		}
	}
}

// TestTables: the look-ahead and the kept word are long enough for the tables.
func TestTables(t *testing.T) {
	for w := range starters {
		if n := len([]rune(w)); n >= maxPeek {
			t.Errorf("%q has %d letters", w, n)
		}
	}
	for w := range cues {
		if len(w) > maxCue {
			t.Errorf("%q has %d bytes", w, len(w))
		}
	}
	form := regexp.MustCompile(`^[\pL.]+$`)
	for w := range abbreviations {
		if len(w) > maxWord-utf8.UTFMax || strings.ToLower(w) != w || !form.MatchString(w) {
			t.Errorf("%q is never found", w)
		}
	}
}

func BenchmarkSplit(b *testing.B) {
	for name, s := range map[string]string{
		"English": "Mr. Smith, who was 98.6 years old, went to the U.S. Embassy (at 5 p.m.) and said: \"Hello there!\" Then he left. ",
		"German":  "Am 3. Mai fährt Dr. Müller, z. B. mit dem Zug, nach Köln – das dauert ca. zwei Stunden. Danach schläft er. ",
		"Russian": "А. С. Пушкин родился в Москве, т. е. в столице. «Стой!» — крикнул он громко, но никто не ответил ему. ",
		"Chinese": "他说：“你好。”然后走了，没有人知道他去了哪里；后来有人在1998年看见过他！",
	} {
		b.Run(name, func(b *testing.B) {
			s := strings.Repeat(s, 1+100_000/len(s))
			b.SetBytes(int64(len(s)))
			b.ReportAllocs()
			for b.Loop() {
				if len(Split(s, DefaultLimits())) == 0 {
					b.Fatal("no segments")
				}
			}
		})
	}
}

func ExampleSplit() {
	for _, s := range Split("Dr. Blue paid 1.000,50 €. He left.", Limits{Sentence: 1}) {
		fmt.Printf("%q\n", s)
	}
	// Output:
	// "Dr. Blue paid 1.000,50 €. "
	// "He left."
}
