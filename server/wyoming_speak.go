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
	defer c.refuseRest()
	for {
		u := c.upcoming()
		if u == nil {
			return
		}
		err := u.run()
		c.mu.Lock()
		c.queue = c.queue[1:]
		over := c.draining && len(c.queue) == 0
		c.mu.Unlock()
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
		if over {
			c.end()
			return
		}
	}
}

// refuseRest counts and logs the utterances that come to nothing because the connection
// failed.
func (c *wyomingConn) refuseRest() {
	failure := c.failed()
	if failure == nil {
		return
	}
	c.mu.Lock()
	rest := c.queue
	c.queue = nil
	c.mu.Unlock()
	for _, u := range rest {
		u.cancel()
		u.conclude(&requestInfo{id: newID("req_")}, synth.Done{}, failure, failure)
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
	u.received = time.Now() // its turn came: text was waited for until now
	in := &requestInfo{id: newID("req_")}
	done, err := u.utter()
	u.detach()
	err = u.conn.cause(err)
	told := err
	if err == nil && done.FinishReason == synth.FinishLength {
		told = errTruncated
	}
	u.conn.mu.Lock()
	if told == nil && u.late {
		told = errLateText("no text came for %v; what came before was spoken", u.conn.limits.TextTimeout)
	}
	u.conn.mu.Unlock()
	u.conclude(in, done, err, told)
	if told != nil {
		return told
	}
	return u.stop()
}

// conclude counts the end of an utterance and writes its line, with what the client is
// told. What failed before the engine had it has failed as well.
func (u *wyomingUtterance) conclude(in *requestInfo, done synth.Done, err, told error) {
	if u.taken {
		u.logged(in, done, encoding{format: formatPCM}, err)
	}
	if u.taken || reasonOf(done, err) == finishError {
		u.count(done, err)
	}
	u.conn.logWyoming(u, in, told)
}

// utter has an utterance spoken to the client.
func (u *wyomingUtterance) utter() (done synth.Done, err error) {
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
	u.taken = true
	return u.move(u.ctx, stream, sink)
}

// expire ends a text that does not go on: it holds a place of others.
func (u *wyomingUtterance) expire() {
	c := u.conn
	c.mu.Lock()
	defer c.mu.Unlock()
	defer signal(c.wake)
	if c.open == u {
		u.late, c.open = true, nil
		u.forget()
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

// stop tells the client that all of the text was spoken.
func (u *wyomingUtterance) stop() error {
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
