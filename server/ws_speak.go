package server

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/synth"
)

// speak speaks utterances, one after the other, until the connection ends.
func (c *session) speak() {
	defer c.guard()
	for {
		t := c.upcoming()
		if t == nil {
			return
		}
		c.turn(t)
	}
}

// upcoming waits for the next utterance that can be spoken. It is nil when there will
// be none.
func (c *session) upcoming() *turn {
	for {
		c.mu.Lock()
		var first *turn
		if len(c.turns) > 0 {
			first = c.turns[0]
		}
		switch {
		case c.draining:
			c.mu.Unlock()
			c.refuseRest()
			return nil
		case first != nil && (first.withdrawn.Load() || first.refusal != nil || first.ready()):
			c.current = first
			c.mu.Unlock()
			return first
		case first == nil && c.closing:
			c.mu.Unlock()
			c.finish(closedByClient)
			return nil
		}
		c.mu.Unlock()
		select {
		case <-c.wake:
		case <-c.ctx.Done():
			if errors.Is(context.Cause(c.ctx), errDraining) {
				c.refuseRest()
			}
			return nil
		}
	}
}

// refuseRest ends the utterances that were not begun before the server shut down, and
// the connection.
func (c *session) refuseRest() {
	c.mu.Lock()
	c.draining = true
	rest := c.turns
	c.turns, c.open = nil, nil
	c.mu.Unlock()
	for _, t := range rest {
		if t.withdrawn.Load() {
			c.out.withdraw(t, t.cancelled)
			continue
		}
		if t.refusal == nil {
			c.send(t, markNone, 0, problemOf(errDraining, &t.index, false))
		} else {
			t.count(synth.Done{}, t.refusal)
			c.logTurn(t, synth.Done{}, finishError, t.refusal)
		}
		c.send(t, markEnd, 0, endEvent{eventEnd, t.index, 0, finishError})
	}
	c.finish(closedDraining)
}

// turn speaks an utterance and tells its end.
func (c *session) turn(t *turn) {
	defer t.cancel()
	t.received = time.Now()
	b := &bracket{session: c, turn: t}
	done, err := c.utter(t, b)
	t.detach()
	done, err = c.settle(t, done, err)
	reason := reasonOf(done, err)
	if b.begun || reason == finishError {
		t.count(done, err)
	}
	c.logTurn(t, done, reason, err)
	if b.open && !t.withdrawn.Load() {
		b.end(b.text, reason, err != nil)
	}
	c.conclude(t, b, reason)
}

