package tokenizer

import (
	"unicode"
	"unicode/utf8"
)

// Pattern cuts normalised text into words; the alternatives are tried in this
// order at each place. Go's regexp lacks the look-ahead, so scanner is written by
// hand and tested against a regular expression engine that has it.
const Pattern = `(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+`

// class is what the pattern sees of a character.
type class uint8

const (
	other  class = iota // [^\s\p{L}\p{N}]
	letter              // \p{L}
	number              // \p{N}
	space               // \s without CR and LF
	brk                 // [\r\n]
)

var asciiClass = func() (t [utf8.RuneSelf]class) {
	for r := range t {
		t[r] = unicodeClass(rune(r))
	}
	return t
}()

func unicodeClass(r rune) class {
	switch {
	case r == '\r' || r == '\n':
		return brk
	case unicode.IsLetter(r):
		return letter
	case unicode.IsNumber(r):
		return number
	case unicode.IsSpace(r):
		return space
	}
	return other
}

func classOf(r rune) class {
	if r < utf8.RuneSelf {
		return asciiClass[r]
	}
	return unicodeClass(r)
}

// state is what is known of the word under way.
type state uint8

const (
	atStart   state = iota // nothing read
	inLead                 // one "other", which may lead a word of letters
	inQuote                // ', which may also begin a contraction
	inQuoteL               // 'l, wanting l
	inQuoteE               // 'r or 'v, wanting e
	inLetters              // [^\r\n\p{L}\p{N}]?\p{L}+
	inMarks                //  ?[^\s\p{L}\p{N}]+
	inBreaks               // the [\r\n]* after inMarks
	inSpace                // one white space character that may lead a word
	inWhite                // a longer run of white space, or one with a line break
)

// scanner finds the end of one word after the other, in a text of which more may
// follow. It looks at each character at most three times, however the text is cut.
type scanner struct {
	state state
	n     int  // bytes of the word under way that were read
	last  int  // in a run of white space: where its last character begins
	brk   int  // in a run of white space: the end of its last line break, or 0
	plain bool // the one character of inSpace is U+0020, which may also lead marks
}

// next returns the length of the first word of s, once no text that may follow s
// can change it. Otherwise ok is false, and the next call must be given the same
// text with more behind it: reading goes on where it stopped.
func (sc *scanner) next(s string) (n int, ok bool) {
	for sc.n < len(s) {
		r, size := rune(s[sc.n]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s[sc.n:])
		}
		if n := sc.step(r, size); n > 0 {
			*sc = scanner{}
			return n, true
		}
		sc.n += size
	}
	return 0, false
}

// peek does what next does when the text goes on with the segment seg, whose normal
// form is still open: marks may join its first character, which makes another
// character but never one of another class. It returns 0 if that does not tell.
func (sc *scanner) peek(seg []byte) (n int) {
	switch sc.state {
	case atStart, inQuote, inQuoteL, inQuoteE:
		return 0 // which character it is matters too
	}
	r, size := utf8.DecodeRune(seg)
	if size == 0 {
		return 0
	}
	ahead := *sc
	if n = ahead.step(r, size); n > 0 {
		*sc = scanner{}
	}
	return n
}

// finish returns the length of the first word of s when nothing follows s, after
// next returned false for it.
func (sc *scanner) finish() (n int) {
	n = sc.n
	if sc.brk > 0 {
		n = sc.brk
	}
	*sc = scanner{}
	return n
}

// step reads one character. It returns the length of the word if that is now
// settled, else 0 and the character belongs to the word under way.
func (sc *scanner) step(r rune, size int) int {
	c := classOf(r)
	switch sc.state {
	case atStart:
		return sc.begin(r, c, size)
	case inQuote, inQuoteL, inQuoteE:
		return sc.contraction(r, c, size)
	case inLead:
		return sc.lead(c)
	case inLetters:
		if c == letter {
			return 0
		}
	case inMarks:
		switch c {
		case other:
			return 0
		case brk:
			sc.state = inBreaks
			return 0
		}
	case inBreaks:
		if c == brk {
			return 0
		}
	case inSpace, inWhite:
		return sc.white(c, size)
	}
	return sc.n
}

func (sc *scanner) begin(r rune, c class, size int) int {
	switch c {
	case letter:
		sc.state = inLetters
	case number:
		return size
	case space:
		sc.state, sc.plain = inSpace, r == ' '
	case brk:
		sc.state, sc.brk = inWhite, size
	case other:
		sc.state = inLead
		if r == '\'' {
			sc.state = inQuote
		}
	}
	return 0
}

// lead reads the character after one that may lead letters.
func (sc *scanner) lead(c class) int {
	switch c {
	case letter:
		sc.state = inLetters
	case other:
		sc.state = inMarks
	case brk:
		sc.state = inBreaks
	default:
		return sc.n
	}
	return 0
}

// contraction reads on after ' and what may begin one of 's 't 're 've 'm 'll 'd.
// Case folding is Unicode's: ſ (U+017F) is an s.
func (sc *scanner) contraction(r rune, c class, size int) int {
	lower := unicode.ToLower(r)
	if r == 'ſ' {
		lower = 's'
	}
	if sc.state == inQuote {
		switch lower {
		case 's', 't', 'm', 'd':
			return sc.n + size
		case 'l':
			sc.state = inQuoteL
			return 0
		case 'r', 'v':
			sc.state = inQuoteE
			return 0
		}
		return sc.lead(c)
	}
	if sc.state == inQuoteL && lower == 'l' || sc.state == inQuoteE && lower == 'e' {
		return sc.n + size
	}
	sc.state = inLetters
	if c == letter {
		return 0
	}
	return sc.n
}

// white reads on in a run of white space. When the run ends, the word is all up
// to its last line break; without one, all but its last character; and a single
// character joins the letters (or, if U+0020, the marks) behind it.
func (sc *scanner) white(c class, size int) int {
	switch {
	case c == brk:
		sc.state, sc.last, sc.brk = inWhite, sc.n, sc.n+size
		return 0
	case c == space:
		sc.state, sc.last = inWhite, sc.n
		return 0
	case sc.brk > 0:
		return sc.brk
	case sc.state == inWhite:
		return sc.last
	case c == letter:
		sc.state = inLetters
		return 0
	case c == other && sc.plain:
		sc.state = inMarks
		return 0
	}
	return sc.n
}
