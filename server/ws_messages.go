package server

import (
	"encoding/json"
	"maps"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mynah-tts/mynah/synth"
)

// messages are what a client may send.
var messages = map[string]func(c *session, all []member) *Error{
	"session.config": (*session).configure,
	"input.text":     (*session).inputText,
	"input.flush":    (*session).inputFlush,
	"input.done":     (*session).inputDone,
	"input.cancel":   (*session).inputCancel,
	"playback.ack":   (*session).played,
	"session.close":  (*session).closeSession,
}

const messageTypes = "session.config, input.text, input.flush, input.done, input.cancel, playback.ack, session.close"

// message acts on one message. What cannot be understood may have been text, so that an
// utterance without it would be another.
func (c *session) message(kind int, data []byte) {
	c.mu.Lock()
	c.active, c.told = time.Now(), false
	c.mu.Unlock()
	if err := c.act(kind, data); err != nil {
		c.mistake(err)
	}
}

func (c *session) act(kind int, data []byte) *Error {
	name, all, err := readMessage(kind, data)
	if err != nil {
		c.mu.Lock()
		defer c.mu.Unlock()
		defer signal(c.wake)
		return c.spoil(err)
	}
	handle, known := messages[name]
	if !known {
		e := invalid("type", "%s, allowed are %s", quoted(name), messageTypes)
		e.Code = "unknown_type"
		return e
	}
	return handle(c, all)
}

// readMessage reads a message and its type.
func readMessage(kind int, data []byte) (name string, all []member, err *Error) {
	if all, err = jsonMessage(kind, data); err != nil {
		return "", nil, err
	}
	value := memberOf(all, "type")
	if value == nil {
		e := invalid("type", "it is missing, wanted one of %s", messageTypes)
		e.Code = "missing_field"
		return "", nil, e
	}
	name, err = textValue("type", value)
	return name, all, err
}

// jsonMessage reads a message that is a JSON object.
func jsonMessage(kind int, data []byte) ([]member, *Error) {
	if kind != websocket.TextMessage {
		e := malformed("")
		e.Code, e.Message = "binary_message", "a binary message of "+plural(len(data), "byte")+", wanted JSON as text"
		return nil, e
	}
	all, err := members(data)
	if err != nil {
		err.Code, err.Message = "invalid_message", "message: "+strings.TrimPrefix(err.Message, "body: ")
		return nil, err
	}
	return all, nil
}

// memberOf finds a member's value, nil if it is not there.
func memberOf(all []member, name string) json.RawMessage {
	for _, m := range all {
		if m.name == name {
			return m.value
		}
	}
	return nil
}

// Fields of a configuration that are of WebSockets alone. Audio always leaves as it is
// produced, in the sentences that the engine makes of the text.
var (
	splitGranularities = []string{"none", "sentence", "clause"}
	socketFields       = map[string]func(name string, value json.RawMessage) *Error{
		"type": func(string, json.RawMessage) *Error { return nil },
		"stream_audio": func(name string, value json.RawMessage) *Error {
			_, err := switchValue(name, value)
			return err
		},
		"split_granularity": func(name string, value json.RawMessage) *Error {
			_, err := choiceValue(name, value, splitGranularities)
			return err
		},
		"word_timestamps": func(name string, value json.RawMessage) *Error {
			on, err := switchValue(name, value)
			if on {
				return invalid(name, "true, allowed is false: there are no times of words")
			}
			return err
		},
		"input": func(name string, _ json.RawMessage) *Error {
			return invalid(name, "text comes in input.text")
		},
	}
)

// configure changes the configuration of the utterances to come: fields that are there
// replace those of before. If one is refused all are.
func (c *session) configure(all []member) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case c.closing:
		return errClosing
	case c.open != nil:
		e := invalid("type", "session.config in the middle of an utterance: send input.done or input.cancel first")
		e.Code = "utterance_in_progress"
		return e
	}
	q := *c.config
	q.present, q.unknown = maps.Clone(q.present), nil
	var rest []member
	for _, m := range all {
		check, own := socketFields[m.name]
		if !own {
			rest = append(rest, m)
		} else if !isNull(m.value) {
			if err := check(m.name, m.value); err != nil {
				return err
			}
		}
	}
	q.changeVoice(rest)
	if err := q.readFields(rest); err != nil {
		return err
	}
	next, err := c.template(&q)
	if err != nil {
		return asError(err)
	}
	c.config, c.next = &q, next
	c.send(nil, markNone, 0, c.describe(eventUpdated, q.unknown))
	return nil
}

