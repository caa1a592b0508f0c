// Package normalize writes English text as it is said: numbers, dates, times, prices,
// abbreviations, units, initialisms and Roman numbers as words, and signs that the
// built-in voice has never read (curly quotes, accents, marks of Markdown, pictures)
// as others or not at all.
//
// The built-in voice is a small model that reads words far better than digits: on
// sentences with numbers it gets 43 % of the words wrong as they are written, and
// 19 % when they are written as words first.
//
// The specification is said of tools/voice/spoken.py, which wrote the texts that the
// voice learned from; testdata/english.json holds what it makes of the texts in
// testdata/texts.txt. White space of any kind becomes one space: whoever cuts a text
// at blank lines does so first.
package normalize

import (
	"strings"
	"unicode/utf8"
)

// maxToken is the most bytes of a token that is read. What is longer is no English
// word: it goes through as it is, so that a text without white space is not held.
const maxToken = 4096

// English returns text as it is said.
func English(text string) string {
	var s Stream
	return s.Write(text) + s.Close()
}

// Stream normalizes a text that arrives in pieces. However the text is cut, the
// results of Write and Close are, joined, what English makes of it. Pieces are cut
// between characters. The zero value is ready for a text.
//
// What is written to a Stream comes out as soon as it cannot change: a word with the
// white space behind it, and with the word after that if its reading hangs on it (12
// of March 12, no. of no. 5, St. and U.S.). A space comes out with the word behind it.
type Stream struct {
	fold  folder
	token []byte // of the token that is being read, folded

	marks marker
	last  string // the token that readings made last

	held   *item  // waits for the token behind it
	item   item   // what held points to
	before string // the token before the next one, without outer punctuation

	long bool // within a token of more than maxToken bytes
	said bool // something has come out
	out  strings.Builder
}

// Write takes a piece of the text and returns what was settled by it.
func (s *Stream) Write(piece string) string {
	for _, r := range piece {
		s.add(r)
	}
	return s.take()
}

// Close returns the rest of the text. The Stream can then take another one.
func (s *Stream) Close() string {
	s.endToken()
	s.endMark(false)
	s.endHeld(item{}, true)
	rest := s.take()
	*s = Stream{token: s.token[:0]}
	return rest
}

// BetweenWords reports whether what came out so far ends a word: what comes next begins with
// a space or with punctuation. It is so except within a token that is too long to be read.
func (s *Stream) BetweenWords() bool { return !s.long }

// Pending returns how many bytes are held back; at most three times maxToken.
func (s *Stream) Pending() int {
	n := len(s.marks.waiting)
	if !s.long {
		n += len(s.token)
	}
	if s.held != nil {
		n += len(s.held.token)
	}
	return n
}

func (s *Stream) take() string {
	out := s.out.String()
	s.out.Reset()
	return out
}

// add takes one character.
func (s *Stream) add(r rune) {
	if r > ' ' && r < utf8.RuneSelf && r != '`' {
		s.fold.last = byte(r)
		s.char(r)
		return
	}
	for _, c := range s.fold.rune(r) {
		s.char(c)
	}
}

// char takes one folded character.
func (s *Stream) char(r rune) {
	switch {
	case isSpace(r):
		s.endToken()
	case s.long:
		s.out.WriteRune(r)
	default:
		s.token = utf8.AppendRune(s.token, r)
		if len(s.token) > maxToken {
			s.beginLong()
		}
	}
}

// beginLong lets a token through that is too long to be read. Its neighbours are read
// as if they had none on that side, but for the marks of lists.
func (s *Stream) beginLong() {
	s.endMark(false)
	s.endHeld(item{}, false)
	s.write(string(s.token))
	s.token = s.token[:0]
	s.long = true
	s.marks = marker{any: true}
	s.last, s.before, s.item = "", "", item{}
}

func (s *Stream) endToken() {
	s.long = false
	if len(s.token) == 0 {
		return
	}
	token := string(s.token)
	s.token = s.token[:0]
	s.raw(token)
}

// raw takes a token as it is written.
func (s *Stream) raw(token string) {
	s.endMark(isDigit(token[0]))
	if plain, what := s.marks.next(token); what == keep {
		s.plain(plain)
	}
}

// endMark decides on a mark that waited for the token behind it.
func (s *Stream) endMark(digit bool) {
	if mark := s.marks.waiting; mark != "" {
		s.marks.waiting = ""
		if digit {
			s.marks.passed(mark)
			s.plain(mark)
		}
	}
}

// plain takes a token without marks of emphasis; it may be read as several.
func (s *Stream) plain(token string) {
	if !readable(token) {
		s.last = token
		s.next(token)
		return
	}
	for _, t := range strings.Fields(readings(token, s.last)) {
		s.last = t
		s.next(lower(t))
	}
}

// next takes a token that is to be read and settles the one before it.
func (s *Stream) next(token string) {
	next := item{token: token, core: bare(token), before: s.before, previous: s.item.token}
	s.endHeld(next, false)
	s.before, s.item = next.core, next
	if next.waits() {
		s.held = &s.item
	} else {
		s.settle(next, item{}, false)
	}
}

// endHeld settles the token that waited for after, or for the end of the text.
func (s *Stream) endHeld(after item, last bool) {
	if s.held != nil {
		held := *s.held
		s.held = nil
		s.settle(held, after, last)
	}
}

// settle writes what is said for a token.
func (s *Stream) settle(t, after item, last bool) {
	if words := t.words(after, last, !s.said); words != "" {
		s.write(words)
	}
}

// write writes words, with a space before them unless they are punctuation.
func (s *Stream) write(words string) {
	if s.said {
		if r, _ := utf8.DecodeRuneInString(words); !strings.ContainsRune(".,;:!?…", r) {
			s.out.WriteByte(' ')
		}
	}
	s.said = true
	s.out.WriteString(words)
}
