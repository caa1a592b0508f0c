package voices

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// forbidden are the characters that separate or name something elsewhere: in paths,
// URLs, patterns and lists of flags.
const forbidden = `/\:*?"<>|%#,=&;` + "`"

// CheckName returns a name in the form in which it is kept (Unicode's NFC), or says what
// is wrong with it: names have 1 to 64 printable characters, one of them a letter or a
// number and none / \ : * ? " < > | % # , = & ; `, no space or dot at their ends and no
// hyphen or tilde at the beginning, and are neither "default" nor a device of Windows.
func CheckName(name string) (string, error) {
	const field = "name"
	if !utf8.ValidString(name) {
		return "", badValue(field, "it is not UTF-8")
	}
	if len(name) > 4*maxNameRunes*utf8.UTFMax { // not worth looking at
		return "", badValue(field, "%d bytes, allowed are %d characters", len(name), maxNameRunes)
	}
	clean := norm.NFC.String(name)
	switch n := utf8.RuneCountInString(clean); {
	case n == 0:
		return "", badValue(field, "it is empty, allowed are 1 to %d characters", maxNameRunes)
	case n > maxNameRunes:
		return "", badValue(field, "%d characters, allowed are 1 to %d", n, maxNameRunes)
	}
	visible := false
	for _, r := range clean {
		switch {
		case !unicode.IsPrint(r):
			return "", badValue(field, "%s has the character %U, which cannot be seen", quoted(clean), r)
		case strings.ContainsRune(forbidden, r):
			return "", badValue(field, "%s has %q, allowed are letters, numbers, spaces and marks but %s", quoted(clean), r, forbidden)
		}
		visible = visible || unicode.IsLetter(r) || unicode.IsNumber(r)
	}
	switch {
	case strings.Trim(clean, ". ") != clean:
		return "", badValue(field, "%s has a space or a dot at an end", quoted(clean))
	case strings.ContainsRune("-~", rune(clean[0])):
		return "", badValue(field, "%s begins with %q", quoted(clean), clean[0])
	case !visible:
		return "", badValue(field, "%s has no letter and no number", quoted(clean))
	case strings.EqualFold(clean, defaultName), isDevice(clean):
		return "", badValue(field, "%s is reserved", quoted(clean))
	}
	return clean, nil
}

// defaultName is the API's word for no voice in particular.
const defaultName = "default"

// isDevice reports whether Windows keeps a name for a device, whatever its extension.
func isDevice(name string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	stem = strings.TrimRight(stem, " ")
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	for _, port := range []string{"COM", "LPT"} {
		if n, ok := strings.CutPrefix(stem, port); ok && utf8.RuneCountInString(n) == 1 && strings.Contains("0123456789¹²³", n) {
			return true
		}
	}
	return false
}

// Fold is equal for names that count as one: those that differ in case, or in how
// Unicode writes the same character.
func Fold(name string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(name)))
}

const (
	// filePrefix keeps names from being those of devices, hidden files or options.
	filePrefix = "voice-"
	fileSuffix = ".json"

	// plainBytes is the longest escaped name that is a file's name as it is: file
	// systems take 255 bytes, some 143.
	plainBytes = 120
)

// fileName is the name of a voice's file. Letters a to z, digits, - and _ stand for
// themselves and every other byte is %XX, so that different names have different files;
// one that is too long ends in its SHA-256 behind a tilde, which no escape has.
func fileName(name string) string {
	folded := Fold(name)
	var b strings.Builder
	for i := range len(folded) {
		switch c := folded[i]; {
		case 'a' <= c && c <= 'z', '0' <= c && c <= '9', c == '-', c == '_':
			b.WriteByte(c)
		default:
			fmt.Fprintf(&b, "%%%02x", c)
		}
	}
	escaped := b.String()
	if len(escaped) > plainBytes {
		sum := sha256.Sum256([]byte(folded))
		escaped = escaped[:plainBytes-2*len(sum)-1] + "~" + hex.EncodeToString(sum[:])
	}
	return filePrefix + escaped + fileSuffix
}

// isVoiceFile reports whether a file of the folder is to be a voice.
func isVoiceFile(name string) bool {
	return strings.HasPrefix(name, filePrefix) && strings.HasSuffix(name, fileSuffix)
}

// quoted is text of a user for a message.
func quoted(s string) string {
	const most = 70
	if runes := []rune(s); len(runes) > most {
		s = string(runes[:most]) + "…"
	}
	return fmt.Sprintf("%q", s)
}
