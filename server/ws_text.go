package server

import (
	"context"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mynah-tts/mynah/synth"
)

// growingText is a text that may still be arriving. What comes before the engine has the
// utterance is kept.
type growingText struct {
	most int // characters

	mu      sync.Mutex
	text    strings.Builder
	runes   int
	sayable bool // text has a letter or a number
	ended   bool
	touched time.Time   // when text came last
	waiting []piece     // what stream was not told
	stream  PieceStream // once the engine has the utterance
	refused bool        // takes no text any more, it failed or is over
}

// piece is a piece of text, the end of a sentence, or the end of the text.
type piece struct {
	text string
	kind pieceKind
}

type pieceKind int

const (
	pieceText pieceKind = iota
	pieceFlush
	pieceEnd
)

func (p piece) tell(stream PieceStream) error {
	switch p.kind {
	case pieceFlush:
		return stream.Flush()
	case pieceEnd:
		return stream.End()
	}
	return stream.Write(p.text)
}

// add takes what the client says. What is wrong with a text as a whole is the
// stream's to tell. After an error whoever is told of it ends the text with detach.
func (t *growingText) add(p piece) *Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.touched = time.Now()
	switch {
	case p.kind == pieceEnd:
		t.ended = true
	case t.refused:
		return nil
	case p.kind == pieceText && p.text == "": // not kept: nothing bounds how often it comes
		return nil
	case p.kind == pieceText:
		if err := t.check(p.text); err != nil {
			return err
		}
		t.text.WriteString(p.text)
	}
	if t.stream == nil {
		if n := len(t.waiting); p.kind != pieceFlush || n > 0 && t.waiting[n-1].kind == pieceText {
			t.waiting = append(t.waiting, p)
		}
		return nil
	}
	if err := p.tell(t.stream); err != nil && p.kind != pieceEnd {
		return asError(err)
	}
	return nil
}

// touch puts off the end of a text that does not go on.
func (t *growingText) touch() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.touched = time.Now()
}

// check bounds the text with another piece.
func (t *growingText) check(text string) *Error {
	n := t.runes + utf8.RuneCountInString(text)
	if n > t.most {
		e := invalid("text", "%d characters in one utterance, allowed are %d", n, t.most)
		e.Code = "string_above_max_length"
		return e
	}
	if strings.ContainsRune(text, 0) {
		return invalid("text", "it has a NUL character")
	}
	t.runes = n
	t.sayable = t.sayable || strings.ContainsFunc(text, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) })
	return nil
}

// attach hands what came so far, and all that comes from now on, to the engine.
func (t *growingText) attach(stream PieceStream) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	waiting := t.waiting
	t.stream, t.waiting = stream, nil
	for _, p := range waiting {
		if err := p.tell(stream); err != nil {
			return err
		}
	}
	return nil
}

// detach takes no more text.
func (t *growingText) detach() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stream, t.waiting, t.refused = nil, nil, true
}

// state tells whether the text is complete, and whether there is something to say.
func (t *growingText) state() (ended, sayable bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended, t.sayable
}

// said is the text so far.
func (t *growingText) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// growing tells whether the text may still go on.
func (t *growingText) growing() bool {
	ended, _ := t.state()
	return !ended
}

// overdue is how much longer than most the text has not gone on; negative if it may
// still take as long.
func (t *growingText) overdue(most time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Since(t.touched) - most
}

// begin gives the text to the engine: what came, and all that comes from now on.
func (t *growingText) begin(ctx context.Context, engine Engine, r synth.Request) (Stream, error) {
	stream, err := engine.SpeakPieces(ctx, r)
	if err != nil {
		return nil, err
	}
	if err := t.attach(stream); err != nil {
		stream.Close()
		return nil, err
	}
	return stream, nil
}

// watch calls end once the text has not gone on for too long: it holds a place of others.
func (t *growingText) watch(most time.Duration, end func()) (stop func()) {
	var timer *time.Timer
	timer = time.AfterFunc(most, func() {
		if ended, _ := t.state(); ended {
			return
		}
		if over := t.overdue(most); over < 0 {
			timer.Reset(-over)
			return
		}
		end()
	})
	return func() { timer.Stop() }
}
