package server

import (
	"bytes"
	"context"
	"net"
	"strings"
	"testing"
	"time"
)

// only is the one connection that there is.
func (w *wyomings) only(t *testing.T) *wyomingConn {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(w.conns) != 1 {
		t.Fatalf("%d connections", len(w.conns))
	}
	for c := range w.conns {
		return c
	}
	return nil
}

// heed waits until the server has acted on all events before.
func (h *home) heed() {
	h.t.Helper()
	h.say("ping")
	h.hear("pong")
}

// A text that waits for its turn takes no memory that its length does not bound: neither
// the whole text besides its pieces, nor pieces of nothing.
func TestWyomingKeepsNoMoreThanItsText(t *testing.T) {
	engine := newSocketFake()
	engine.step = make(chan struct{})
	r := startSocket(t, Options{}, engine)
	h := dialHome(t, startWyoming(t, r))
	h.say("synthesize-start", `synthesize {"text":"Hello there."}`)
	for range 100 {
		h.say(`synthesize-chunk {"text":""}`)
	}
	h.heed()
	c := r.wyoming.only(t)
	c.mu.Lock()
	u := c.open
	if u.again != "Hello there." || len(u.waiting) != 0 {
		t.Errorf("before any text: %q and %d pieces are kept", u.again, len(u.waiting))
	}
	c.mu.Unlock()
	h.say(`synthesize-chunk {"text":"Hello there."}`, `synthesize {"text":"Hello there."}`, "synthesize-stop")
	h.heed()
	c.mu.Lock()
	if u.again != "" {
		t.Errorf("behind its pieces: %q is kept", u.again)
	}
	c.mu.Unlock()
	close(engine.step)
	if types, audio, _ := h.hear("synthesize-stopped"); types != "audio-start audio-stop synthesize-stopped" || !bytes.Equal(audio, saidBy("Hello there.")) {
		t.Errorf("%s, %d bytes", types, len(audio))
	}
}

// A flush counts as one of pieces without text as without them.
func TestEmptyPiecesAreNotKept(t *testing.T) {
	text := growingText{most: 10}
	for range 100 {
		for _, p := range []piece{{}, {kind: pieceFlush}} {
			if err := text.add(p); err != nil {
				t.Fatal(err)
			}
		}
	}
	if len(text.waiting) != 0 || text.touched.IsZero() {
		t.Errorf("%d pieces are kept, touched at %v", len(text.waiting), text.touched)
	}
}

// A client that begins a text and then is silent has its connection closed, and is told
// why. What can be spoken keeps it open, and so does what waits behind it.
func TestWyomingSilence(t *testing.T) {
	t.Run("ends", func(t *testing.T) {
		r := startSocket(t, Options{Limits: Limits{IdleTimeout: time.Second}}, newSocketFake())
		addr := startWyoming(t, r)
		for _, events := range [][]string{{"synthesize-start"}, {"synthesize-start", `synthesize-chunk {"text":" "}`, `synthesize {"text":"Hello."}`}} {
			h := dialHome(t, addr)
			h.say(events...)
			if types, _, e := h.hear("error"); types != "error" || e.Data["code"] != "text_timeout" {
				t.Errorf("%v: %s %v", events, types, e)
			}
			if types, _, e := h.hear("nothing"); e.Type != "EOF" || types != "" {
				t.Errorf("%v: %s after the error", events, types)
			}
			h.conn.Close()
			eventually(t, "the connection is gone", func() bool { return r.metric("mynah_wyoming_connections") == "0" })
		}
	})
	t.Run("waits", func(t *testing.T) {
		engine := newSocketFake()
		engine.step = make(chan struct{})
		defer close(engine.step)
		r := startSocket(t, Options{}, engine)
		h := dialHome(t, startWyoming(t, r))
		h.heed()
		c := r.wyoming.only(t)
		for _, tc := range []struct {
			event string
			busy  bool
		}{
			{"synthesize-start", false},
			{`synthesize-chunk {"text":"… "}`, false},
			{`synthesize-chunk {"text":"Hello there."}`, true},
			{"synthesize-stop", true},
			{"synthesize-start", true},
		} {
			h.say(tc.event)
			h.heed()
			if got := c.busy(); got != tc.busy {
				t.Errorf("after %s: busy is %v", tc.event, got)
			}
		}
	})
}

// A server that shuts down finishes what is being spoken, and takes no more.
func TestWyomingDrain(t *testing.T) {
	engine := newSocketFake()
	engine.step = make(chan struct{})
	r := startSocket(t, Options{}, engine)
	addr := startWyoming(t, r)
	idle, busy := dialHome(t, addr), dialHome(t, addr)
	idle.say("describe")
	idle.hear("info")
	busy.say("synthesize-start", `synthesize-chunk {"text":"Hello there."}`)
	engine.step <- struct{}{}
	if e, err := busy.read(); err != nil || e.Type != "audio-start" {
		t.Fatal(e, err)
	}
	done := make(chan error)
	go func() { done <- r.Shutdown(context.Background()) }()
	if types, _, e := idle.hear("nothing"); e.Type != "EOF" || types != "" {
		t.Errorf("%s %v", types, e)
	}
	idle.conn.Close()
	if _, err := net.Dial("tcp", addr); err == nil {
		t.Error("it still listens")
	}
	busy.say("synthesize-stop")
	close(engine.step)
	if types, audio, _ := busy.hear("synthesize-stopped"); types != "audio-stop synthesize-stopped" || !bytes.Equal(audio, saidBy("Hello there.")) {
		t.Errorf("%s, %d bytes", types, len(audio))
	}
	busy.conn.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// What is live when the grace is over is cut off, and told so.
func TestWyomingDrainGrace(t *testing.T) {
	engine := newSocketFake()
	engine.step = make(chan struct{})
	r := startSocket(t, Options{Limits: Limits{DrainGrace: 100 * time.Millisecond}}, engine)
	h := dialHome(t, startWyoming(t, r))
	h.say("synthesize-start", `synthesize-chunk {"text":"Hello there."}`, "synthesize-stop")
	engine.step <- struct{}{}
	done := make(chan error)
	go func() { done <- r.Shutdown(context.Background()) }()
	if types, _, e := h.hear("error"); e.Data["code"] != "shutting_down" || strings.Contains(types, "stop") {
		t.Errorf("%s %v", types, e)
	}
	h.conn.Close()
	if err := <-done; err == nil {
		t.Error("Shutdown told of no cut")
	}
}

func TestWyomingTooMany(t *testing.T) {
	r := start(t, Options{Limits: Limits{WebSockets: 2}})
	addr := startWyoming(t, r)
	for range 2 {
		h := dialHome(t, addr)
		h.say("describe")
		h.hear("info")
	}
	h := dialHome(t, addr)
	if _, _, e := h.hear("error"); e.Data["code"] != "too_many_connections" {
		t.Error(e)
	}
}

func TestWyomingLoading(t *testing.T) {
	s := newServer(t, Options{})
	r := run(t, s, newFake())
	addr := startWyoming(t, r)
	for _, event := range []string{"describe", `synthesize {"text":"a"}`} {
		h := dialHome(t, addr)
		h.say(event)
		if _, _, e := h.hear("error"); e.Data["code"] != "loading" {
			t.Error(e)
		}
	}
}
