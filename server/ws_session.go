package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mynah-tts/mynah/synth"
)

// session is one WebSocket. Three goroutines work on it: the handler's own reads
// messages, one speaks utterances in their order, one writes. Only outbox joins the
// last to the others, so that none of them writes but it, and the reader never waits.
type session struct {
	server *Server
	engine Engine
	model  synth.Info
	conn   *websocket.Conn
	in     *requestInfo
	id     string
	limits Limits
	ctx    context.Context
	cancel context.CancelFunc
	out    *outbox
	wake   chan struct{} // a token for the speaker: there may be work

	once   sync.Once
	over   chan struct{} // closed once ending is set
	ending ending
	gone   chan struct{} // closed when nothing more is read
	acks   atomic.Bool   // the client tells what was heard

	expecting sync.Mutex // guards expected and the deadline of reads
	expected  bool       // that deadline is the last

	// mu goes before turn.mu and outbox.mu.
	mu       sync.Mutex
	config   *speechRequest
	next     template
	turns    []*turn // that are not over, in order
	current  *turn   // the first of them, once it is being spoken
	open     *turn   // that takes text; nil if none does
	half     string  // the first half of a pair of escapes, at the end of the last piece
	count    int     // of utterances
	blamed   *int    // the utterance that the message at hand has spoiled
	dropping bool    // text up to the next input.done is of an utterance that was refused
	closing  bool    // session.close came
	draining bool    // the server shuts down
	mistakes int
	active   time.Time // when the client or an utterance last did something
}

// template is what utterances are made from: a configuration, in the engine's terms.
type template struct {
	request synth.Request
	form    encoding
	whole   bool
}

func (s *Server) newSession(ctx context.Context, engine Engine, conn *websocket.Conn, in *requestInfo) *session {
	c := &session{
		server: s, engine: engine, model: engine.Info(), conn: conn, in: in, id: newID("sess_"), limits: s.opts.Limits,
		out: newOutbox(s.opts.Limits.PendingBytes), wake: make(chan struct{}, 1),
		over: make(chan struct{}), gone: make(chan struct{}), config: &speechRequest{present: map[string]bool{}}, active: time.Now(),
	}
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// run serves the connection until it is closed. No goroutine is left.
func (c *session) run() error {
	c.prepareConn()
	c.next, _ = c.template(c.config) // an error is told when text comes
	c.send(nil, markNone, 0, c.describe(eventCreated, nil))
	var rest sync.WaitGroup
	rest.Go(c.write)
	rest.Go(c.speak)
	defer context.AfterFunc(c.server.stop, c.stopped)()
	polite := c.leave(c.read())
	close(c.gone)
	c.cancel()
	wait := time.Duration(0)
	if polite {
		wait = closingTimeout
	}
	last := time.AfterFunc(wait, func() { c.conn.Close() })
	rest.Wait()
	last.Stop()
	c.conn.Close()
	c.in.add(slog.String("session", c.id), slog.Int("utterances", c.count), slog.Int("close", c.ending.code), slog.String("reason", c.ending.reason))
	return c.ending.err
}

// leave finds out why reading ended. It reports whether the client may still be there
// to be told something.
func (c *session) leave(err error) (polite bool) {
	var answer *websocket.CloseError
	switch {
	case c.finished():
	case errors.As(err, &answer) && answer.Code != websocket.CloseAbnormalClosure:
		c.finish(closedAnswer(answer))
	case timedOut(err):
		c.finish(closedSilent)
	default:
		c.finish(closedGone)
		return false
	}
	return true
}

// prepareConn sets what is to be so for the connection's life. Nothing but the writer
// writes, so control messages are answered through it.
func (c *session) prepareConn() {
	type buffered interface{ SetWriteBuffer(int) error }
	raw := c.conn.NetConn()
	if t, ok := raw.(interface{ NetConn() net.Conn }); ok { // TLS
		raw = t.NetConn()
	}
	if b, ok := raw.(buffered); ok {
		_ = b.SetWriteBuffer(socketBuffer) // a smaller delay, nothing depends on it
	}
	c.conn.SetPingHandler(func(data string) error {
		c.out.ponged(data)
		c.alive()
		return nil
	})
	c.conn.SetPongHandler(func(string) error {
		c.alive()
		return nil
	})
	c.conn.SetCloseHandler(func(int, string) error { return nil })
	c.alive()
}

// stopped is called when the server gives up what is live: it waits no longer for the
// client, which is told so.
func (c *session) stopped() {
	time.AfterFunc(closingTimeout, func() {
		c.expect(0, true)
		_ = c.conn.SetReadDeadline(time.Now())
	})
}

// alive puts off the end of a connection on which nothing moves.
func (c *session) alive() { c.expect(c.limits.SilenceTimeout, false) }

// expect sets how long the next message may take. Once it has been set for the last
// time, it stays.
func (c *session) expect(d time.Duration, last bool) {
	c.expecting.Lock()
	defer c.expecting.Unlock()
	if !c.expected {
		c.expected = last
		_ = c.conn.SetReadDeadline(time.Now().Add(d))
	}
}

// finish ends the connection, in the way of the first that says so. What waits is
// still sent, unless that is to be dropped.
func (c *session) finish(e ending) {
	c.once.Do(func() {
		c.ending = e
		if reason, slow := asSlow(e.err); slow {
			c.server.metrics.slowClient(reason)
		}
		if e.message != "" {
			c.out.event(nil, markNone, 0, problemEvent{Type: eventProblem, Code: e.reason, Message: e.message, Fatal: true})
		}
		c.out.close(e.drop)
		if e.drop {
			c.cancel()
		}
		close(c.over)
	})
}

// finished tells whether the connection is being closed.
func (c *session) finished() bool { return isClosed(c.over) }

// send hands an event to the writer.
func (c *session) send(t *turn, m mark, sentence int, v any) {
	if !c.out.event(t, m, sentence, v) {
		c.finish(closedSlow(slowPending))
	}
}

// read reads messages until there are no more. Once the connection is being closed it
// goes on, for a while, so that the client gets to read what it was sent last: closing
// with something unread would take that back.
func (c *session) read() error {
	defer c.guard()
	most := c.limits.BodyBytes
	for {
		kind, r, err := c.conn.NextReader()
		if err != nil {
			return err
		}
		if c.finished() {
			continue
		}
		data, err := io.ReadAll(io.LimitReader(r, most+1))
		if err != nil {
			return err
		}
		if int64(len(data)) > most {
			e := closedTooBig
			e.message = "a message over " + plural(most, "byte") + ", the most allowed"
			c.finish(e)
			continue
		}
		c.alive()
		c.message(kind, data)
	}
}

// mistake tells the client what is wrong with what it sent. After too many the
// connection ends.
func (c *session) mistake(e *Error, utterance *int) {
	c.send(nil, markNone, 0, problemOf(e, utterance, false))
	c.mu.Lock()
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
	if c.current != nil {
		return 0
	}
	return time.Since(c.active)
}

// guard ends the connection instead of the process if the work of a goroutine panics.
func (c *session) guard() {
	if problem := recover(); problem != nil {
		e := closedPanic
		e.err = fmt.Errorf("panic: %v\n%s", problem, debug.Stack())
		c.finish(e)
	}
}
