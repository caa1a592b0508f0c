package server

import (
	"context"
	"strings"
	"sync"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/mynah-tts/mynah/synth"
)

// turn is one utterance of a session: the text, which may still be arriving, and how
// it is to be spoken. Text that comes before the engine has the utterance is kept.
type turn struct {
	utterance
	session *session
	index   int
	request synth.Request
	form    encoding
	whole   bool // the text is spoken when all of it is there
	ctx     context.Context
	cancel  context.CancelFunc

	fresh     atomic.Int64  // frames that were encoded and not sent
	bytes     atomic.Int64  // of audio, since the last audio.start
	played    atomic.Int64  // samples that the client says were heard
	heard     chan struct{} // a token: played has changed
	blocked   time.Duration // waited for the client
	withdrawn atomic.Bool   // cancelled by the client; set under session.mu
	spoiled   atomic.Bool   // a piece of its text was refused, which the client was told

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
// stream's to tell.
func (t *turn) add(p piece) *Error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.touched = time.Now()
	switch {
	case p.kind == pieceEnd:
		t.ended = true
	case t.refused:
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

// check bounds the text with another piece.
func (t *turn) check(text string) *Error {
	n, most := t.runes+utf8.RuneCountInString(text), t.server.opts.Limits.InputRunes
	if n > most {
		e := invalid("text", "%d characters in one utterance, allowed are %d", n, most)
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
func (t *turn) attach(stream PieceStream) error {
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
func (t *turn) detach() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.stream, t.waiting, t.refused = nil, nil, true
}

// isWithdrawn tells whether the client has cancelled the utterance, if it is one.
func (t *turn) isWithdrawn() bool { return t != nil && t.withdrawn.Load() }

// state tells whether the text is complete, and whether there is something to say.
func (t *turn) state() (ended, sayable bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.ended, t.sayable
}

// ready tells whether the engine can begin.
func (t *turn) ready() bool {
	ended, sayable := t.state()
	return ended || sayable && !t.whole
}

// said is the text so far.
func (t *turn) said() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}

// overdue is how much longer than most the text has not gone on; negative if it may
// still take as long.
func (t *turn) overdue(most time.Duration) time.Duration {
	t.mu.Lock()
	defer t.mu.Unlock()
	return time.Since(t.touched) - most
}

// bySentence tells whether audio.start and audio.done enclose sentences: where each
// frame is encoded by itself. Other forms are one thing from their header to what
// their encoder and filters hold at the end.
func (t *turn) bySentence() bool {
	return t.form.format == formatPCM && t.rate() == t.session.model.SampleRate && (t.form.speed == 0 || t.form.speed == 1)
}

// formatPCM is the format of sessions that name none.
const formatPCM = "pcm"

// rate is the rate of the samples that leave.
func (t *turn) rate() int {
	if t.form.rate != 0 {
		return t.form.rate
	}
	return t.session.model.SampleRate
}

// ahead is how much audio the listener has not heard.
func (t *turn) ahead() time.Duration {
	given := time.Duration(t.audio.Load())
	if t.form.speed > 0 {
		given = time.Duration(float64(given) / t.form.speed)
	}
	played := float64(t.played.Load()) / float64(t.rate())
	return given - time.Duration(min(played, given.Seconds())*float64(time.Second))
}
