package tokenizer

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// joiners are characters that join with, or order themselves among, others.
var joiners = []rune("aeoAEOqslK<=ſéǭÅ\u212bẹậệ한ᆯ하한\u09c7\u09be\u09d7\u0b92\u0bc6\u0bd7か\u3099ェ\u0915\u093c\u0958\u1025\u102e\U00011131\U00011127\U0001d157\U0001d165\U0001d15e" +
	"\u0300\u0301\u0302\u0304\u0306\u0308\u030a\u0323\u0327\u0328\u0331\u0338\u0340\u0344\u0345\u034f\u035c\u05b8\u05c1\u064b\u0651\u0f71\u0f72\u0f73\u200d ")

func joinerText(rng *rand.Rand, max int) string {
	var b strings.Builder
	for range rng.IntN(max + 1) {
		b.WriteRune(joiners[rng.IntN(len(joiners))])
	}
	return b.String()
}

// TestNFC compares our own walk with x/text, on texts too short for the marks that
// x/text puts into long runs.
func TestNFC(t *testing.T) {
	rng := rand.New(rand.NewPCG(12, 13))
	for range 200000 {
		s := joinerText(rng, 8)
		var got []byte
		for rest := s; rest != ""; {
			n := segment(rest)
			got = appendNFC(got, rest[:n])
			rest = rest[n:]
		}
		if want := norm.NFC.String(s); string(got) != want || nfc(s) != want {
			t.Fatalf("%+q: %+q, %+q, wanted %+q", s, got, nfc(s), want)
		}
	}
	for r := range unicode.MaxRune + 1 {
		if s := string(r); nfc(s) != norm.NFC.String(s) {
			t.Errorf("%+q: %+q, wanted %+q", s, nfc(s), norm.NFC.String(s))
		}
	}
}

// TestNFCLongRuns: a run of any length is ordered and joined as short ones are, and
// nothing is put into it.
func TestNFCLongRuns(t *testing.T) {
	for _, c := range []struct{ in, want string }{
		{"a" + strings.Repeat("\u0301", 100), "á" + strings.Repeat("\u0301", 99)},
		{"e" + strings.Repeat("\u0301\u0323", 40), "ẹ" + strings.Repeat("\u0323", 39) + strings.Repeat("\u0301", 40)},
		{"o" + strings.Repeat("\u0338", 50) + "\u0308", "ö" + strings.Repeat("\u0338", 50)},
		{"ᄒ" + strings.Repeat("ᅡ", 60) + "ᆫ", "하" + strings.Repeat("ᅡ", 59) + "ᆫ"},
		{strings.Repeat("\u0301\u0323", 40), strings.Repeat("\u0323", 40) + strings.Repeat("\u0301", 40)},
	} {
		if got := nfc(c.in); got != c.want {
			t.Errorf("%+q: %+q, wanted %+q", c.in, got, c.want)
		}
	}
	rng := rand.New(rand.NewPCG(14, 15))
	for range 300 {
		s := joinerText(rng, 300)
		got := nfc(s)
		if strings.Count(got, "\u034f") != strings.Count(s, "\u034f") {
			t.Fatalf("%+q: U+034F was put in: %+q", s, got)
		}
		// Decomposed by single characters and ordered, both give the same marks.
		if a, b := canonical(got), canonical(s); !slices.Equal(a, b) {
			t.Fatalf("%+q: %+q is another text", s, got)
		}
		if again := nfc(got); again != got {
			t.Fatalf("%+q: %+q is not in NFC, %+q is", s, got, again)
		}
	}
}

// canonical is the decomposition of s with marks in order, by the definition.
func canonical(s string) []rune {
	list := []rune(nil)
	for _, r := range s {
		list = append(list, []rune(norm.NFD.String(string(r)))...)
	}
	ccc := func(r rune) uint8 { return norm.NFD.PropertiesString(string(r)).CCC() }
	for i := range list { // insertion sort of each run of marks
		for j := i; j > 0 && ccc(list[j]) != 0 && ccc(list[j-1]) > ccc(list[j]); j-- {
			list[j], list[j-1] = list[j-1], list[j]
		}
	}
	return list
}

// TestSegmentClass is what scanner.peek stands on: the first character of a segment
// has the class of whatever it becomes in the normal form of the segment. Joined
// characters have the class of the first of their decomposition, and marks, which
// change places, have one class.
func TestSegmentClass(t *testing.T) {
	for r := range unicode.MaxRune + 1 {
		if !utf8.ValidRune(r) {
			continue
		}
		p := norm.NFC.PropertiesString(string(r))
		first, _ := utf8.DecodeRuneInString(norm.NFD.String(string(r)))
		if classOf(first) != classOf(r) {
			t.Errorf("%U is of class %d, its decomposition %U of class %d", r, classOf(r), first, classOf(first))
		}
		if p.CCC() != 0 && classOf(r) != other {
			t.Errorf("%U is a mark of class %d", r, classOf(r))
		}
	}
}
