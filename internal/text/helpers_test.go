package text

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/clipperhouse/uax29/v2/graphemes"
)

// someLimits are limits that tests go through, among them odd ones.
var someLimits = []Limits{
	{}, DefaultLimits(), SentenceLimits(), LimitsFor(20), LimitsFor(7), {1, 1, 1, 1}, {Hard: 5}, {Word: 4},
	{Sentence: 10, Clause: 3, Word: 30, Hard: 8}, {10, 10, 10, 10}, {5, 40, 6, 45},
}

// corpus returns all texts of the tables of cases.
func corpus() (texts []string) {
	for _, name := range slices.Sorted(mapKeys(sentenceCases)) {
		for _, c := range sentenceCases[name] {
			texts = append(texts, strings.ReplaceAll(c, "|", ""))
		}
	}
	texts = append(texts, strings.Join(texts, " "), strings.Join(texts, ""))
	return texts
}

func mapKeys[V any](m map[string]V) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

// randomText joins bits that matter to the rule.
func randomText(rng *rand.Rand, n int) string {
	bits := []string{" ", " ", " ", " ", "\n", "\n\n", "\r\n", ".", ".", ".", "!", "?", ",", ":", "-", " - ", "–", "—", "…", "...", "。", "，", "！", "；",
		"(", ")", "\"", "'", "“", "”", "«", "»", "「", "」", "*", "_", "😄", "👨‍👩‍👧", "🇩🇪", "é", "e\u0301", "\u0301", "\u200d", "\u00a0", "\u200b", "\u2029", "\u00ad",
		"a", "b", "Word", "word", "The", "then", "Dr", "e.g", "U.S", "etc", "z. B.", "am", "3", "12", "1998", "Mai", "No", "I", "J", "你", "好", "です", "네", "क्षि", "я", "IV", "ﬁ", "½", "\u0600"}
	var b strings.Builder
	for range n {
		b.WriteString(bits[rng.IntN(len(bits))])
	}
	return b.String()
}

// checkSegments checks what holds for any text and limits.
func checkSegments(t *testing.T, s string, l Limits, segments []string) {
	t.Helper()
	if !Speakable(s) {
		if len(segments) > 0 {
			t.Fatalf("Split(%q, %v) = %q, there is nothing to say", s, l, segments)
		}
		return
	}
	if joined := strings.Join(segments, ""); joined != s {
		t.Fatalf("Split(%q, %v) = %q, which is another text", s, l, segments)
	}
	breaks := clusterEnds(s)
	at := 0
	for i, seg := range segments {
		at += len(seg)
		if !Speakable(seg) {
			t.Fatalf("Split(%q, %v): segment %q has nothing to say", s, l, seg)
		}
		if !breaks[at] {
			t.Fatalf("Split(%q, %v): segment %q ends within a grapheme cluster", s, l, seg)
		}
		if i > 0 && strings.TrimLeft(seg, " \n\t") != seg {
			t.Fatalf("Split(%q, %v): segment %q begins with white space", s, l, seg)
		}
		if most := l.byStrength()[hard]; longest(seg) > most {
			t.Fatalf("Split(%q, %v): segment %q has %d characters", s, l, seg, longest(seg))
		}
	}
}

// longest counts the characters of a segment from its first letter or number up to
// the cluster that holds the last.
func longest(seg string) int {
	first := strings.IndexFunc(seg, said)
	last := first
	for i, r := range seg {
		if said(r) {
			last = i
		}
	}
	seg = seg[first:]
	it, count, before := graphemes.FromString(seg), 0, 0
	for it.Next() {
		if it.Start() <= last-first {
			before = count + 1
		}
		count += utf8.RuneCountInString(it.Value())
	}
	return before
}

func said(r rune) bool { return Speakable(string(r)) }

// clusterEnds returns the ends of the grapheme clusters of s, and all places within
// those of more than maxCluster code points.
func clusterEnds(s string) []bool {
	ends := make([]bool, len(s)+1)
	for it := graphemes.FromString(s); it.Next(); {
		ends[it.End()] = true
		if utf8.RuneCountInString(it.Value()) > maxCluster {
			for i := range it.Value() {
				ends[it.Start()+i] = true
			}
		}
	}
	return ends
}

// pieces cuts s at random places.
func pieces(rng *rand.Rand, s string) (cut []string) {
	most := 1 + rng.IntN(9)
	for len(s) > 0 {
		n := min(len(s), rng.IntN(most+1))
		cut = append(cut, s[:n])
		s = s[n:]
	}
	return cut
}

// write sends pieces through a Segmenter and returns the segments.
func write(t *testing.T, l Limits, cut []string) []string {
	t.Helper()
	s := NewSegmenter(l)
	var all []Part
	for _, p := range cut {
		parts, err := s.Write(p)
		if err != nil {
			t.Fatalf("Write(%q) of %q: %v", p, cut, err)
		}
		all = append(all, parts...)
	}
	parts, err := s.Close()
	if err != nil {
		t.Fatalf("Close of %q: %v", cut, err)
	}
	all = append(all, parts...)
	if n := len(all); n > 0 && !all[n-1].End {
		t.Fatalf("%q: the last part %q ends no segment", cut, all[n-1].Text)
	}
	for i, p := range all {
		if !p.End && (p.Text == "" || i > 0 && !all[i-1].End && strings.TrimSpace(p.Text) == "") {
			t.Fatalf("%q: part %d %q is no text", cut, i, p.Text)
		}
		if !p.End && strings.TrimRight(p.Text, " \n\t") != p.Text {
			t.Fatalf("%q: part %d %q lets white space go that may end the segment", cut, i, p.Text)
		}
	}
	return join(all)
}

// join returns the segments that parts make; the last may be under way.
func join(parts []Part) (segments []string) {
	var b strings.Builder
	for _, p := range parts {
		b.WriteString(p.Text)
		if p.End {
			segments = append(segments, b.String())
			b.Reset()
		}
	}
	if b.Len() > 0 {
		segments = append(segments, b.String())
	}
	return segments
}

func checkText(t *testing.T, rng *rand.Rand, s string, l Limits) {
	t.Helper()
	want := Split(s, l)
	checkSegments(t, s, l, want)
	if got := write(t, l, pieces(rng, s)); !slices.Equal(got, want) {
		t.Fatalf("in pieces with %v:\n%q, wanted\n%q", l, got, want)
	}
	if got := write(t, l, strings.Split(s, "")); !slices.Equal(got, want) {
		t.Fatalf("by characters with %v:\n%q, wanted\n%q", l, got, want)
	}
}
