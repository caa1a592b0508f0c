package server

import (
	"cmp"
	"encoding/json"
	"errors"
	"strings"
	"sync/atomic"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/gorilla/websocket"

	"github.com/mynah-tts/mynah/synth"
)

// elevenContext is one text of an elevenSession, and its speech.
type elevenContext struct {
	turn
	session *elevenSession
	id      string         // "" on a socket with one context
	params  elevenParams   // those of the first message over those of the socket
	before  *elevenContext // of the same name, to be heard first, or nil
	over    chan struct{}  // closed at the end
	wake    chan struct{}  // a token: there may be work
	message []byte         // scratch for what carries audio

	// Of the reader's goroutine.
	settled   bool   // the first message came
	half      string // the first half of a pair of escapes, at the end of the last piece
	space     string // white space at the end of the text, which belongs to what follows
	unflushed bool   // text came after the last flush

	begun bool // the engine has taken the text
	cut   atomic.Pointer[Error]

	// Under session.mu.
	failed bool // what came was refused, or the context is over
	told   bool // how it ended was told, or waits to be sent
	final  bool // and that was that all of the text was spoken
}

// contextID is how events name the context, nil on a socket with one.
func (x *elevenContext) contextID() *string {
	if !x.session.multi {
		return nil
	}
	return &x.id
}

// settle reads the settings of a message. Only those of the first change anything.
func (x *elevenContext) settle(all []member) *Error {
	p := x.params
	if err := p.readFields(all); err != nil {
		return err
	}
	speed, first := cmp.Or(p.speed, 1), cmp.Or(x.params.speed, 1)
	switch {
	case p.inactivity != x.params.inactivity: // it is the connection's
		return invalid("inactivity_timeout", "%v, it is %v on this connection: the query alone sets it", p.inactivity, x.params.inactivity)
	case x.settled && speed != first:
		return invalid("voice_settings.speed", "%g after the first message said %g", speed, first)
	case x.settled && p.form != x.params.form:
		return invalid("output_format", "another one than that of the first message")
	case x.settled:
		return nil
	}
	r, form, err := x.server.elevenRequest(p, "", x.socket.model)
	if err != nil {
		return asError(err)
	}
	x.params, x.request, x.form, x.settled = p, r, form, true
	return nil
}

// write adds a piece of text, as it stands in a message. Pieces end in white space, and a
// piece of it alone only keeps the context alive: it counts where words follow it, once.
func (x *elevenContext) write(value json.RawMessage) *Error {
	value, half, lost := joinHalves(value, x.half)
	text, err := textValue("text", value)
	if err != nil {
		return err
	}
	if lost {
		return errHalf
	}
	x.half = half
	words := strings.TrimRightFunc(text, unicode.IsSpace)
	if words == "" {
		if x.space == "" && x.begunText() {
			x.space = text
		}
		return nil
	}
	if !x.begunText() {
		text = strings.TrimLeftFunc(text, unicode.IsSpace)
		words = strings.TrimRightFunc(text, unicode.IsSpace)
	}
	if first, _ := utf8.DecodeRuneInString(text); unicode.IsSpace(first) {
		x.space = "" // one is enough
	}
	if err := x.add(piece{text: x.space + words}); err != nil {
		return err
	}
	x.space, x.unflushed = text[len(words):], true
	return nil
}

// begunText tells whether there is text already.
func (x *elevenContext) begunText() bool { return x.said() != "" }

// flush ends a sentence. White space at its end belongs to none.
func (x *elevenContext) flush() {
	_ = x.add(piece{kind: pieceFlush}) // an error of the stream is told at its end
	x.unflushed = false
}

// settledText tells whether the client has asked for all of its text to be spoken.
func (x *elevenContext) settledText() bool { return !x.unflushed || x.params.auto }

// drop takes back what was not sent. session.mu is held.
func (x *elevenContext) drop() {
	if x.told { // the end of all of the text becomes another; a failure stays
		x.socket.out.retract(&x.turn, func(shown) []outgoing {
			if !x.final {
				return nil
			}
			return x.dropped(errElevenDropped)
		})
		return
	}
	x.cut.CompareAndSwap(nil, errElevenDropped)
	x.withdrawn.Store(true)
	x.socket.out.withdraw(&x.turn, func(shown) []outgoing { return nil })
	x.cancel()
}

// dropped tells that what was not sent never will be.
func (x *elevenContext) dropped(reason *Error) []outgoing {
	return []outgoing{{kind: websocket.TextMessage, data: encode(x.problem(reason))}}
}

