package tokenizer

import (
	"unicode/utf8"
	"unsafe"

	"golang.org/x/text/unicode/norm"
)

// Stream encodes text of a user that arrives in pieces, cut anywhere, also within
// a character. The ids it returns, joined, are those of EncodeText for the whole
// text.
//
// Three things hold text back: a character whose bytes are not complete; a
// character that may still join with marks to come (é may arrive as e and an
// accent); and a word that may go on. The last is what shows: of ordinary prose
// all but the last word is out. A word comes out when a character arrives that
// cannot belong to it, a digit at once.
//
// A word without end, say a megabyte of letters, is held until it ends, because
// merging may join any of its bytes. Pending tells how much is held, so that a
// caller that must bound it can give up; no id is ever guessed. The work stays
// linear in the length of the text, whatever the pieces.
type Stream struct {
	t       *Tokenizer
	part    [utf8.UTFMax]byte // the start of a character
	partLen int
	seg     []byte // the last normalisation segment, as it arrived
	text    []byte // text in NFC from the start of the word under way
	scan    scanner
	begun   bool // a first word was found
}

// NewStream returns a Stream for one text.
func (t *Tokenizer) NewStream() *Stream { return &Stream{t: t} }

// Pending returns the number of bytes that are held back.
func (s *Stream) Pending() int { return s.partLen + len(s.seg) + len(s.text) }

// Write takes the next piece of the text and returns the ids that it settled.
func (s *Stream) Write(piece string) []int {
	for s.partLen > 0 && len(piece) > 0 {
		s.part[s.partLen] = piece[0]
		s.partLen++
		piece = piece[1:]
		s.drainPart(false)
	}
	for len(piece) > 0 {
		if !utf8.FullRuneInString(piece) {
			s.partLen = copy(s.part[:], piece)
			break
		}
		r, n := utf8.DecodeRuneInString(piece)
		s.addRune(r)
		piece = piece[n:]
	}
	return s.words(false)
}

// Close ends the text and returns the ids that were held back. The Stream can
// then take another text.
func (s *Stream) Close() []int {
	s.drainPart(true)
	s.flush()
	ids := s.words(true)
	*s = Stream{t: s.t, seg: s.seg[:0], text: s.text[:0]}
	return ids
}

// drainPart takes the complete characters out of part. At the end of the text what
// is left is complete: each byte of a character cut short is an error of its own.
func (s *Stream) drainPart(end bool) {
	for s.partLen > 0 && (end || utf8.FullRune(s.part[:s.partLen])) {
		r, n := utf8.DecodeRune(s.part[:s.partLen])
		s.addRune(r)
		s.partLen = copy(s.part[:], s.part[n:s.partLen])
	}
}

// addRune takes one character. It ends the segment before it if it cannot join
// with that, and is a segment of its own if nothing to come can join with it.
func (s *Stream) addRune(r rune) {
	var buf [utf8.UTFMax]byte
	b := utf8.AppendRune(buf[:0], r)
	p := norm.NFC.Properties(b)
	if p.BoundaryBefore() {
		s.flush()
	}
	s.seg = append(s.seg, b...)
	if p.BoundaryAfter() && len(s.seg) == len(b) {
		s.flush()
	}
}

// flush normalises the segment, which is complete, and hands it to the scanner.
func (s *Stream) flush() {
	s.text = appendNFC(s.text, view(s.seg))
	s.seg = s.seg[:0]
}

// words takes the words out of text that no text to come can change, or at the end
// all of them, and returns their ids.
func (s *Stream) words(end bool) []int {
	var ids []int
	done := 0
	for done < len(s.text) {
		n, ok := s.scan.next(view(s.text[done:]))
		if !ok && end {
			n = s.scan.finish()
		} else if !ok {
			if n = s.scan.peek(s.seg); n == 0 {
				break
			}
		}
		word := view(s.text[done : done+n])
		if s.begun || !isBreak(word) {
			ids = s.t.appendWord(ids, word)
		}
		s.begun = true
		done += n
	}
	s.text = s.text[:copy(s.text, s.text[done:])]
	return ids
}

// view is b as a string without a copy; it must not outlive a change of b.
func view(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }
