package server

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

func TestElevenMulti(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	c := r.eleven(elevenMultiPath, nil)
	c.say(`{"text":" ","context_id":"a","voice_settings":{"stability":0.5}}`)
	c.text("a", "Alpha ")
	c.say(`{"text":"Beta. ","context_id":"b","flush":true}`, `{"text":"","context_id":"b"}`, `{"text":"no name. "}`)
	c.say(`{"text":"one. ","context_id":"a"}`, `{"context_id":"a","flush":true}`, `{"context_id":"a","close_context":true}`, `{"context_id":"nobody","close_context":true}`)
	all, _ := c.hear(1)
	if a := all["a"]; a == nil || !a.final || !bytes.Equal(a.audio, saidBy("Alpha one.")) {
		t.Fatalf("%v", all)
	}
	// The same name is another context, and keep-alives of one that is over open none.
	c.say(`{"text":"","context_id":"c"}`, `{"text":"Again. ","context_id":"a","flush":true}`, `{"close_socket":true}`, `{"text":"late","context_id":"d"}`)
	rest, end := c.hear(-1)
	if end.Code != 1000 || len(rest) != 3 || !rest["a"].final || !rest["b"].final || !rest["default"].final {
		t.Fatalf("%v, %v", end, rest)
	}
	if !bytes.Equal(rest["a"].audio, saidBy("Again.")) {
		t.Errorf("%d bytes", len(rest["a"].audio))
	}
	for name, text := range map[string]string{"b": "Beta.", "default": "no name."} {
		audio := rest[name].audio
		if before := all[name]; before != nil {
			audio = append(before.audio, audio...)
		}
		if !bytes.Equal(audio, saidBy(text)) {
			t.Errorf("%s: %d bytes", name, len(audio))
		}
	}
	eventually(t, "streams are closed", func() bool { return r.engine.open.Load() == 0 })
}

// Contexts speak at the same time: one that waits for its text holds up none.
func TestElevenContextsAreApart(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	c := r.eleven(elevenMultiPath, nil)
	c.text("slow", "This one ")
	c.text("quick", "Done. ")
	c.say(`{"context_id":"quick","flush":true}`, `{"context_id":"quick","close_context":true}`)
	if all, _ := c.hear(1); all["quick"] == nil || !all["quick"].final || all["slow"] != nil {
		t.Fatalf("%v", all)
	}
	c.say(`{"context_id":"slow","text":"too. ","flush":true}`, `{"close_socket":true}`)
	if all, end := c.hear(-1); end.Code != 1000 || !all["slow"].final || !bytes.Equal(all["slow"].audio, saidBy("This one too.")) {
		t.Fatalf("%v, %v", end, all)
	}
}

