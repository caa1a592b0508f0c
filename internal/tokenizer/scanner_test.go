package tokenizer

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/dlclark/regexp2/v2"
)

var patternRegexp = regexp2.MustCompile(Pattern)

// regexpWords cuts s by the pattern itself.
func regexpWords(t testing.TB, s string) []string {
	t.Helper()
	var list []string
	m, err := patternRegexp.FindStringMatch(s)
	for ; m != nil && err == nil; m, err = patternRegexp.FindNextMatch(m) {
		list = append(list, m.String())
	}
	if err != nil {
		t.Fatal(err)
	}
	return list
}

// scanWords cuts s by the scanner.
func scanWords(s string) []string {
	var list []string
	var sc scanner
	for len(s) > 0 {
		n, ok := sc.next(s)
		if !ok {
			n = sc.finish()
		}
		list = append(list, s[:n])
		s = s[n:]
	}
	return list
}

func TestScanner(t *testing.T) {
	for _, s := range []string{
		"", " ", "  ", "a  b", "a \n b", "\n \n x", " \r\n\t x", "x\u00a0\u00a0y", "\u3000\u3000。", "12 34", "  12", " ½", "  !", "\t!", "\u2003!", " !\n\n a",
		"I'M DON'T we'LL they'Ve 'llama ''s 's's 'l 'r 'v ' 'ſ '\u212a l'été 'le 'ra 'tis", "a\u0301b", " \u0301b", "'\u0301b", "!a !!a", "!\n!\n", "\u200b\u200ba", "\u0085\u0085x",
	} {
		if got, want := scanWords(s), regexpWords(t, s); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, wanted %q", s, got, want)
		}
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 20000 {
		s := validUTF8(nastyText(rng, 12))
		if got, want := scanWords(s), regexpWords(t, s); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q: %q, wanted %q", s, got, want)
		}
	}
}

// TestScannerSettled: what next returns while more may follow is the first word of
// every longer text.
func TestScannerSettled(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for range 20000 {
		s := validUTF8(nastyText(rng, 6))
		var sc scanner
		n, ok := sc.next(s)
		if !ok {
			continue
		}
		for range 5 {
			longer := s + validUTF8(nastyText(rng, 4))
			if got := regexpWords(t, longer)[0]; got != s[:n] {
				t.Fatalf("%q is settled as the first word of %q, but of %q it is %q", s[:n], s, longer, got)
			}
		}
	}
}

func FuzzScanner(f *testing.F) {
	for _, s := range []string{"it's  a \n test, I'LL 12½!", " \r\n \t'ſ", "\u3000\u200b\u0085\u00a0x", "'l'r've're"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		s = validUTF8(s)
		if got, want := scanWords(s), regexpWords(t, s); !reflect.DeepEqual(got, want) {
			t.Errorf("%q: %q, wanted %q", s, got, want)
		}
	})
}

// floods are texts that trip backtracking patterns and quadratic loops.
func floods() map[string]string {
	const n = 100_000
	return map[string]string{
		"digits":              strings.Repeat("1", n),
		"decimals":            strings.Repeat("1.", n),
		"brackets":            strings.Repeat("(", n),
		"spaces":              strings.Repeat(" ", n),
		"spaces, then a word": strings.Repeat(" ", n) + "x",
		"spaces and breaks":   strings.Repeat(" \n", n),
		"a break, spaces":     "\n" + strings.Repeat(" ", n) + "x",
		"quotes":              strings.Repeat("'", n),
		"quote l":             strings.Repeat("'l", n),
		"marks":               "a" + strings.Repeat("\u0301", n),
		"mixed marks":         "a" + strings.Repeat("\u0301\u0323\u0338", n),
		"jamo":                strings.Repeat("한", n),
		"jamo vowels":         "ᄒ" + strings.Repeat("ᅡ", n),
		"angle brackets":      strings.Repeat("<", n),
		"almost added":        strings.Repeat("<|im_start|", n),
		"invalid bytes":       strings.Repeat("\xf0\x9f", n),
		"one letter":          strings.Repeat("a", 1_000_000),
		"one word":            strings.Repeat("hello", 200_000),
		"one word of CJK":     strings.Repeat("你好", 60_000),
	}
}

// TestFloods: encoding takes linear time, whole and in single bytes. The limit is
// far above what a slow machine needs and far below what quadratic work would.
func TestFloods(t *testing.T) {
	const limit = 20 * time.Second
	tok := small(t)
	for name, s := range floods() {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			want := tok.Encode(s)
			whole := time.Since(start)
			stream := tok.NewStream()
			var got []int
			for i := range len(s) {
				got = append(got, stream.Write(s[i:i+1])...)
			}
			got = append(got, stream.Close()...)
			if d := time.Since(start); d > limit {
				t.Errorf("%d bytes took %v, of it %v whole; allowed %v", len(s), d, whole, limit)
			}
			if want2 := tok.EncodeText(s); !reflect.DeepEqual(got, want2) {
				t.Errorf("in bytes %d ids, wanted %d", len(got), len(want2))
			}
			if text := nfc(validUTF8(s)); tok.Decode(want) != text {
				t.Error("does not decode to itself")
			}
		})
	}
}
