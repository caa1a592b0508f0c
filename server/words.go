package server

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// quotedRunes is how much of what a client sent its error message shows.
const quotedRunes = 60

// quoted is text of a client for a message: in quotes, escaped, and not too long.
func quoted(s string) string { return strconv.Quote(abridged(s)) }

// abridged shortens text for a message.
func abridged(s string) string {
	if len(s) <= quotedRunes {
		return s
	}
	if runes := []rune(s); len(runes) > quotedRunes {
		return string(runes[:quotedRunes]) + "…"
	}
	return s
}

// printable takes out what could break a line or act on a terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// list is names for a message.
func list(names []string) string { return strings.Join(names, ", ") }

func plural[T int | int64](n T, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
