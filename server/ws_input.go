package server

import (
	"context"
	"encoding/json"
	"strconv"
	"time"
)

// takeText returns the utterance that takes text, a new one if none does. mu is held.
func (c *session) takeText() (*turn, *Error) {
	switch {
	case c.open != nil:
		return c.open, nil
	case c.closing:
		return nil, errClosing
	case c.draining:
		return nil, errDraining
	case len(c.turns) >= c.limits.Utterances:
		return nil, errCrowded(c.limits.Utterances)
	case c.clipBytes(c.next.clip) > c.limits.ClipBytes:
		return nil, errClipsCrowded(c.limits.ClipBytes)
	}
	t := &turn{
		socket: &c.socket, index: c.count, request: c.next.request, clip: c.next.clip, form: c.next.form, whole: c.next.whole,
		growingText: growingText{most: c.limits.InputRunes, touched: time.Now()},
		utterance:   utterance{server: c.server, transport: "websocket"}, heard: make(chan struct{}, 1),
	}
	t.unsettled = t.growing
	t.ctx, t.cancel = context.WithCancel(c.ctx)
	c.count++
	c.turns = append(c.turns, t)
	c.open = t
	return t, nil
}

// inputText adds a piece of text, which may end anywhere: also between the halves of a
// pair of escapes, where programs cut that count UTF-16.
func (c *session) inputText(all []member) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer signal(c.wake)
	value := memberOf(all, "text")
	switch {
	case value == nil:
		e := invalid("text", "it is missing, wanted text")
		e.Code = "missing_field"
		return c.spoil(e)
	case value[0] != '"':
		return c.spoil(wrongType("text", value, "text"))
	case c.dropping || c.open != nil && c.open.refusal != nil:
		return nil // of an utterance that failed
	}
	value, half, lost := joinHalves(value, c.half)
	text, err := textValue("text", value)
	switch {
	case err != nil:
		return c.spoil(err)
	case lost:
		return c.spoil(errHalf)
	}
	c.half = half
	if text == "" {
		return nil
	}
	t, err := c.takeText()
	if err != nil {
		c.dropping = true
		return err
	}
	if err := t.add(piece{text: text}); err != nil {
		return c.spoil(err)
	}
	return nil
}

// spoil fails the utterance that takes text, a new one if none does, because a piece of its
// text was refused, or may have been lost: what is left would be another text. The rest up
// to the next input.done is left out. mu is held.
func (c *session) spoil(err *Error) *Error {
	c.half = ""
	if c.dropping {
		return err
	}
	t, refused := c.takeText()
	if refused != nil {
		c.dropping = true
		if refused == errClosing || refused == errDraining { // which the client was told
			return err
		}
		return refused
	}
	if t.refusal != nil { // for another reason
		return err
	}
	t.refusal, c.told = err, true
	c.send(nil, markNone, 0, problemOf(err, &t.index, false)) // before its end, which the speaker tells
	t.detach()
	t.cancel()
	return err
}

// complete ends the text of the utterance that takes it, if there is one. mu is held.
func (c *session) complete() (err *Error) {
	if c.half != "" {
		err = c.spoil(errHalf)
	}
	if t := c.open; t != nil {
		c.open = nil
		_ = t.add(piece{kind: pieceEnd}) // its error is the stream's as well
	}
	return err
}

var errHalf = invalid("text", "half of a surrogate pair without its other half was left out")

// joinHalves puts the half of a pair that ended the last piece before a text, and takes
// off one that ends it. lost tells that the text does not go on with the other half.
func joinHalves(value json.RawMessage, half string) (joined json.RawMessage, rest string, lost bool) {
	if value[0] != '"' {
		return value, half, false
	}
	switch {
	case half == "":
	case len(value) == 2:
		return value, half, false
	case isHalf(value[1:], 0xDC00):
		value = append([]byte(`"`+half), value[1:]...)
	default:
		lost = true
	}
	for i, end := 1, len(value)-1; i < end; {
		switch {
		case value[i] != '\\':
			i++
		case value[i+1] != 'u':
			i += 2
		case i+6 == end && isHalf(value[i:], 0xD800):
			return append(value[:i:i], '"'), string(value[i:end]), lost
		default:
			i += 6
		}
	}
	return value, "", lost
}

// isHalf tells whether a JSON text goes on with the escape of a half of a pair: one of
// the 1,024 from first on.
func isHalf(text []byte, first uint64) bool {
	if len(text) < 6 || text[0] != '\\' || text[1] != 'u' {
		return false
	}
	unit, err := strconv.ParseUint(string(text[2:6]), 16, 16)
	return err == nil && unit >= first && unit < first+0x400
}

// inputFlush has spoken what is there, as if a sentence ended.
func (c *session) inputFlush([]member) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer signal(c.wake)
	if c.open == nil || c.open.refusal != nil {
		return nil
	}
	if err := c.open.add(piece{kind: pieceFlush}); err != nil {
		return c.spoil(err)
	}
	return nil
}

// inputDone ends an utterance's text. Without any it is an utterance that is over at
// once.
func (c *session) inputDone([]member) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer signal(c.wake)
	if c.dropping {
		c.dropping, c.half = false, ""
		return nil
	}
	if c.open == nil && c.half == "" {
		if _, err := c.takeText(); err != nil {
			return err
		}
	}
	err := c.complete()
	c.dropping = false
	return err
}

// endText ends the text of an utterance in the client's place.
func (c *session) endText(t *turn) {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer signal(c.wake)
	if c.open != t || t.refusal != nil {
		return
	}
	e := &Error{Type: typeInvalid, Code: "text_timeout", Message: "no text came for " + c.limits.TextTimeout.String() + ", the utterance ends here"}
	c.send(nil, markNone, 0, problemOf(e, &t.index, false))
	_ = c.complete() // it tells its error
}
