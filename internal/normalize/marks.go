package normalize

import (
	"strings"
	"unicode/utf8"
)

// marker takes marks of emphasis, headings, quotations and lists from white-space
// tokens.
type marker struct {
	any     bool   // a token was kept
	paused  bool   // the last one that was kept ends with a pause
	digit   bool   // the last token as written ends with a digit
	waiting string // a mark behind a digit: a sign of calculation if a digit follows
}

type verdict uint8

const (
	keep verdict = iota
	drop
	wait
)

// next returns a token without marks of emphasis and what is to become of it.
func (m *marker) next(token string) (string, verdict) {
	plain, what := m.decide(token)
	m.digit = endsDigit(token)
	switch what {
	case keep:
		m.passed(plain)
	case wait:
		m.waiting = token
	}
	return plain, what
}

// passed notes that a token was kept.
func (m *marker) passed(token string) {
	last, _ := utf8.DecodeLastRuneInString(token)
	m.any, m.paused = true, strings.ContainsRune("—.:!?,;", last)
}

func (m *marker) decide(token string) (string, verdict) {
	if !strings.ContainsRune("*_~#-+>|='", rune(token[0])) && !strings.ContainsAny(token, "*_~") {
		return token, keep
	}
	if !isMark(token) {
		return unmarked(token), keep
	}
	switch {
	case token[0] == '-' && m.any && !m.paused:
		return "—", keep // a dash inside of a sentence is a pause
	case token == "+" && m.any:
		return token, keep
	case (token == "*" || token == ">") && m.digit:
		return token, wait
	}
	return token, drop
}

// isMark reports whether a token is nothing but a mark.
func isMark(token string) bool {
	if strings.Trim(token, "*_~") == "" {
		return true
	}
	alike := strings.Trim(token, token[:1]) == ""
	switch token[0] {
	case '#':
		return alike && len(token) <= 6
	case '-':
		return alike
	case '=':
		return alike && len(token) >= 2
	case '+', '>', '|':
		return len(token) == 1
	}
	return false
}

// unmarked takes the marks of emphasis around a token away, and the apostrophe of '90s.
func unmarked(token string) string {
	if len(token) > 3 && token[0] == '\'' && isDigit(token[1]) && isDigit(token[2]) && token[3] == 's' {
		token = token[1:]
	}
	if !about(token) {
		token = strings.TrimLeft(token, "*_~")
	}
	word := strings.TrimRight(token, `.,;:!?"')`)
	if bold := strings.TrimRight(word, "*_~"); bold != "" {
		return bold + token[len(word):]
	}
	return token
}

// about reports whether the token is a number with a ~ before it.
func about(token string) bool {
	number, found := strings.CutPrefix(token, "~")
	if !found {
		return false
	}
	if r, n := utf8.DecodeRuneInString(number); strings.ContainsRune(currencies, r) {
		number = number[n:]
	}
	return beginsDigit(number)
}
