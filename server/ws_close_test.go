package server

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// Clients that vanish: what they had asked for ends within a frame, and nothing of the
// session is left.
func TestSocketVanishes(t *testing.T) {
	for _, tc := range []struct {
		name  string
		leave func(c *talk)
	}{
		{"reset", func(c *talk) { _ = c.tcp().SetLinger(0); c.conn.Close() }},
		{"closed", func(c *talk) { c.conn.Close() }},
		{"half closed", func(c *talk) { _ = c.tcp().CloseWrite() }},
		{"close message", func(c *talk) {
			_ = c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1001, "bye"), time.Now().Add(time.Second))
		}},
		{"broken frame", func(c *talk) { _, _ = c.tcp().Write([]byte{0xff, 0xff, 0xff, 0xff}) }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			engine := newSocketFake()
			engine.delay = time.Millisecond
			r := startSocket(t, Options{}, engine)
			for range 3 {
				c := r.socket()
				c.text(endless)
				c.want(eventAudioStart)
				tc.leave(c)
			}
			eventually(t, "streams are closed", func() bool { return engine.open.Load() == 0 })
			made := engine.frames.Load()
			eventually(t, "sessions are over", func() bool { return r.metric("mynah_websockets") == "0" })
			if engine.frames.Load() != made {
				t.Error("frames were made afterwards")
			}
			if got := r.metric(`mynah_utterances_total{reason="cancelled"}`); got != "3" {
				t.Errorf("%s utterances were cancelled", got)
			}
		})
	}
}

// The answer to a close message has its code.
func TestSocketCloseMessage(t *testing.T) {
	c := startSocket(t, Options{}, newSocketFake()).socket()
	_ = c.conn.WriteControl(websocket.CloseMessage, websocket.FormatCloseMessage(1001, "bye"), time.Now().Add(time.Second))
	c.closed(1001, "closed_by_client")
}

// session.close lets everything be spoken first, and takes nothing more.
func TestSocketClose(t *testing.T) {
	engine := newSocketFake()
	engine.step = make(chan struct{})
	c := startSocket(t, Options{}, engine).socket()
	c.text("One.")
	c.say("input.done")
	c.text("two")
	c.want(eventAudioStart)
	c.say("session.close", "session.close", "session.config")
	c.problem("session_closing", -1)
	c.text("three")
	c.problem("session_closing", -1)
	close(engine.step)
	for range 3 { // audio, audio.done, session.done
		if _, _, err := c.read(); err != nil {
			t.Fatal(err)
		}
	}
	if h := c.hear(1); len(h.audio) != 2*fakeFrame || h.end.Finish != "stop" {
		t.Errorf("%d bytes, %+v", len(h.audio), h.end)
	}
	if events := c.closed(1000, "session_closed"); len(events) != 0 {
		t.Errorf("events %+v", events)
	}
}

func TestSocketDrain(t *testing.T) {
	engine := newSocketFake()
	engine.step = make(chan struct{})
	r := startSocket(t, Options{}, engine)
	speaking, idle := r.socket(), r.socket()
	speaking.text("The last words.")
	speaking.want(eventAudioStart)
	speaking.text(" And more.")
	speaking.say("input.done")
	speaking.text("Too late.")
	speaking.say("input.flush") // it is there when draining begins
	speaking.say(`{"type":"playback.ack","played_samples":-1}`)
	speaking.problem("invalid_value", 1)
	shut := make(chan error)
	go func() { shut <- r.Shutdown(context.Background()) }()
	idle.closed(1001, "shutting_down")
	speaking.problem("shutting_down", -1)
	speaking.say("input.done")
	speaking.text("Not any more.")
	speaking.problem("shutting_down", -1)
	close(engine.step)
	for ended := false; !ended; {
		e, _, err := speaking.read()
		if err != nil {
			t.Fatal(err)
		}
		ended = e.Type == eventEnd && *e.Utterance == 0 && e.Finish == "stop"
	}
	speaking.problem("shutting_down", 1)
	if e := speaking.want(eventEnd); *e.Utterance != 1 || e.Finish != "error" {
		t.Errorf("event %+v", e)
	}
	events := speaking.closed(1001, "shutting_down")
	if len(events) != 1 || !events[0].Fatal || events[0].Code != "shutting_down" {
		t.Errorf("events %+v", events)
	}
	if err := <-shut; err != nil {
		t.Error(err)
	}
}

// Until the delay is over WebSockets go on as ever, and new ones are taken.
func TestSocketDrainDelay(t *testing.T) {
	r := startSocket(t, Options{Limits: Limits{DrainDelay: time.Hour}}, newSocketFake())
	before := r.socket()
	ctx, cancel := context.WithCancel(context.Background())
	shut := make(chan error, 1)
	go func() { shut <- r.Shutdown(ctx) }()
	eventually(t, "draining begins", func() bool { return isClosed(r.draining) })
	wantError(t, r.get("/ready"), 503, "", "shutting_down")
	after := r.socket()
	for _, c := range []*talk{before, after} {
		for i := range 20 {
			c.text("As ever.")
			c.say("input.done")
			if h := c.hear(i); !bytes.Equal(h.audio, soundOf("As ever.")) || h.end.Finish != "stop" || len(h.problems) > 0 {
				t.Fatalf("utterance %d: %d bytes, %+v", i, len(h.audio), h)
			}
		}
	}
	cancel()
	before.closed(1001, "shutting_down")
	after.closed(1001, "shutting_down")
	<-shut
}

// What has not finished when the grace is over is cancelled, and told so.
func TestSocketDrainGrace(t *testing.T) {
	engine := newSocketFake()
	engine.step = make(chan struct{})
	r := startSocket(t, Options{Limits: Limits{DrainGrace: 100 * time.Millisecond}}, engine)
	c := r.socket()
	c.text("The last words.")
	c.want(eventAudioStart)
	shut := make(chan error)
	go func() { shut <- r.Shutdown(context.Background()) }()
	c.problem("shutting_down", -1)
	c.problem("shutting_down", 0)
	if e := c.want(eventAudioDone); e.Finish != "cancelled" || !e.Failed {
		t.Errorf("event %+v", e)
	}
	if e := c.want(eventEnd); e.Finish != "cancelled" {
		t.Errorf("event %+v", e)
	}
	c.closed(1001, "shutting_down")
	if err := <-shut; err == nil || err.Error() != "server: 1 live request cancelled" {
		t.Errorf("error %v", err)
	}
}
