// Package text looks at text of users before anything is made of it: whether it is
// well-formed and within a limit, and whether there is anything in it to say.
// It never shortens or changes text, but for a byte order mark at its start.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limit is the most characters (Unicode code points) that a text may have. Name is
// how the user knows the limit: the field, flag or setting that is to blame.
type Limit struct {
	Name string
	Max  int
}

// InputError says why a text is refused. Its message is fit for the user.
type InputError struct {
	Offset  int // byte of the text, or -1 if the whole is meant
	Problem string
}

func (e *InputError) Error() string {
	if e.Offset < 0 {
		return "text: " + e.Problem
	}
	return fmt.Sprintf("text: byte %d: %s", e.Offset, e.Problem)
}

const byteOrderMark = "\uFEFF"

// Clean checks a text of a user: UTF-8, no NUL, and no more characters than limit
// allows. It returns the text without a byte order mark at its start, or an
// *InputError. Offsets count from the start of s, mark included.
func Clean(s string, limit Limit) (string, error) {
	clean := strings.TrimPrefix(s, byteOrderMark)
	mark := len(s) - len(clean)
	count := 0
	for i, r := range clean {
		switch {
		case r == 0:
			return "", &InputError{mark + i, "a NUL character"}
		case r == utf8.RuneError && !strings.HasPrefix(clean[i:], "\uFFFD"):
			problem := fmt.Sprintf("%#02x is not UTF-8", clean[i])
			if strings.HasPrefix(s, "\xff\xfe") || strings.HasPrefix(s, "\xfe\xff") {
				problem = "this is UTF-16, wanted UTF-8"
			}
			return "", &InputError{mark + i, problem}
		}
		count++
	}
	if count > limit.Max {
		return "", &InputError{-1, fmt.Sprintf("%d characters, %s allows %d", count, limit.Name, limit.Max)}
	}
	return clean, nil
}

// Speakable reports whether s holds anything to say: at least one letter or number
// of any script (Unicode categories L and N).
func Speakable(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
}
