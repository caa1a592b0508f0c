package text

import (
	"errors"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestSpeakable(t *testing.T) {
	for _, s := range []string{"", "   ", "\n\n", ".", "…", "😄", "***", "—", "\u200b", "\u0301", "¿?", "\xff\xfe", "\x00", "™", "\ufeff"} {
		if Speakable(s) {
			t.Errorf("%q is speakable", s)
		}
	}
	for _, s := range []string{"9", "8...", "9 8 7", "٣", "Ⅳ", "½", "²", "a", " … é", "你", "ー", "한", "ª", "\xff1", "***b***"} {
		if !Speakable(s) {
			t.Errorf("%q is not speakable", s)
		}
	}
}

func TestClean(t *testing.T) {
	limit := Limit{Name: "max_input", Max: 5}
	for _, c := range []struct{ in, out, problem string }{
		{"", "", ""},
		{"hello", "hello", ""},
		{"  a\n ", "  a\n ", ""},
		{"你好你好你", "你好你好你", ""},
		{"a\uFFFDb", "a\uFFFDb", ""},
		{"\uFEFFhello", "hello", ""},
		{"\uFEFF\uFEFFa", "\uFEFFa", ""},
		{"a\uFEFFb", "a\uFEFFb", ""},
		{"hello!", "", "text: 6 characters, max_input allows 5"},
		{"你好你好你好", "", "text: 6 characters, max_input allows 5"},
		{"a\x00", "", "text: byte 1: a NUL character"},
		{"\uFEFFa\x00", "", "text: byte 4: a NUL character"},
		{"é\xff", "", "text: byte 2: 0xff is not UTF-8"},
		{"\uFEFF\xe4\xbd", "", "text: byte 3: 0xe4 is not UTF-8"},
		{"ab\xed\xa0\x80", "", "text: byte 2: 0xed is not UTF-8"},
		{"\xff\xfeh\x00i\x00", "", "text: byte 0: this is UTF-16, wanted UTF-8"},
		{strings.Repeat("x", 100) + "\xff", "", "text: byte 100: 0xff is not UTF-8"},
	} {
		out, err := Clean(c.in, limit)
		problem := ""
		if err != nil {
			problem = err.Error()
		}
		var ie *InputError
		if out != c.out || problem != c.problem || err != nil && !errors.As(err, &ie) {
			t.Errorf("Clean(%q) = %q, %v; wanted %q, %s", c.in, out, err, c.out, c.problem)
		}
	}
}

// FuzzClean: what is accepted is the text itself, and what is refused has a reason.
func FuzzClean(f *testing.F) {
	f.Add("\uFEFFhello\x00\xff", 5)
	f.Fuzz(func(t *testing.T, s string, most int) {
		out, err := Clean(s, Limit{"limit", most})
		want := strings.TrimPrefix(s, byteOrderMark)
		good := utf8.ValidString(want) && !strings.Contains(want, "\x00") && utf8.RuneCountInString(want) <= most
		if good != (err == nil) || good && out != want {
			t.Errorf("Clean(%q, %d) = %q, %v", s, most, out, err)
		}
	})
}
