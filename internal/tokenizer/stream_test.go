package tokenizer

import (
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"
)

// cutting feeds s to a new Stream in pieces of the given lengths and returns all ids.
func cutting(tok *Tokenizer, s string, length func(left int) int) []int {
	var ids []int
	stream := tok.NewStream()
	for s != "" {
		n := min(max(length(len(s)), 1), len(s))
		ids = append(ids, stream.Write(s[:n])...)
		s = s[n:]
	}
	return append(ids, stream.Close()...)
}

// checkCuts checks that s gives want however it is cut: whole, in bytes, in
// characters, and at random.
func checkCuts(t testing.TB, tok *Tokenizer, s string, want []int) {
	t.Helper()
	rng := rand.New(rand.NewPCG(uint64(len(s)), 7))
	for name, length := range map[string]func(left int) int{
		"whole":  func(left int) int { return left },
		"bytes":  func(int) int { return 1 },
		"threes": func(int) int { return 3 },
		"random": func(int) int { return 1 + rng.IntN(9) },
	} {
		if got := cutting(tok, s, length); !slices.Equal(got, want) {
			t.Errorf("%q in pieces (%s): %v, wanted %v", s, name, got, want)
		}
	}
	var ids []int
	stream := tok.NewStream()
	for _, r := range validUTF8(s) {
		ids = append(ids, stream.Write(string(r))...)
	}
	if ids = append(ids, stream.Close()...); !slices.Equal(ids, want) {
		t.Errorf("%q in characters: %v, wanted %v", s, ids, want)
	}
}

func TestStreamEqualsWhole(t *testing.T) {
	tok := small(t)
	rng := rand.New(rand.NewPCG(8, 9))
	for range 20000 {
		s := nastyText(rng, 14)
		checkCuts(t, tok, s, tok.EncodeText(s))
	}
}

// TestStreamSettled: the ids that came out at any time are the first of every text
// that goes on from there.
func TestStreamSettled(t *testing.T) {
	tok := small(t)
	rng := rand.New(rand.NewPCG(10, 11))
	for range 5000 {
		s := nastyText(rng, 10)
		stream := tok.NewStream()
		var ids []int
		for i := range len(s) {
			ids = append(ids, stream.Write(s[i:i+1])...)
			for range 4 {
				longer := s[:i+1] + nastyText(rng, 5)
				if all := tok.EncodeText(longer); len(all) < len(ids) || !slices.Equal(all[:len(ids)], ids) {
					t.Fatalf("%q settled %q, but %q is %q", s[:i+1], words(tok, ids), longer, words(tok, all))
				}
			}
		}
	}
}

// TestStreamDelay: what must be out after a piece, in readable cases and in prose.
func TestStreamDelay(t *testing.T) {
	tok := small(t)
	for _, c := range []struct{ text, out string }{
		{"hello", ""}, {"hello ", "hello"}, {"hello,", "hello"}, {"hello1", "hello1"}, {"hello\u0301", ""},
		{"hello w", "hello"}, {"hello 1", "hello 1"}, {"hello  w", "hello "}, {"a\n", "a"}, {"a\n\n ", "a"}, {"a\n\n x", "a\n\n"},
		{"a.", "a"}, {"a. b", "a."}, {"a.\n", "a"}, {"a's", "a"}, {"a't.", "a't"}, {"a'll,", "a'll"}, {"12", "12"}, {"你", ""}, {"你，", "你"}, {"你， ", "你，"},
		{" \n", ""}, {"\n\nhello ", "hello"}, {"\n \n", ""}, {"<|im_end|>", "<|im_end"},
	} {
		stream := tok.NewStream()
		if got := tok.Decode(stream.Write(c.text)); got != c.out {
			t.Errorf("after %q %q is out, wanted %q", c.text, got, c.out)
		}
	}
	const prose = `It was a bright cold day in April, and the clocks weren't striking 13. "Well," said Zoë, "the naïve café's open!"` + "\n\nShe'd (almost) run – over 3,000 m – to get here.\n"
	stream := tok.NewStream()
	var ids []int
	for i, r := range prose {
		ids = append(ids, stream.Write(string(r))...)
		seen := prose[:i] + string(r)
		last := strings.LastIndexAny(strings.TrimRight(seen, " \n"), " \n")
		if out := tok.Decode(ids); len(out) < last {
			t.Errorf("after %q only %q is out", seen, out)
		}
		if stream.Pending() > 16 {
			t.Errorf("after %q %d bytes are held", seen, stream.Pending())
		}
	}
}

// TestStreamAgain: after Close a Stream takes another text.
func TestStreamAgain(t *testing.T) {
	tok := small(t)
	stream := tok.NewStream()
	for _, s := range []string{"hello\xe4\xbd", "\n\nhello world ", "", "e\u0301"} {
		got := append(stream.Write(s), stream.Close()...)
		if want := tok.EncodeText(s); !slices.Equal(got, want) {
			t.Errorf("%q: %v, wanted %v", s, got, want)
		}
		if n := stream.Pending(); n != 0 {
			t.Errorf("%d bytes are held after Close", n)
		}
	}
	if ids := stream.Write(""); ids != nil {
		t.Errorf("nothing gives %v", ids)
	}
	if got := stream.Write("\xe4\xbd"); got != nil || stream.Pending() != 2 {
		t.Errorf("two bytes of three give %v, %d held", got, stream.Pending())
	}
	if got := words(tok, append(stream.Write("\xa0."), stream.Close()...)); !reflect.DeepEqual(strings.Join(got, ""), "你.") {
		t.Errorf("%q", got)
	}
}

func FuzzStream(f *testing.F) {
	f.Add("hello  wor\u0301ld\r\n it's 12 ", []byte{1, 3, 0, 7})
	f.Add("\n \n'ſ\xff\u1112\u1161\u11ab", []byte{2})
	tok := small(f)
	f.Fuzz(func(t *testing.T, s string, cuts []byte) {
		want := tok.EncodeText(s)
		i := 0
		got := cutting(tok, s, func(int) int {
			i++
			if len(cuts) == 0 {
				return 1
			}
			return int(cuts[i%len(cuts)])
		})
		if !slices.Equal(got, want) {
			t.Errorf("%q in pieces: %v, wanted %v", s, got, want)
		}
	})
}