// late ends a text that does not go on.
func (x *elevenContext) late() {
	c := x.session
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open[x.id] != x || x.failed {
		return
	}
	x.cut.CompareAndSwap(nil, errElevenTimeout)
	c.end(x)
}

// run speaks the text, and tells how that ended.
func (x *elevenContext) run() {
	c := x.session
	defer c.guard()
	defer close(x.over)
	defer x.cancel()
	defer x.watch(c.params.inactivity, x.late)()
	var done synth.Done
	var err error
	if x.await() {
		x.received = time.Now()
		done, err = x.speak()
		x.detach()
	} else {
		err = why(x.ctx, nil)
	}
	done, err = x.outcome(done, err)
	x.record(done, err)
	if err == nil && done.FinishReason == synth.FinishLength {
		err = errTruncated
	}
	c.concluded(x, x.tell(err))
}

// outcome finds out what became of the text: that it was refused goes before what that
// led to.
func (x *elevenContext) outcome(done synth.Done, err error) (synth.Done, error) {
	x.session.mu.Lock()
	refusal := x.refusal
	x.session.mu.Unlock()
	_, isSlow := asSlow(err)
	switch {
	case isSlow:
		return done, err
	case refusal != nil:
		return done, refusal
	case x.isWithdrawn():
		done.FinishReason = synth.FinishCancelled
		return done, nil
	}
	return done, x.socket.cause(err)
}

// record counts and logs the end of what was spoken, or failed before.
func (x *elevenContext) record(done synth.Done, err error) {
	if reason := reasonOf(done, err); x.begun || reason == finishError {
		x.count(done, err)
		x.socket.logTurn(&x.turn, done, reason, err)
	}
}

// await waits until there is something to speak, and the context of the same name before
// is over. False means that the context was cancelled before.
func (x *elevenContext) await() bool {
	if x.before != nil {
		select {
		case <-x.before.over:
		case <-x.ctx.Done():
			return false
		}
		x.before = nil
	}
	for !x.ready() {
		select {
		case <-x.wake:
		case <-x.ctx.Done():
			return false
		}
	}
	return x.ctx.Err() == nil
}

// speak speaks the text. A text that has nothing to say is spoken at once.
func (x *elevenContext) speak() (done synth.Done, err error) {
	if ended, sayable := x.state(); ended && !sayable {
		return done, nil
	}
	sink, err := x.form.open(x, x.socket.model.SampleRate)
	if err != nil {
		return done, err
	}
	defer sink.Abort() // nothing after Close
	stream, err := x.begin(x.ctx, x.session.engine, x.request)
	if err != nil {
		return done, err
	}
	defer stream.Close()
	x.begun = true
	return x.move(x.ctx, stream, sink)
}

// Write sends encoded audio in a message.
func (x *elevenContext) Write(p []byte) (int, error) {
	if len(p) == 0 {
		return 0, nil
	}
	x.message = appendElevenAudio(x.message[:0], p, x.contextID())
	if err := x.deliver(websocket.TextMessage, x.message); err != nil {
		return 0, err
	}
	x.touch() // whoever listens need not say anything
	return len(p), nil
}

// tell tells the client how the context ended: isFinal only if all of its text was
// spoken. It returns the failure that the client was told of, nil for none. On a socket
// with one context the socket's end tells it. Nothing can be dropped in between.
func (x *elevenContext) tell(err error) *Error {
	c := x.session
	c.mu.Lock()
	defer c.mu.Unlock()
	x.told = true
	slow, isSlow := asSlow(err)
	failure := x.failure(err)
	switch {
	case isSlow:
		c.finish(closedSlow(slow))
		return nil
	case failure == nil && err != nil:
		return nil // there is nobody to tell
	case failure == nil:
		x.final = true
		c.send(&x.turn, markEnd, 0, elevenFinal{IsFinal: true, ContextID: x.contextID()})
		return nil
	case !c.multi:
		return failure
	case x.isWithdrawn():
		c.out.withdraw(&x.turn, func(shown) []outgoing { return x.dropped(failure) })
	default:
		c.send(nil, markNone, 0, x.problem(failure))
	}
	return failure
}

// failure is what kept a context from saying all of its text: nil if nothing did, or if
// the client is gone. session.mu is held.
func (x *elevenContext) failure(err error) *Error {
	cut := x.cut.Load()
	switch {
	case x.refusal != nil:
		return x.refusal
	case x.isWithdrawn():
		return cut
	case err == nil:
		return cut
	case errors.Is(err, errClientGone):
		return nil
	}
	return asError(elevenNames(err))
}
