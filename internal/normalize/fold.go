package normalize

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// folded are signs that become others before anything is read; what has no sound is
// left out.
var folded = map[rune]string{
	'‘': "'", '’': "'", '‚': "'", '‛': "'", '′': "'", 'ʼ': "'", '`': "'", '´': "'",
	'“': `"`, '”': `"`, '„': `"`, '‟': `"`, '«': `"`, '»': `"`, '″': `"`,
	'‐': "-", '‑': "-", '–': "—", '―': "—", '−': "-",
	'ß': "ss", 'ẞ': "SS", 'æ': "ae", 'Æ': "Ae", 'œ': "oe", 'Œ': "Oe", 'ø': "o", 'Ø': "O", 'ł': "l", 'Ł': "L",
	'đ': "d", 'Đ': "D", 'ð': "d", 'Ð': "D", 'þ': "th", 'Þ': "Th", 'ı': "i",
	'×': " x ", '÷': " divided by ", '№': "no. ", '•': " ", '·': " ", '™': "", '®': "", '©': "", '¿': "", '¡': "",
	'℃': "°C", '℉': "°F", '¢': " cents", '²': " squared", '³': " cubed",
}

var fractions = map[rune]string{
	'½': "1/2", '⅓': "1/3", '⅔': "2/3", '¼': "1/4", '¾': "3/4", '⅕': "1/5", '⅖': "2/5", '⅗': "3/5",
	'⅘': "4/5", '⅙': "1/6", '⅚': "5/6", '⅛': "1/8", '⅜': "3/8", '⅝': "5/8", '⅞': "7/8",
}

// dropped are combining accents, variation selectors, joiners and other signs of
// layout, skin tones, tags, the soft hyphen and the byte order mark.
var dropped = &unicode.RangeTable{
	R16: []unicode.Range16{
		{0x00ad, 0x00ad, 1}, {0x0300, 0x036f, 1}, {0x1ab0, 0x1aff, 1}, {0x1dc0, 0x1dff, 1}, {0x200b, 0x200f, 1}, {0x202a, 0x202e, 1},
		{0x2060, 0x206f, 1}, {0x20d0, 0x20ff, 1}, {0xfe00, 0xfe0f, 1}, {0xfe20, 0xfe2f, 1}, {0xfeff, 0xfeff, 1},
	},
	R32:         []unicode.Range32{{0x1f3fb, 0x1f3ff, 1}, {0xe0000, 0xe0fff, 1}},
	LatinOffset: 1,
}

// folder gives text the signs that the voice knows: plain quotes and dashes, letters
// without accents, one kind of white space and of digits.
type folder struct {
	last byte // of what came out
}

// rune returns what r becomes, which may be nothing.
func (f *folder) rune(r rune) string {
	out := f.fold(r)
	if out != "" {
		f.last = out[len(out)-1]
	}
	return out
}

func (f *folder) fold(r rune) string {
	if out, ok := folded[r]; ok {
		return out
	}
	if out, ok := fractions[r]; ok {
		if isDigit(f.last) {
			return " and " + out
		}
		return out
	}
	switch {
	case r < utf8.RuneSelf:
		return string(r)
	case unicode.Is(dropped, r):
		return ""
	case isSpace(r):
		return " "
	case unicode.Is(unicode.Nd, r):
		return string('0' + digitValue(r))
	}
	if base := base(r); base != 0 {
		return string(base)
	}
	if r != '°' && unicode.Is(unicode.So, r) {
		return " " // pictures
	}
	return string(r)
}

// base returns the Latin letter under the accents of r, or 0.
func base(r rune) rune {
	var char [utf8.UTFMax]byte
	decomposed := norm.NFD.Properties(char[:utf8.EncodeRune(char[:], r)]).Decomposition()
	if len(decomposed) > 0 && isLetter(decomposed[0]) {
		return rune(decomposed[0])
	}
	return 0
}

// digitValue returns what a decimal digit of any script counts: they stand in rows
// of ten that begin with the zero.
func digitValue(r rune) rune {
	for _, t := range unicode.Nd.R16 {
		if r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	for _, t := range unicode.Nd.R32 {
		if r <= rune(t.Hi) {
			return (r - rune(t.Lo)) % 10
		}
	}
	return 0
}

// isSpace reports white space, separators of files, groups, records and units included.
func isSpace(r rune) bool { return r >= 0x1c && r <= 0x1f || unicode.IsSpace(r) }

func isDigit(c byte) bool  { return '0' <= c && c <= '9' }
func isUpper(c byte) bool  { return 'A' <= c && c <= 'Z' }
func isLower(c byte) bool  { return 'a' <= c && c <= 'z' }
func isLetter(c byte) bool { return isUpper(c) || isLower(c) }

// beginsUpper reports whether s begins with a capital of any script.
func beginsUpper(s string) bool {
	r, _ := utf8.DecodeRuneInString(s)
	return unicode.IsUpper(r) || unicode.Is(unicode.Other_Uppercase, r)
}

func beginsDigit(s string) bool { return s != "" && isDigit(s[0]) }
func endsDigit(s string) bool   { return s != "" && isDigit(s[len(s)-1]) }

func hasDigit(s string) bool {
	for i := range len(s) {
		if isDigit(s[i]) {
			return true
		}
	}
	return false
}

// isWord reports whether r is of a word: a letter or a number of any script, or _.
func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsNumber(r) }
