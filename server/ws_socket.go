package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mynah-tts/mynah/synth"
)

// socket is one WebSocket, whatever is spoken over it. The handler's own goroutine reads
// messages, one writes, others speak. Only outbox joins the one that writes to the others,
// so that none of them writes but it, and the reader never waits.
type socket struct {
	dialect dialect
	server  *Server
	model   synth.Info
	conn    *websocket.Conn
	in      *requestInfo
	id      string
	limits  Limits
	most    int64         // bytes of a message; of the reader's goroutine
	patient time.Duration // how long nothing may happen
	ctx     context.Context
	cancel  context.CancelFunc
	out     *outbox
	work    sync.WaitGroup // all goroutines but the reader's

	once   sync.Once
	over   chan struct{} // closed once ending is set
	ending ending
	gone   chan struct{} // closed when nothing more is read
	acks   atomic.Bool   // the client tells what was heard

	expecting sync.Mutex // guards expected and the deadline of reads
	expected  bool       // that deadline is the last
}

// dialect is a protocol that is spoken over a socket.
type dialect interface {
	message(kind int, data []byte) // acts on a message; the reader calls it
	drain()                        // hears, once, that the server shuts down; the writer calls it
	idle() time.Duration           // tells how long nothing has happened; the writer calls it
	idled()                        // hears that this was too long; the writer calls it
	farewell(e ending) any         // is the event that tells why the connection ends
}

// newSocket makes a socket without its dialect and its context.
func newSocket(s *Server, engine Engine, conn *websocket.Conn, in *requestInfo) socket {
	return socket{
		server: s, model: engine.Info(), conn: conn, in: in, id: newID("sess_"), limits: s.opts.Limits, most: s.opts.Limits.BodyBytes,
		patient: s.opts.Limits.IdleTimeout, out: newOutbox(s.opts.Limits.PendingBytes), over: make(chan struct{}), gone: make(chan struct{}),
	}
}

// serve reads and writes, and has work done beside, until the connection is closed. No
// goroutine is left.
func (c *socket) serve(work ...func()) error {
	c.prepareConn()
	c.work.Go(c.write)
	for _, do := range work {
		c.work.Go(do)
	}
	defer context.AfterFunc(c.server.stop, c.stopped)()
	polite := c.leave(c.read())
	close(c.gone)
	c.cancel()
	wait := time.Duration(0)
	if polite {
		wait = closingTimeout
	}
	last := time.AfterFunc(wait, func() { c.conn.Close() })
	c.work.Wait()
	last.Stop()
	c.conn.Close()
	c.in.add(slog.String("session", c.id), slog.Int("close", c.ending.code), slog.String("reason", c.ending.reason))
	return c.ending.err
}

// leave finds out why reading ended. It reports whether the client may still be there
// to be told something.
func (c *socket) leave(err error) (polite bool) {
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
func (c *socket) prepareConn() {
	if b, ok := below[interface{ SetWriteBuffer(int) error }](c.conn.NetConn()); ok {
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
func (c *socket) stopped() {
	time.AfterFunc(closingTimeout, func() {
		c.expect(0, true)
		_ = c.conn.SetReadDeadline(time.Now())
	})
}

// alive puts off the end of a connection on which nothing moves.
func (c *socket) alive() { c.expect(c.limits.SilenceTimeout, false) }

// expect sets how long the next message may take. Once it has been set for the last
// time, it stays.
func (c *socket) expect(d time.Duration, last bool) {
	c.expecting.Lock()
	defer c.expecting.Unlock()
	if !c.expected {
		c.expected = last
		_ = c.conn.SetReadDeadline(time.Now().Add(d))
	}
}

// finish ends the connection, in the way of the first that says so. What waits is
// still sent, unless that is to be dropped.
func (c *socket) finish(e ending) {
	c.once.Do(func() {
		c.ending = e
		if reason, slow := asSlow(e.err); slow {
			c.server.metrics.slowClient(reason)
		}
		if e.message != "" {
			c.out.event(nil, markNone, 0, c.dialect.farewell(e))
		}
		c.out.close(e.drop)
		if e.drop {
			c.cancel()
		}
		close(c.over)
	})
}

// cause is what ended an utterance: not that nobody is there any more if the connection
// was ended here.
func (c *socket) cause(err error) error {
	if _, slow := asSlow(err); slow || !errors.Is(err, errClientGone) || !c.finished() {
		return err
	}
	switch e := c.ending; {
	case e.err != nil && !errors.Is(e.err, errClientGone):
		return e.err
	case e.err != nil || e.message == "":
		return err
	default:
		return &Error{Type: typeInvalid, Code: e.reason, Message: e.message}
	}
}

// finished tells whether the connection is being closed.
func (c *socket) finished() bool { return isClosed(c.over) }

// send hands an event to the writer.
func (c *socket) send(t *turn, m mark, sentence int, v any) {
	if !c.out.event(t, m, sentence, v) {
		c.finish(closedSlow(slowPending))
	}
}

// read reads messages until there are no more. Once the connection is being closed it
// goes on, for a while, so that the client gets to read what it was sent last: closing
// with something unread would take that back.
func (c *socket) read() error {
	defer c.guard()
	for {
		kind, r, err := c.conn.NextReader()
		if err != nil {
			return err
		}
		if c.finished() {
			continue
		}
		data, err := io.ReadAll(io.LimitReader(r, c.most+1))
		if err != nil {
			return err
		}
		if int64(len(data)) > c.most {
			e := closedTooBig
			e.message = "a message over " + plural(c.most, "byte") + ", the most allowed"
			c.finish(e)
			continue
		}
		c.alive()
		c.dialect.message(kind, data)
	}
}

// guard ends the connection instead of the process if the work of a goroutine panics.
func (c *socket) guard() {
	if problem := recover(); problem != nil {
		e := closedPanic
		e.err = fmt.Errorf("panic: %v\n%s", problem, debug.Stack())
		c.finish(e)
	}
}
