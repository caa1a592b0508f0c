package server

import (
	"bytes"
	"fmt"
	"strings"
	"testing"
	"time"
)

// After the acknowledgement of a cancellation not a byte of what was cancelled is sent,
// whatever the state was in which it came.
func TestSocketBargeIn(t *testing.T) {
	old := strings.Repeat("An old sentence which nobody wants. ", 40)
	for _, tc := range []struct {
		name string
		say  func(c *talk, engine *socketFake)
		acks []int // utterances that are cancelled
	}{
		{"being spoken", func(c *talk, engine *socketFake) {
			c.text(old)
			c.say("input.done")
			oneStep(engine.step, 12)
		}, []int{0}},
		{"text goes on", func(c *talk, engine *socketFake) {
			c.text(old)
			oneStep(engine.step, 3)
		}, []int{0}},
		{"not begun", func(c *talk, engine *socketFake) {
			c.text("...")
		}, []int{0}},
		{"several", func(c *talk, engine *socketFake) {
			c.text(old)
			c.say("input.done")
			c.text(old)
			c.say("input.done")
			c.text("third")
			oneStep(engine.step, 2)
		}, []int{0, 1, 2}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			engine := newSocketFake()
			engine.step = make(chan struct{})
			r := startSocket(t, Options{}, engine)
			c := r.socket()
			tc.say(c, engine)
			c.say("input.cancel")
			c.text("A new one.") // at once, without waiting
			c.say("input.done")
			for _, index := range tc.acks {
				h := c.hear(index)
				last := h.dones[len(h.dones)-1]
				if last.Finish != "cancelled" || h.end.Finish != "cancelled" || !bytes.HasPrefix(soundOf(old), h.audio) {
					t.Fatalf("utterance %d: %d bytes, %+v, %+v", index, len(h.audio), last, h.end)
				}
				if last.Frames*2*fakeFrame != last.Bytes {
					t.Errorf("utterance %d: %d frames, %d bytes", index, last.Frames, last.Bytes)
				}
			}
			close(engine.step)
			if h := c.hear(len(tc.acks)); !bytes.Equal(h.audio, soundOf("A new one.")) || h.end.Finish != "stop" {
				t.Errorf("the new one: %d bytes, %+v", len(h.audio), h.end)
			}
			eventually(t, "streams are closed", func() bool { return engine.open.Load() == 0 })
		})
	}
}

// What was computed but not sent is taken back as well, of an utterance that the engine
// has finished too: the client does not read here until it has cancelled.
func TestSocketCancelUnsent(t *testing.T) {
	engine := newSocketFake()
	r := startSocket(t, Options{Limits: Limits{PendingBytes: 16 << 20}}, engine)
	c := r.socket()
	_ = c.tcp().SetReadBuffer(32 << 10)
	long := strings.Repeat("A long sentence. ", 200) // 13 s of audio in 3 MB
	c.text(long)
	c.say("input.done")
	eventually(t, "it is spoken", func() bool { return r.metric(`mynah_utterances_total{reason="stop"}`) == "1" })
	c.say("input.cancel", "input.cancel")
	c.text("New.")
	c.say("input.done")
	h := c.hear(0)
	if len(h.audio) > len(soundOf(long))/2 || h.end.Finish != "cancelled" || h.dones[len(h.dones)-1].Finish != "cancelled" || h.end.Sentences == 0 {
		t.Errorf("%d of %d bytes, %+v", len(h.audio), len(soundOf(long)), h.end)
	}
	e := c.event()
	for ; e.Type == eventAudioDone; e = c.event() { // both cancellations may have been acknowledged
		if *e.Utterance != 0 || e.Sentence != nil {
			t.Errorf("event %+v", e)
		}
	}
	if e.Type != eventAudioStart || *e.Utterance != 1 {
		t.Errorf("event %+v", e)
	}
}

// A cancellation of nothing is acknowledged, so that nobody waits for ever, and is no
// mistake.
func TestSocketCancelNothing(t *testing.T) {
	c := startSocket(t, Options{}, newSocketFake()).socket()
	for range 2 * maxMistakes {
		c.say("input.cancel")
		if e := c.want(eventAudioDone); e.Utterance != nil || e.Sentence != nil || e.Finish != "cancelled" || e.Bytes != 0 {
			t.Fatalf("event %+v", e)
		}
	}
	c.text("One.")
	c.say("input.done")
	c.hear(0)
	c.say("input.cancel")
	if e := c.want(eventAudioDone); *e.Utterance != 0 || e.Finish != "cancelled" {
		t.Errorf("event %+v", e)
	}
}

// Cancellations at random moments: each utterance ends once, in order, with what
// belongs to it.
func TestSocketCancelAnytime(t *testing.T) {
	engine := newSocketFake()
	engine.delay = 20 * time.Microsecond
	r := startSocket(t, Options{}, engine)
	c := r.socket()
	const rounds = 150
	sounds := make(chan string, rounds)
	go func() {
		defer close(sounds)
		for i := range rounds {
			text := fmt.Sprintf("Number %d is this. And it goes on for some time.", i)
			sounds <- text
			c.text(text)
			if i%3 > 0 {
				c.say("input.done")
			}
			time.Sleep(time.Duration(i%7) * 100 * time.Microsecond)
			c.say("input.cancel")
		}
		c.say("session.close")
	}()
	index := 0
	for text := range sounds {
		var got []byte
		open := false
		for ended := false; !ended; {
			e, audio, err := c.read()
			switch {
			case err != nil:
				t.Fatalf("utterance %d: %v", index, err)
			case e.Type == eventAudioDone && e.Sentence == nil && *e.Utterance < index: // nothing was left to cancel
				continue
			case e.Type != "" && *e.Utterance != index:
				t.Fatalf("utterance %d: event %+v of %d", index, e, *e.Utterance)
			case audio != nil && !open:
				t.Fatalf("utterance %d: audio outside", index)
			}
			got = append(got, audio...)
			open = open && e.Type != eventAudioDone || e.Type == eventAudioStart
			ended = e.Type == eventEnd
		}
		if !bytes.HasPrefix(soundOf(text), got) {
			t.Fatalf("utterance %d: %d bytes of another", index, len(got))
		}
		index++
	}
	c.closed(1000, "session_closed")
	eventually(t, "streams are closed", func() bool { return engine.open.Load() == 0 })
}
