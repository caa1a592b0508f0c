// Package text checks text that users wrote, before any model sees it.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Speakable reports whether there is anything to say: a letter or a number of any
// script.
func Speakable(s string) bool {
	for _, r := range s {
		if unicode.IsLetter(r) || unicode.IsNumber(r) {
			return true
		}
	}
	return false
}

// Clean checks a text of at most limit characters and returns it without a leading
// byte order mark.
func Clean(s string, limit int) (string, error) {
	s = strings.TrimPrefix(s, "\ufeff")
	for i, r := range s {
		if r == utf8.RuneError {
			if _, size := utf8.DecodeRuneInString(s[i:]); size == 1 {
				return "", fmt.Errorf("not valid UTF-8 at byte %d", i)
			}
		}
		if r == 0 {
			return "", fmt.Errorf("NUL at byte %d", i)
		}
	}
	if n := utf8.RuneCountInString(s); n > limit {
		return "", fmt.Errorf("%d characters, allowed are %d", n, limit)
	}
	return s, nil
}
