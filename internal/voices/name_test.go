package voices

import (
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

func TestCheckName(t *testing.T) {
	for name, want := range map[string]string{
		"anna": "anna", "Anna Maria 2": "Anna Maria 2", "O'Neil (old)": "O'Neil (old)", "日本": "日本", "a.b_c-d": "a.b_c-d", "7": "7",
		"Ze\u0301": "Z\u00e9", "no": "no", "com": "com", "com10": "com10", "console": "console", strings.Repeat("ä", 64): strings.Repeat("ä", 64), "😄x": "😄x",
	} {
		if got, err := CheckName(name); got != want || err != nil {
			t.Errorf("%q became %q, error %v, want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]string{
		"": "it is empty", " ": "space or a dot", "..": "space or a dot", ".": "space or a dot", ".hidden": "space or a dot", "end.": "space or a dot", " a": "space or a dot",
		"../../x": `has '/'`, `..\x`: `has '\\'`, "/abs": `has '/'`, "a/../../b": `has '/'`, "%2e%2e%2f": `has '%'`, "a:b": `has ':'`, "a*": `has '*'`,
		"a\x00b": "U+0000", "a\nb": "U+000A", "\x1b[31m": "U+001B", "a\u202eb": "U+202E", "a\u200bb": "U+200B", "a\u00a0b": "U+00A0", "\xff": "not UTF-8",
		"con": "reserved", "NUL": "reserved", "aux.txt": "reserved", "com1": "reserved", "LPT9.x": "reserved", "COM¹": "reserved", "Default": "reserved",
		"-rf": "begins with", "~root": "begins with", "!?": `has '?'`, "...!": "dot", "!!": "no letter",
		strings.Repeat("a", 65): "65 characters, allowed are 1 to 64", strings.Repeat("a", 300): "300 characters", strings.Repeat("a", 1<<20): "1048576 bytes",
	} {
		_, err := CheckName(name)
		wantKind(t, err, BadValue, want)
	}
}

func TestFileNames(t *testing.T) {
	for name, want := range map[string]string{
		"anna": "voice-anna.json", "ANNA": "voice-anna.json", "a b": "voice-a%20b.json", "é": "voice-%c3%a9.json", "e\u0301": "voice-%c3%a9.json",
		"Straße": "voice-strasse.json", "ﬁ": "voice-fi.json",
	} {
		if got := fileName(name); got != want {
			t.Errorf("the file of %q is %q, want %q", name, got, want)
		}
	}
	long := strings.Repeat("ä", 63)
	if a, b := fileName(long+"a"), fileName(long+"b"); a == b || len(a) > 143 || !strings.Contains(a, "~") {
		t.Errorf("long names have the files %q and %q", a, b)
	}
}

// Whatever a name is, it is either refused or has one file in the folder, which it
// shares with those names alone that count as the same.
func FuzzNames(f *testing.F) {
	for _, s := range []string{"anna", "Anna", "../x", "e\u0301", "\u00e9", "con", "a%20b", "a b", strings.Repeat("日", 64), "\xff", "ﬁ", "fi", "voice-a.json"} {
		f.Add(s, "fi")
	}
	f.Fuzz(func(t *testing.T, a, b string) {
		clean, err := CheckName(a)
		if err != nil {
			if strings.ContainsAny(err.Error(), "\n\r\x1b\x00") || len(err.Error()) > 2000 {
				t.Errorf("error %q", err)
			}
			return
		}
		if again, err := CheckName(clean); again != clean || err != nil || !norm.NFC.IsNormalString(clean) || utf8.RuneCountInString(clean) > maxNameRunes {
			t.Errorf("%q became %q, and then %q, error %v", a, clean, again, err)
		}
		file := fileName(clean)
		if filepath.Base(file) != file || len(file) > 143 || strings.ToLower(file) != file || !isVoiceFile(file) || strings.ContainsAny(file, `/\: `) {
			t.Errorf("the file of %q is %q", clean, file)
		}
		if other, err := CheckName(b); err == nil && (fileName(other) == file) != (Fold(other) == Fold(clean)) {
			t.Errorf("%q and %q have the files %q and %q", clean, other, file, fileName(other))
		}
	})
}
