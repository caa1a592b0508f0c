package text

import (
	"strings"
	"unicode"
)

// class is what a grapheme cluster is to the scanner, by its first code point.
type class uint8

const (
	symbol    class = iota // anything else: neither said nor a mark
	space                  // white space of a line, zero width space
	newline                // a line end; U+2029 ends a paragraph
	glue                   // no-break spaces
	ignorable              // joiners, direction marks: as if they were not there
	lower
	upper
	letter // of a script without case, or without case itself
	wide   // Han and Kana, written without spaces
	digit  // any number
	dot
	query     // ! and ?, which want white space behind
	ellipsis  // …
	wideStop  // 。！？； and all other sentence ends, which need no white space
	comma     // , ; : –, which want white space behind
	wideComma // ，、： and others, which need none
	dash      // —
	opening
	closing
	quote // opens or closes, by its place
	decor // * _ ~ ` and pictures, which may stand behind a mark
)

// said reports whether the class has something to say, as Speakable has it.
func (c class) said() bool { return lower <= c && c <= digit }

// asciiClass has the class of each ASCII character.
var asciiClass = func() (t [128]class) {
	for r := range rune(128) {
		switch {
		case 'a' <= r && r <= 'z':
			t[r] = lower
		case 'A' <= r && r <= 'Z':
			t[r] = upper
		case '0' <= r && r <= '9':
			t[r] = digit
		}
	}
	for c, set := range map[class]string{space: " \t", newline: "\n\v\f\r", dot: ".", query: "!?", comma: ",;:",
		opening: "([{", closing: ")]}", quote: "\"'", decor: "*_~`"} {
		for _, r := range set {
			t[r] = c
		}
	}
	return t
}()

// classOf returns the class of a code point.
func classOf(r rune) class {
	switch {
	case r < 128:
		return asciiClass[r]
	case 0x4e00 <= r && r <= 0x9fff:
		return wide
	case 0x0430 <= r && r <= 0x045f:
		return lower
	case 0x0410 <= r && r <= 0x042f:
		return upper
	case unicode.IsMark(r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r): // Hangul has letters that are not seen
		return ignorable
	case unicode.IsLetter(r):
		return letterClass(r)
	case unicode.IsNumber(r):
		return digit
	}
	return markClass(r)
}

func letterClass(r rune) class {
	switch {
	case unicode.IsLower(r):
		return lower
	case unicode.IsUpper(r), unicode.IsTitle(r):
		return upper
	case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Bopomofo), r == 'ー', r == '々':
		return wide
	}
	return letter
}

func markClass(r rune) class {
	switch r {
	case '\u0085', '\u2028', '\u2029':
		return newline
	case '\u00a0', '\u2007', '\u202f':
		return glue
	case '\u200b':
		return space
	case '．':
		return dot
	case '…', '‥':
		return ellipsis
	case '–':
		return comma
	case '—', '―', '⸺':
		return dash
	case '；':
		return wideStop
	case '¿', '¡', '„', '‚':
		return opening
	}
	switch {
	case strings.ContainsRune("，、：､،؛﹐﹑﹔﹕·፣፤", r):
		return wideComma
	case unicode.IsSpace(r):
		return space
	case unicode.Is(unicode.STerm, r):
		return wideStop
	case unicode.Is(unicode.Ps, r):
		return opening
	case unicode.Is(unicode.Pe, r), unicode.Is(unicode.Pf, r):
		return closing
	case unicode.Is(unicode.Pi, r):
		return quote
	case unicode.Is(unicode.Cf, r):
		return ignorable
	case unicode.Is(unicode.So, r), unicode.Is(unicode.Sk, r):
		return decor
	}
	return symbol
}

// plain reports whether a grapheme cluster ends between r and any other plain code
// point: it neither joins with the one before nor with the one behind. It knows the
// common ones only.
func plain(r rune) bool {
	switch {
	case r < 0x80:
		return r != '\r'
	case r < 0x300, 0x2010 <= r && r <= 0x20cf:
		return true
	case 0x400 <= r && r <= 0x52f:
		return r <= 0x482 || r >= 0x48a
	case 0x3001 <= r && r <= 0x30ff:
		return r < 0x302a || 0x3041 <= r && r <= 0x3096 || r > 0x30a0
	}
	return 0x4e00 <= r && r <= 0x9fff || 0xff01 <= r && r <= 0xff9d
}
