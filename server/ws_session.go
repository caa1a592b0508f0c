package server

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mynah-tts/mynah/synth"
)

// session is one WebSocket that speaks the protocol of docs/websocket.md. A goroutine
// beside those of its socket speaks utterances in their order.
type session struct {
	socket
	engine Engine
	wake   chan struct{} // a token for the speaker: there may be work

	// mu goes before turn.mu and outbox.mu.
	mu       sync.Mutex
	config   *speechRequest
	next     template
	turns    []*turn // that are not over, in order
	current  *turn   // the first of them, once it is being spoken
	spoken   bool    // what of current there was to speak; it waits for its input.done
	open     *turn   // that takes text; nil if none does
	half     string  // the first half of a pair of escapes, at the end of the last piece
	count    int     // of utterances
	told     bool    // the client knows what is wrong with the message at hand
	dropping bool    // text up to the next input.done is of an utterance that there is not
	closing  bool    // session.close came
	draining bool    // the server shuts down
	mistakes int
	active   time.Time // when the client or an utterance last did something
}

// template is what utterances are made from: a configuration, in the engine's terms.
type template struct {
	request synth.Request
	clip    *clipRequest // the voice, if it is one that the client brought along
	form    encoding
	whole   bool
}

func (s *Server) newSession(ctx context.Context, engine Engine, conn *websocket.Conn, in *requestInfo) *session {
	c := &session{
		socket: newSocket(s, engine, conn, in), engine: engine, wake: make(chan struct{}, 1),
		config: &speechRequest{present: map[string]bool{}}, active: time.Now(),
	}
	c.dialect = c
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// run serves the connection until it is closed. No goroutine is left.
func (c *session) run() error {
	c.next, _ = c.template(c.config) // an error is told when text comes
	c.send(nil, markNone, 0, c.describe(eventCreated, nil))
	err := c.serve(c.speak)
	c.in.add(slog.Int("utterances", c.count))
	return err
}

// mistake tells the client what is wrong with what it sent, and with the utterance that
// takes text. After too many the connection ends.
func (c *session) mistake(e *Error) {
	c.mu.Lock()
	if !c.told {
		var utterance *int
		if c.open != nil {
			utterance = &c.open.index
		}
		c.send(nil, markNone, 0, problemOf(e, utterance, false))
	}
	c.mistakes++
	many := c.mistakes >= maxMistakes
	c.mu.Unlock()
	if many {
		c.finish(closedMistakes)
	}
}

// drain tells the client that the server shuts down, and that the utterance that is
// being spoken will be the last.
func (c *session) drain() {
	c.mu.Lock()
	c.draining = true
	speaking := c.current
	c.mu.Unlock()
	if speaking != nil {
		c.send(nil, markNone, 0, problemOf(errDraining, nil, false))
	}
	signal(c.wake)
}

// idle is how long nothing has happened; 0 while an utterance is being spoken.
func (c *session) idle() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.current != nil && !c.spoken {
		return 0
	}
	return time.Since(c.active)
}

// idled ends a connection on which nothing happens.
func (c *session) idled() { c.finish(closedIdle) }

// farewell is the event that tells why the connection ends.
func (c *session) farewell(e ending) any {
	return problemEvent{Type: eventProblem, Code: e.reason, Message: e.message, Fatal: true}
}