// changeVoice forgets the voice of before when another one is named, or brought along:
// only one of them can speak.
func (q *speechRequest) changeVoice(all []member) {
	given := func(name string) bool {
		value := memberOf(all, name)
		return value != nil && !isNull(value)
	}
	voice, clip := given("voice"), given("ref_audio")
	if clip && !voice {
		delete(q.present, "voice")
	}
	if voice || clip {
		q.RefAudio, q.RefText, q.XVectorOnly = nil, "", nil
		for _, name := range []string{"ref_audio", "ref_text", "x_vector_only_mode"} {
			delete(q.present, name)
		}
	}
}

// template checks a configuration.
func (c *session) template(q *speechRequest) (template, error) {
	t := template{form: c.server.encoding(q), whole: q.NonStreamingMode != nil && *q.NonStreamingMode}
	if q.ResponseFormat == "" {
		t.form.format = formatPCM
	}
	if q.StreamFormat == streamSSE {
		return t, invalid("stream_format", "sse, allowed is audio")
	}
	var err error
	if t.request, err = c.server.request(q, c.model); err != nil {
		return t, err
	}
	t.clip = q.clip()
	if err := t.form.check(c.model.SampleRate); err != nil {
		return t, err
	}
	return t, nil
}

// describe tells what the next utterance will be like.
func (c *session) describe(event string, ignored []string) sessionEvent {
	e := sessionEvent{
		Type: event, SessionID: c.id, Utterance: c.count, Model: c.server.modelIDs(c.model)[0], Voice: c.next.request.Voice,
		Format: c.next.form.format, SampleRate: c.next.form.rate, Channels: 1,
	}
	if e.SampleRate == 0 {
		e.SampleRate = c.model.SampleRate
	}
	for _, name := range ignored {
		if len(e.Ignored) < ignoredNames {
			e.Ignored = append(e.Ignored, abridged(name))
		}
	}
	return e
}

// errClosing refuses text behind a session.close.
var errClosing = &Error{Type: typeInvalid, Code: "session_closing", Message: "session.close was sent before"}

// errCrowded refuses text where enough of it waits.
func errCrowded(waiting int) *Error {
	return &Error{Type: typeRateLimit, Code: "too_many_utterances", RetryAfter: retryAfter,
		Message: plural(waiting, "utterance") + " wait already; the text up to the next input.done is left out"}
}

// errClipsCrowded refuses text where enough recordings wait.
func errClipsCrowded(most int64) *Error {
	return &Error{Type: typeRateLimit, Code: "too_many_utterances", RetryAfter: retryAfter,
		Message: "the recordings of the utterances that wait are over " + plural(most, "byte") + " with this one's; the text up to the next input.done is left out"}
}

// clipBytes is how much memory the recordings take of the utterances that are not over, and
// of one with clip. Utterances of one configuration share theirs. mu is held.
func (c *session) clipBytes(clip *clipRequest) int64 {
	if clip == nil { // it needs no more than there is
		return 0
	}
	sum, counted := clip.audio.size(), map[*refAudio]bool{clip.audio: true}
	for _, t := range c.turns {
		if t.clip != nil && !counted[t.clip.audio] {
			sum, counted[t.clip.audio] = sum+t.clip.audio.size(), true
		}
	}
	return sum
}

// inputCancel takes back every utterance that was begun: what of it was not sent, and
// what was not spoken.
func (c *session) inputCancel([]member) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer signal(c.wake)
	c.open, c.half, c.dropping = nil, "", false
	found := len(c.turns) > 0
	for _, t := range c.turns {
		t.withdrawn.Store(true)
	}
	if c.out.withdrawAll(c.turns, (*turn).cancelled) {
		found = true
	}
	for _, t := range c.turns {
		t.cancel()
	}
	if !found { // whoever waits for it is not to wait for ever
		e := doneAudioEvent{Type: eventAudioDone, Finish: synth.FinishCancelled}
		if c.count > 0 {
			last := c.count - 1
			e.Utterance = &last
		}
		c.send(nil, markNone, 0, e)
	}
	return nil
}

// played takes note of what the listener has heard.
func (c *session) played(all []member) *Error {
	value := memberOf(all, "played_samples")
	if value == nil {
		e := invalid("played_samples", "it is missing, wanted a number")
		e.Code = "missing_field"
		return e
	}
	samples, err := wholeValue("played_samples", value)
	if err != nil {
		return err
	}
	if samples < 0 {
		return invalid("played_samples", "%d, allowed are 0 and up", samples)
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	t := c.current
	if value := memberOf(all, "utterance_index"); value != nil && !isNull(value) {
		index, err := wholeValue("utterance_index", value)
		if err != nil {
			return err
		}
		if t != nil && index != int64(t.index) {
			t = nil // of one that is over
		}
	}
	c.acks.Store(true)
	if t != nil && samples > t.played.Load() {
		t.played.Store(samples)
		signal(t.heard)
	}
	return nil
}

// closeSession ends the session once everything was spoken and sent. A text under way
// ends here.
func (c *session) closeSession([]member) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer signal(c.wake)
	err := c.complete()
	c.closing = true
	return err
}