// A context that is closed before its text was flushed, or twice, says no more. Its name
// is free at once.
func TestElevenBargeIn(t *testing.T) {
	for name, closing := range map[string][]string{
		"unflushed": {`{"context_id":"a","close_context":true}`},
		"twice":     {`{"context_id":"a","flush":true}`, `{"context_id":"a","close_context":true}`, `{"context_id":"a","close_context":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			engine := newSocketFake()
			engine.step = make(chan struct{})
			r := startSocket(t, Options{}, engine)
			c := r.eleven(elevenMultiPath, nil)
			c.text("a", "A very long sentence that is interrupted. ")
			engine.step <- struct{}{}
			engine.step <- struct{}{}
			c.say(closing...)
			c.say(`{"context_id":"a","text":"New. ","flush":true}`, `{"close_socket":true}`)
			first, _ := c.hear(1)
			if a := first["a"]; a == nil || a.final || a.err == nil || a.err.Error != "context_closed" || len(a.audio) > 2*2*fakeFrame {
				t.Fatalf("%v", first["a"])
			}
			close(engine.step)
			if rest, end := c.hear(-1); end.Code != 1000 || !rest["a"].final || !bytes.Equal(rest["a"].audio, saidBy("New.")) {
				t.Fatalf("%v, %v", end, rest)
			}
		})
	}
}

// A context that failed takes the rest of its text in vain, and others go on.
func TestElevenContextFails(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	c := r.eleven(elevenMultiPath, nil)
	c.text("good", "Fine. ")
	c.text("bad", "a\x00 ", "and more. ")
	all, _ := c.hear(1)
	if bad := all["bad"]; bad == nil || bad.final || bad.err == nil || bad.err.Error != "invalid_value" || len(bad.audio) > 0 {
		t.Fatalf("%v", all)
	}
	c.text("bad", "and the end. ")
	c.say(`{"context_id":"bad","close_context":true}`, `{"context_id":"bad","text":"New. ","flush":true}`, `{"close_socket":true}`)
	rest, end := c.hear(-1)
	if end.Code != 1000 || !rest["good"].final || !rest["bad"].final || !bytes.Equal(rest["bad"].audio, saidBy("New.")) {
		t.Fatalf("%v, %v", end, rest)
	}
}

func TestElevenTooManyContexts(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	c := r.eleven(elevenMultiPath, nil)
	for i := range 20 { // closed ones do not count
		name := fmt.Sprint("past", i)
		c.say(`{"context_id":"`+name+`","text":" "}`, `{"context_id":"`+name+`","close_context":true}`)
	}
	if all, _ := c.hear(20); len(all) != 20 {
		t.Fatalf("%v", all)
	}
	for i := range elevenContexts + 1 {
		c.text(fmt.Sprint(i), " ")
	}
	all, end := c.hear(-1)
	if end.Code != 1008 || end.Text != "max_active_conversations" || len(all) != 1 || all[""].err == nil {
		t.Fatalf("%v, %v", end, all)
	}
}

// A text that does not go on is spoken as far as it came, and is no success.
func TestElevenInactivity(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	single := r.eleven(elevenSinglePath+"&inactivity_timeout=2", nil)
	single.text("", "Hello ")
	multi := r.eleven(elevenMultiPath+"&inactivity_timeout=2", nil)
	multi.text("a", "Hello ")
	silent := r.eleven(elevenSinglePath+"&inactivity_timeout=1", nil)
	if h, end := silent.single(); h.err == nil || h.err.Error != "input_timeout_exceeded" || end.Code != 1008 {
		t.Errorf("%+v, %v", h.err, end)
	}
	if h, end := single.single(); h.final || h.err == nil || h.err.Error != "input_timeout_exceeded" || end.Code != 1008 || !bytes.Equal(h.audio, saidBy("Hello")) {
		t.Errorf("%+v, %v", h.err, end)
	}
	if all, _ := multi.hear(1); all["a"].final || all["a"].err == nil || all["a"].err.Error != "input_timeout_exceeded" || !bytes.Equal(all["a"].audio, saidBy("Hello")) {
		t.Errorf("%v", all["a"])
	}
	multi.text("a", "New. ") // which is another context
	multi.say(`{"close_socket":true}`)
	if all, end := multi.hear(-1); end.Code != 1000 || !all["a"].final {
		t.Errorf("%v, %v", end, all["a"])
	}
}

// A server that shuts down finishes what came, and calls a text that had not ended none.
func TestElevenDrain(t *testing.T) {
	engine := newSocketFake()
	engine.step = make(chan struct{})
	r := startSocket(t, Options{}, engine)
	idle := r.eleven(elevenMultiPath, nil)
	c := r.eleven(elevenMultiPath, nil)
	c.text("ended", "All of it. ")
	c.say(`{"context_id":"ended","flush":true}`, `{"context_id":"ended","close_context":true}`)
	c.text("open", "Not all. ")
	eventually(t, "both speak", func() bool { return engine.open.Load() == 2 })
	done := make(chan error)
	go func() { done <- r.Shutdown(context.Background()) }()
	if all, end := idle.hear(-1); end.Code != 1001 || end.Text != "shutting_down" || len(all) != 1 {
		t.Errorf("%v, %v", end, all)
	}
	c.text("open", "Too late. ") // while it drains
	close(engine.step)
	all, end := c.hear(-1)
	if end.Code != 1001 || !all["ended"].final || !bytes.Equal(all["ended"].audio, saidBy("All of it.")) {
		t.Errorf("%v, %v", end, all["ended"])
	}
	if open := all["open"]; open.final || open.err == nil || open.err.Error != "shutting_down" || !bytes.Equal(open.audio, saidBy("Not all.")) {
		t.Errorf("%v", all["open"])
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A client that vanishes takes its contexts along; one that does not read is given up.
func TestElevenRudeClients(t *testing.T) {
	engine := newSocketFake()
	r := startSocket(t, Options{Limits: Limits{WriteTimeout: 200 * time.Millisecond, LagTimeout: 300 * time.Millisecond, PendingBytes: 64 << 10}}, engine)
	engine.delay = time.Millisecond
	for i := range 4 {
		c := r.eleven(elevenMultiPath, nil)
		for _, name := range []string{"a", "b", "c"} {
			c.text(name, strings.Repeat("a", 4000)+". ")
		}
		if i%2 == 0 {
			c.conn.NetConn().Close()
		}
	}
	eventually(t, "all are over", func() bool { return r.metric("mynah_websockets") == "0" && engine.open.Load() == 0 })
	c := r.eleven(elevenMultiPath, nil)
	if err := c.conn.WriteMessage(websocket.BinaryMessage, []byte{1}); err != nil {
		t.Fatal(err)
	}
	if _, end := c.hear(-1); end.Code != 1008 || end.Text != "binary_message" {
		t.Error(end)
	}
	c = r.eleven(elevenMultiPath, nil)
	_ = c.conn.WriteMessage(websocket.TextMessage, bytes.Repeat([]byte{'a'}, 10<<20))
	if _, end := c.hear(-1); end.Code != 1009 {
		t.Error(end)
	}
	if resp := r.get(elevenSinglePath); resp.StatusCode != 400 {
		t.Error(resp.StatusCode)
	}
}
