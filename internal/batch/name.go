package batch

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

const (
	// maxNameBytes bounds a name without its extension: some file systems take 143 bytes
	// in all, and an extension and a suffix follow.
	maxNameBytes = 120

	// minDigits is the least width of a number in a name.
	minDigits = 4
)

// forbidden are the characters that some file system does not take in a name.
const forbidden = `<>:"/\|?*`

// safeName makes a name of any text that every usual file system takes as it is, "" if
// nothing is left: no separators, no control characters, no dots or hyphens at the
// beginning, no dots or spaces at the end, no name of a device, not too long.
func safeName(s string) string {
	var b strings.Builder
	for _, r := range norm.NFC.String(strings.ToValidUTF8(s, "-")) {
		switch {
		case unicode.IsSpace(r):
			r = '_'
		case !unicode.IsPrint(r) || strings.ContainsRune(forbidden, r):
			r = '-'
		}
		b.WriteRune(r)
	}
	name := strings.TrimRight(strings.TrimLeft(b.String(), ".-_~"), ".-_ ")
	if len(name) > maxNameBytes {
		tail := "-" + shortHash(s)
		cut := maxNameBytes - len(tail)
		for !utf8.RuneStart(name[cut]) {
			cut--
		}
		name = strings.TrimRight(name[:cut], ".-_ ") + tail
	}
	if isDevice(name) {
		name = "_" + name
	}
	return name
}

// slug makes a name of a title: its letters and numbers with hyphens between.
func slug(title string) string {
	const most = 60 // bytes
	var b strings.Builder
	gap := false
	for _, r := range norm.NFC.String(strings.ToLower(title)) {
		if !unicode.IsLetter(r) && !unicode.IsNumber(r) && !unicode.IsMark(r) {
			gap = gap || r != '\'' && r != '’'
			continue
		}
		if gap && b.Len() > 0 {
			b.WriteByte('-')
		}
		gap = false
		if b.Len()+utf8.RuneLen(r) > most {
			break
		}
		b.WriteRune(r)
	}
	return strings.Trim(b.String(), "-")
}

// isDevice reports whether Windows keeps a name for a device, whatever its extension.
func isDevice(name string) bool {
	stem, _, _ := strings.Cut(strings.ToUpper(name), ".")
	stem = strings.TrimRight(stem, " ")
	switch stem {
	case "CON", "PRN", "AUX", "NUL", "CONIN$", "CONOUT$", "CLOCK$":
		return true
	}
	if port, ok := strings.CutPrefix(stem, "COM"); ok {
		return isPort(port)
	}
	port, ok := strings.CutPrefix(stem, "LPT")
	return ok && isPort(port)
}

func isPort(s string) bool {
	return utf8.RuneCountInString(s) == 1 && strings.Contains("0123456789¹²³", s)
}

func shortHash(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:4])
}

// foldName is equal for names that some file system takes for one.
func foldName(name string) string {
	return norm.NFKC.String(cases.Fold().String(norm.NFKC.String(name)))
}

// reserved are names that a job has for itself.
var reserved = []string{"manifest"}

// names returns a name without extension for each item, different from all others also
// where case does not count: the id made safe, or the number, with the title's words for a
// chapter. last is the name of the joined file, "" if there is none.
func names(items []Item, book string) (all []string, last string) {
	taken := map[string]bool{}
	for _, name := range reserved {
		taken[name] = true
	}
	take := func(name, of string) string {
		unique := name
		for n := 1; taken[foldName(unique)]; n++ {
			unique = name + "-" + shortHash(fmt.Sprintf("%s %d", of, n))
		}
		taken[foldName(unique)] = true
		return unique
	}
	if book != "" {
		last = take(orWord(safeName(book), "book"), book)
	}
	width := max(minDigits, len(fmt.Sprint(len(items))))
	if book != "" {
		width = max(2, len(fmt.Sprint(len(items))))
	}
	all = make([]string, len(items))
	for i := range items {
		it := &items[i]
		number := fmt.Sprintf("%0*d", width, it.Index)
		switch {
		case it.Title != "":
			all[i] = take(strings.TrimSuffix(number+"-"+slug(it.Title), "-"), it.Title)
		case it.ID != "":
			all[i] = take(orWord(safeName(it.ID), number), it.ID)
		default:
			all[i] = take(number, number)
		}
	}
	return all, last
}

func orWord(s, otherwise string) string {
	if s == "" {
		return otherwise
	}
	return s
}
