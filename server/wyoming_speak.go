package server

import (
	"errors"
	"strings"
	"time"

	"github.com/mynah-tts/mynah/internal/wyoming"
	"github.com/mynah-tts/mynah/synth"
)

// speak speaks utterances, one after the other, until the connection ends.
func (c *wyomingConn) speak() {
	for {
		u := c.upcoming()
		if u == nil {
			return
		}
		err := u.run()
		switch slow, isSlow := asSlow(err); {
		case isSlow:
			c.server.opts.Log.Info("wyoming", "id", c.id, "slow client", string(slow))
			c.end()
			c.cancel()
			return
		case errors.Is(err, errClientGone):
			c.end()
			c.cancel()
			return
		case err != nil:
			c.fail(asError(err))
			return
		}
		c.mu.Lock()
		c.queue = c.queue[1:]
		over := c.draining && len(c.queue) == 0
		c.mu.Unlock()
		if over {
			c.end()
			return
		}
	}
}

// upcoming waits for the next utterance that can be spoken; nil when there will be none.
func (c *wyomingConn) upcoming() *wyomingUtterance {
	for {
		c.mu.Lock()
		var first *wyomingUtterance
		if len(c.queue) > 0 {
			first = c.queue[0]
		}
		c.mu.Unlock()
		if first != nil {
			if ended, sayable := first.state(); ended || sayable {
				return first
			}
		}
		select {
		case <-c.wake:
		case <-c.ctx.Done():
			if first != nil && errors.Is(why(c.ctx, nil), errDraining) {
				c.fail(errDraining)
			}
			return nil
		}
	}
}

// run speaks an utterance and tells the client of its end, if that was well.
func (u *wyomingUtterance) run() error {
	defer u.cancel()
	defer u.watch(u.conn.limits.TextTimeout, u.expire)()
	u.waited = u.conn.waited()
	in := &requestInfo{id: newID("req_")}
	done, err := u.utter(in)
	u.detach()
	if err == nil && done.FinishReason == synth.FinishLength {
		err = errTruncated
	}
	u.conn.mu.Lock()
	if err == nil && u.late {
		err = &Error{Type: typeInvalid, Code: "text_timeout", Message: "no text came for " + u.conn.limits.TextTimeout.String() + "; what came before was spoken"}
	}
	u.conn.mu.Unlock()
	u.conn.logWyoming(u, in, err)
	if err != nil {
		return err
	}
	return u.conclude()
}

// utter has an utterance spoken to the client.
func (u *wyomingUtterance) utter(in *requestInfo) (done synth.Done, err error) {
	if ended, sayable := u.state(); ended && !sayable {
		if u.whole || strings.TrimSpace(u.said()) != "" {
			return done, nothingToSay
		}
		return done, nil
	}
	engine, release, err := u.server.begin()
	if err != nil {
		return done, err
	}
	defer release()
	form := encoding{format: formatPCM}
	sink, err := form.open(u, engine.Info().SampleRate)
	if err != nil {
		return done, err
	}
	defer sink.Abort() // nothing after Close
	var stream Stream
	if u.whole {
		stream, err = engine.Speak(u.ctx, u.request)
	} else {
		stream, err = u.growingText.begin(u.ctx, engine, u.request)
	}
	if err != nil {
		return done, err
	}
	defer stream.Close()
	done, err = u.pump(u.ctx, stream, sink)
	u.logged(in, done, form)
	return done, err
}

// expire ends a text that does not go on: it holds a place of others.
func (u *wyomingUtterance) expire() {
	c := u.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	defer signal(c.wake)
	if c.open == u {
		u.late, c.open = true, nil
		_ = u.add(piece{kind: pieceEnd}) // its error is the stream's as well
	}
}

// bytesPerSample is the width of samples.
const bytesPerSample = 2

// format describes the audio from a sample on.
func (u *wyomingUtterance) format() wyoming.Audio {
	return wyoming.Audio{Rate: u.start.SampleRate, Width: bytesPerSample, Channels: 1, Timestamp: u.at()}
}

// at is where in the utterance the next sample is, in ms.
func (u *wyomingUtterance) at() int64 {
	return u.sent * 1000 / int64(max(u.start.SampleRate, 1))
}

// Write sends samples.
func (u *wyomingUtterance) Write(p []byte) (int, error) {
	c := u.conn
	if !u.begun {
		u.begun = true
		if err := c.send(wyoming.TypeAudioStart, u.format(), nil); err != nil {
			return 0, err
		}
	}
	if err := c.send(wyoming.TypeAudioChunk, u.format(), p); err != nil {
		return 0, err
	}
	u.sent += int64(len(p) / bytesPerSample)
	// Whatever waits in the network counts as heard.
	if c.waited()-u.waited-time.Duration(u.audio.Load()) > c.limits.LagTimeout {
		return 0, &slowError{slowLag}
	}
	return len(p), nil
}

// waited is the time that writes have taken.
func (c *wyomingConn) waited() time.Duration {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.blocked
}

// conclude tells the client that all of the text was spoken.
func (u *wyomingUtterance) conclude() error {
	if u.begun {
		if err := u.conn.send(wyoming.TypeAudioStop, wyoming.AudioStop{Timestamp: u.at()}, nil); err != nil {
			return err
		}
	}
	if u.whole {
		return nil
	}
	return u.conn.send(wyoming.TypeStopped, nil, nil)
}