// settle finds out what became of an utterance, and tells a failure unless the client was
// told why it fails: the reader may have refused some of its text meanwhile.
func (c *session) settle(t *turn, done synth.Done, err error) (synth.Done, error) {
	if err != nil || done.FinishReason == synth.FinishCancelled {
		err = c.cause(why(t.ctx, err))
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	slow, isSlow := asSlow(err)
	withdrawn := t.withdrawn.Load()
	switch {
	case t.refusal != nil && (withdrawn || !isSlow): // it failed before
		return done, t.refusal
	case withdrawn:
		done.FinishReason = synth.FinishCancelled
		return done, nil
	case isSlow:
		c.finish(closedSlow(slow))
		return done, errClientGone // counted
	case err != nil && !errors.Is(err, errClientGone):
		t.refusal = asError(err)
		c.send(t, markNone, 0, problemOf(t.refusal, &t.index, false))
	}
	return done, err
}

// utter has an utterance spoken into the outbox.
func (c *session) utter(t *turn, b *bracket) (done synth.Done, err error) {
	if t.withdrawn.Load() || t.ctx.Err() != nil {
		return synth.Done{FinishReason: synth.FinishCancelled}, nil
	}
	if ended, sayable := t.state(); ended && !sayable {
		if strings.TrimSpace(t.said()) != "" {
			return done, nothingToSay
		}
		return synth.Done{FinishReason: synth.FinishStop}, nil
	}
	sink, err := t.form.open(t, c.model.SampleRate)
	if err != nil {
		return done, err
	}
	defer sink.Abort() // nothing after Close
	stream, err := c.begin(t)
	if err != nil {
		return done, err
	}
	defer stream.Close()
	b.begun = true
	if done, err = b.copy(stream, sink); err != nil || done.FinishReason == synth.FinishCancelled {
		return done, err
	}
	return done, sink.Close()
}

// nothingToSay refuses a text of marks alone.
var nothingToSay = func() *Error {
	e := invalid("text", "it has no letter and no number, nothing to say")
	e.Code = "nothing_to_say"
	return e
}()

// begin gives an utterance to the engine.
func (c *session) begin(t *turn) (Stream, error) {
	r := t.request
	var err error
	if t.warnings, err = c.server.hearClip(t.ctx, t.clip, &r); err != nil {
		return nil, err
	}
	if t.whole {
		r.Text = t.said()
		return c.engine.Speak(t.ctx, r)
	}
	return t.growingText.begin(t.ctx, c.engine, r)
}

// bracket is what lies between an audio.start and its audio.done.
type bracket struct {
	session  *session
	turn     *turn
	begun    bool // the engine has taken the utterance
	open     bool
	count    int // of brackets
	sentence int
	text     string
	frames   int
	samples  int // of the model

	computing, before time.Duration // of the engine so far, and when the bracket began
}

// copy moves an utterance from the engine through the encoder to the client.
func (b *bracket) copy(stream Stream, sink audio.Sink) (synth.Done, error) {
	t := b.turn
	if !t.whole {
		defer t.watch(b.session.limits.TextTimeout, func() { b.session.endText(t) })()
	}
	for {
		event, err := stream.Next()
		if err == io.EOF {
			return synth.Done{}, errors.New("the stream ended without a result")
		}
		if err != nil {
			return synth.Done{}, err
		}
		switch e := event.(type) {
		case synth.Start:
			t.start = e
		case synth.Segment:
			if !b.open {
				b.start(e.Text)
			}
		case synth.Audio:
			if err := b.frame(e, sink); err != nil {
				return synth.Done{}, err
			}
		case synth.SegmentDone:
			if b.open && t.bySentence() {
				b.end(e.Text, e.FinishReason, false)
			}
		case synth.Done:
			return e, nil
		}
	}
}

// frame encodes a frame.
func (b *bracket) frame(e synth.Audio, sink audio.Sink) error {
	t := b.turn
	if !b.open { // silence before a sentence
		b.start("")
	}
	t.utterance.frame()
	t.speech(e)
	if e.Codes != nil {
		b.frames++
		t.fresh.Add(1)
	}
	b.samples += len(e.PCM)
	b.computing = e.Computing
	t.audio.Add(int64(time.Duration(len(e.PCM)) * time.Second / time.Duration(b.session.model.SampleRate)))
	err := sink.Write(e.PCM)
	t.awaitFrame()
	return err
}

// start tells that audio begins.
func (b *bracket) start(text string) {
	t, scope := b.turn, scopeSentence
	if !t.bySentence() {
		text, scope = strings.TrimSpace(t.said()), scopeUtterance
	}
	b.open, b.sentence = true, b.count
	b.count++
	t.bytes.Store(0)
	e := startEvent{
		Type: eventAudioStart, Utterance: t.index, Sentence: b.sentence, Text: text, Scope: scope,
		Format: t.form.format, ContentType: t.form.contentType(), SampleRate: t.rate(), Channels: 1,
		Estimate: estimate(text, t.form.speed).Milliseconds(), Seed: t.start.Seed, Voice: t.start.Voice, Warnings: t.warnings,
	}
	b.text, t.warnings = text, nil
	b.session.send(t, markStart, b.sentence, e)
}

// end tells that audio has ended.
func (b *bracket) end(text string, reason synth.FinishReason, failed bool) {
	t, sentence := b.turn, b.sentence
	if !t.bySentence() {
		text = strings.TrimSpace(t.said())
	}
	e := doneAudioEvent{
		Type: eventAudioDone, Utterance: &t.index, Sentence: &sentence, Text: text, Bytes: t.bytes.Load(), Frames: b.frames,
		TTFA: t.ttfa.Milliseconds(), Seed: &t.start.Seed, Finish: reason, Error: failed,
	}
	if b.samples > 0 {
		e.RTF = rounded((b.computing - b.before).Seconds() * float64(b.session.model.SampleRate) / float64(b.samples))
	}
	b.session.send(t, markDone, b.sentence, e)
	b.open, b.frames, b.samples, b.before = false, 0, 0, b.computing
}

// rounded keeps three digits behind the point.
func rounded(x float64) float64 { return float64(int64(x*1000+0.5)) / 1000 }

// Write sends encoded audio.
func (t *turn) Write(p []byte) (int, error) {
	if err := t.deliver(websocket.BinaryMessage, p); err != nil {
		return 0, err
	}
	t.bytes.Add(int64(len(p)))
	return len(p), nil
}

// deliver sends a message with audio once there is room for it, and the listener is not
// too far behind.
func (t *turn) deliver(kind int, p []byte) error {
	c := t.socket
	var began time.Time
	defer func() {
		if !began.IsZero() {
			signal(c.out.room) // there may be others who wait for it
		}
	}()
	for {
		if err := t.ctx.Err(); err != nil {
			return err
		}
		far := c.acks.Load() && t.ahead() > c.limits.ListenAhead
		if !far && c.out.audio(t, kind, p, int(t.fresh.Load())) {
			break
		}
		if began.IsZero() {
			began = time.Now()
		}
		// Whatever waits in the outbox and in the network counts as heard.
		left := c.limits.LagTimeout + t.given() - t.blocked - time.Since(began)
		if err := t.pause(left); err != nil {
			return err
		}
	}
	if !began.IsZero() {
		t.blocked += time.Since(began)
	}
	t.fresh.Store(0)
	return nil
}

// pause waits until something was sent or heard, but for so long at most.
func (t *turn) pause(most time.Duration) error {
	timer := time.NewTimer(max(most, 0))
	defer timer.Stop()
	select {
	case <-t.socket.out.room:
	case <-t.heard:
	case <-t.ctx.Done():
	case <-timer.C:
		return &slowError{slowLag}
	}
	return nil
}

// conclude tells that an utterance is over, once its text is: what still comes of it
// is of no use, but it is no text of the next one.
func (c *session) conclude(t *turn, b *bracket, reason synth.FinishReason) {
	for {
		c.mu.Lock()
		if !c.spoken {
			c.spoken, c.active = true, time.Now()
		}
		ended, _ := t.state()
		if withdrawn := t.withdrawn.Load(); ended || withdrawn || c.draining || c.ctx.Err() != nil {
			if withdrawn {
				c.out.withdraw(t, t.cancelled)
			} else {
				c.send(t, markEnd, 0, endEvent{eventEnd, t.index, b.count, reason})
			}
			break
		}
		c.mu.Unlock()
		select {
		case <-c.wake:
		case <-c.ctx.Done():
		}
	}
	defer c.mu.Unlock()
	c.turns, c.current, c.spoken, c.active = c.turns[1:], nil, false, time.Now()
	if c.open == t {
		c.open = nil
	}
	if b.count > 0 && (reason == synth.FinishStop || reason == synth.FinishLength) {
		c.mistakes = 0
	}
}

// logTurn writes an utterance's line.
func (c *socket) logTurn(t *turn, done synth.Done, reason synth.FinishReason, err error) {
	attrs := []slog.Attr{slog.String("id", c.in.id), slog.String("session", c.id), slog.Int("utterance", t.index)}
	attrs = append(attrs, t.figures(t.form, done, reason)...)
	if err != nil {
		attrs = append(attrs, c.server.logError(err))
	}
	if c.server.opts.LogText {
		attrs = append(attrs, slog.String("text", t.said()))
	}
	level := slog.LevelInfo
	if err != nil && asError(err).Code == "internal_error" && !errors.Is(err, errClientGone) {
		level = slog.LevelError
	}
	c.server.opts.Log.LogAttrs(context.WithoutCancel(c.ctx), level, "utterance", attrs...)
}
