package text

import (
	"errors"
	"fmt"
	"unicode/utf8"
)

// Part is text of the segment under way, as it becomes known. With End the segment
// ends behind it. White space at the end of a segment is in the Part with End, whose
// Text may be that alone or empty. Only the first segment of a text and the first
// behind a Flush may begin with white space.
type Part struct {
	Text string
	End  bool
}

// Segmenter cuts text that arrives in pieces, cut anywhere, also within a character,
// into the segments that Split makes of the whole. Text is released when it is known
// to which segment it belongs. These are held back:
//
//   - white space, until something else follows
//   - text with nothing to say before the first segment, until a letter or number comes
//   - one grapheme cluster (at most 32 code points), which may still grow
//   - only behind a place where the segment may end: up to 16 clusters that have
//     nothing to say, and up to 6 letters of the next word
//
// A Segmenter checks the text as Clean does: a byte order mark at the start is left
// out, and a NUL or a byte that is not UTF-8 is an *InputError.
type Segmenter struct {
	limits Limits
	scan   scanner
	text   []byte // from the offset base on
	base   int
	part   [utf8.UTFMax]byte // the start of a character
	partN  int
	chars  int
	limit  Limit // of the whole text; Max 0 is none
	err    error
}

var errClosed = errors.New("text: write to a closed segmenter")

// NewSegmenter returns a Segmenter for one text.
func NewSegmenter(l Limits) *Segmenter { return &Segmenter{limits: l, scan: newScanner(l, 0)} }

// SetLimit bounds the text as Clean does: a character beyond it is an *InputError. It is to be
// called before the first Write.
func (s *Segmenter) SetLimit(l Limit) { s.limit = l }

// Pending returns the number of bytes that are held back.
func (s *Segmenter) Pending() int { return len(s.text) + s.partN }

// Characters returns how many characters (code points) the text has so far.
func (s *Segmenter) Characters() int { return s.chars }

// Write takes the next piece of the text and returns what it settled. The error, if
// any, is about the text behind the parts returned, and stays.
func (s *Segmenter) Write(piece string) ([]Part, error) {
	if s.err != nil {
		return nil, s.err
	}
	for s.partN > 0 && len(piece) > 0 && s.err == nil {
		s.part[s.partN] = piece[0]
		s.partN++
		piece = piece[1:]
		if utf8.FullRune(s.part[:s.partN]) {
			s.addPart()
		}
	}
	for len(piece) > 0 && s.err == nil {
		if !utf8.FullRuneInString(piece) {
			s.partN = copy(s.part[:], piece)
			break
		}
		r, n := utf8.DecodeRuneInString(piece)
		s.add(r, piece[:n])
		piece = piece[n:]
	}
	return s.take(), s.err
}

// addPart takes the character in part, which is complete or wrong.
func (s *Segmenter) addPart() {
	r, n := utf8.DecodeRune(s.part[:s.partN])
	s.add(r, string(s.part[:n])) // an error if that are not all its bytes
	s.partN = 0
}

// add takes a code point and its bytes.
func (s *Segmenter) add(r rune, b string) {
	at := s.base + len(s.text)
	switch {
	case r == 0:
		s.err = &InputError{at, "a NUL character"}
		return
	case r == utf8.RuneError && len(b) == 1:
		s.err = &InputError{at, notUTF8(b[0])}
		return
	case at == 0 && b == byteOrderMark:
		s.base = len(b)
		s.scan = newScanner(s.limits, s.base)
		return
	case s.limit.Max > 0 && s.chars == s.limit.Max:
		s.err = &InputError{-1, fmt.Sprintf("more than %d characters, which is what %s allows", s.limit.Max, s.limit.Name)}
		return
	}
	s.chars++
	s.text = append(s.text, b...)
	s.scan.add(r, len(b))
}

// Flush ends the segment under way, as at the end of the text, so that all that is
// there can be spoken. The text may go on, in a new segment and a new sentence. A
// character that is not complete waits, as does text with nothing to say: after
// white space or a mark alone Flush does nothing.
func (s *Segmenter) Flush() []Part {
	if s.err != nil {
		return nil
	}
	s.scan.finish()
	if !s.scan.said {
		return nil
	}
	parts := s.take()
	s.scan = newScanner(s.limits, s.scan.pos)
	return parts
}

// Close ends the text and returns what was held back. Text with nothing to say that
// has no segment to join, because there is none or because Flush ended it, is dropped.
// A text that ends within a character is an *InputError. Nothing can be written after.
func (s *Segmenter) Close() ([]Part, error) {
	if s.err != nil {
		return nil, s.err
	}
	if s.partN > 0 {
		s.err = &InputError{s.base + len(s.text), notUTF8(s.part[0])}
		return nil, s.err
	}
	parts := s.Flush()
	s.text, s.err = nil, errClosed
	return parts, nil
}

// take returns the parts that the scanner has settled and lets go of their text.
func (s *Segmenter) take() []Part {
	var parts []Part
	done := 0
	for _, end := range s.scan.ends {
		parts = append(parts, Part{string(s.text[done : end-s.base]), true})
		done = end - s.base
	}
	s.scan.ends = s.scan.ends[:0]
	if to := s.scan.settled() - s.base; to > done {
		parts = append(parts, Part{string(s.text[done:to]), false})
		done = to
	}
	if done > 0 {
		s.text = s.text[:copy(s.text, s.text[done:])]
		s.base += done
	}
	return parts
}

// notUTF8 is the problem with a byte that belongs to no character.
func notUTF8(b byte) string { return fmt.Sprintf("%#02x is not UTF-8", b) }
