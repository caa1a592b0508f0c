package synth

import (
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"github.com/mynah-tts/mynah/internal/normalize"
	"github.com/mynah-tts/mynah/internal/text"
	"github.com/mynah-tts/mynah/internal/tokenizer"
)

// normalizeEnglish is the one text_normalization that there is: a checkpoint that reads words only
// has numbers and signs written out first, in segments as they are cut.
const normalizeEnglish = "english"

// script is the text of an utterance as far as it is known, cut into segments. Text
// arrives on one goroutine while the engine reads on another.
//
// A text that is there from the start goes the same way as one that comes in pieces, so
// both are cut and encoded alike. White space at a cut and at the end belongs to no
// segment; white space before a text is left as it is.
type script struct {
	mu       sync.Mutex
	segments []segment
	ended    bool  // no text comes any more
	refused  error // why the text as a whole cannot be spoken

	cut    *text.Segmenter
	words  *normalize.Stream // nil where the tokenizer takes text as it is written
	tokens *tokenizer.Stream
	space  string // at the end of the segment under way, held back

	letters tally       // of a text in pieces: others are checked before
	held    []text.Part // that are in no segment, while most letters are foreign
	foreign error       // why text in a script that is not known was refused
}

// segment is a part of a text that is spoken by itself.
type segment struct {
	text  []byte // as far as it is known
	ids   []int  // of text, as far as they are settled
	ended bool   // nothing is added any more
}

// newScript returns an empty script whose segments end by the limits.
func newScript(tok *tokenizer.Tokenizer, limits text.Limits) *script {
	cut := text.NewSegmenter(limits)
	cut.SetLimit(requestLimit)
	s := &script{tokens: tok.NewStream(), cut: cut}
	if tok.Normalization() == normalizeEnglish {
		s.words = new(normalize.Stream)
	}
	return s
}

// tokenScript is the script of a single segment of given tokens.
func tokenScript(ids []int) *script {
	return &script{ended: true, segments: []segment{{ids: ids, ended: true}}}
}

// write adds text. Text of more than MaxTextRunes characters in all, what is not UTF-8,
// and text in a script that is not known is a *RequestError, and so is what follows it.
func (s *script) write(piece string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.ended:
		return requestErrorf("input", "text after the end of the text")
	case s.foreign != nil:
		return s.foreign
	}
	if strings.ContainsRune(piece, 0) {
		return requestErrorf("input", "a NUL character")
	}
	parts, err := s.cut.Write(piece)
	if err != nil {
		return &RequestError{Param: "input", Message: strings.TrimPrefix(err.Error(), "text: ")}
	}
	return s.take(parts)
}

// flush ends the segment under way, if there is something in it to say. It is a
// *RequestError if that would be spoken but for its script.
func (s *script) flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	return s.judge(s.cut.Flush())
}

// end ends the text. One that has nothing to say, or is in a script that is not known, is
// a *RequestError.
func (s *script) end() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return nil
	}
	s.ended = true
	s.refused = s.close()
	return s.refused
}

// close ends the last segment and looks at the whole.
func (s *script) close() error {
	if s.foreign != nil {
		return s.foreign
	}
	if err := s.endLast(); err != nil {
		return err
	}
	for i := range s.segments {
		if text.Speakable(string(s.segments[i].text)) {
			return nil
		}
	}
	return requestErrorf("input", "the text has no letter and no number, nothing to say")
}

// endLast ends the last segment.
func (s *script) endLast() error {
	parts, err := s.cut.Close()
	if err != nil {
		return &RequestError{Param: "input", Message: strings.TrimPrefix(err.Error(), "text: ")}
	}
	return s.judge(parts)
}

// take takes parts of the text. They come into the segments, where they are spoken, once
// at least half of the letters so far are of scripts that the checkpoint knows. Each letter
// is looked at by itself, so that it does not matter how the text was cut.
func (s *script) take(parts []text.Part) error {
	for _, p := range parts {
		for _, r := range p.Text {
			if s.letters.add(r); s.foreign == nil && s.letters.isSettled() {
				s.foreign = s.letters.refusal()
			}
		}
	}
	s.held = append(s.held, parts...)
	if s.foreign == nil && !s.letters.mayBeForeign() {
		s.release()
	}
	return s.foreign
}

// release brings what was held back into the segments.
func (s *script) release() {
	for _, p := range s.held {
		s.add(p)
	}
	s.held = nil
}

// judge takes parts of the text, behind which all that came is to be spoken.
func (s *script) judge(parts []text.Part) error {
	if err := s.take(parts); err != nil {
		return err
	}
	if s.foreign = s.letters.refusal(); s.foreign == nil {
		s.release()
	}
	return s.foreign
}

// add takes a part of the text into the segment under way.
func (s *script) add(p text.Part) {
	last := s.last()
	if last == nil {
		piece := p.Text
		if len(s.segments) > 0 {
			piece = strings.TrimLeftFunc(piece, unicode.IsSpace)
		}
		if piece == "" {
			return
		}
		s.segments = append(s.segments, segment{})
		last, p.Text, s.space = s.last(), piece, ""
	}
	whole := s.space + p.Text
	solid := strings.TrimRightFunc(whole, unicode.IsSpace)
	s.space = whole[len(solid):]
	last.text = append(last.text, solid...)
	last.ids = append(last.ids, s.encode(solid)...)
	if p.End {
		s.space = ""
		last.ids = append(last.ids, s.encodeRest()...)
		last.ended = true
	}
}

// encode returns the ids that text of the segment under way settles. Words that come one by
// one are known to be whole, so that the tokenizer need not wait for what follows them: it cuts
// text before every space and between letters and punctuation anyway.
func (s *script) encode(text string) []int {
	if s.words == nil {
		return s.tokens.Write(text)
	}
	text = s.words.Write(text)
	ids := s.tokens.Write(text)
	if r, _ := utf8.DecodeLastRuneInString(text); s.words.BetweenWords() && (unicode.IsLetter(r) || unicode.IsNumber(r)) {
		ids = append(ids, s.tokens.Close()...)
	}
	return ids
}

// encodeRest returns the ids that were held back, at the end of a segment.
func (s *script) encodeRest() []int {
	var ids []int
	if s.words != nil {
		ids = s.tokens.Write(s.words.Close())
	}
	return append(ids, s.tokens.Close()...)
}

// last returns the segment under way, or nil.
func (s *script) last() *segment {
	if n := len(s.segments); n > 0 && !s.segments[n-1].ended {
		return &s.segments[n-1]
	}
	return nil
}

// at returns a segment as far as it is known. exists is false while it has not begun;
// over is true when there is none and none will come.
func (s *script) at(i int) (seg segment, exists, over bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i < len(s.segments) {
		return s.segments[i], true, false
	}
	return segment{}, false, s.ended
}

// refusal returns why a text that has ended cannot be spoken, or nil.
func (s *script) refusal() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// counts returns the segments and tokens so far.
func (s *script) counts() (segments, tokens int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i := range s.segments {
		tokens += len(s.segments[i].ids)
	}
	return len(s.segments), tokens
}
