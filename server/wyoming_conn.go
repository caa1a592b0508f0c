package server

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime/debug"
	"strings"
	"sync"
	"time"

	"github.com/mynah-tts/mynah/internal/wyoming"
	"github.com/mynah-tts/mynah/synth"
)

// wyomingConn is one client of the Wyoming protocol. One goroutine reads its events, one
// speaks what they ask for, in order; either writes, an event at a time. After an error
// the connection ends: clients such as Home Assistant know no other sign that what they
// wait for does not come.
type wyomingConn struct {
	server  *Server
	conn    net.Conn
	in      *wyoming.Reader
	id      string
	limits  Limits
	logging context.Context
	ctx     context.Context
	cancel  context.CancelFunc
	wake    chan struct{} // a token for the speaker: there may be work

	writing sync.Mutex
	out     []byte
	blocked time.Duration // spent in writes
	failure *Error        // that the client was told last: nothing follows it

	expecting sync.Mutex // guards ended and the deadline of reads
	ended     bool       // what still comes is not looked at

	mu       sync.Mutex
	queue    []*wyomingUtterance // that are not over, in order
	open     *wyomingUtterance   // that takes text in pieces; nil if none does
	draining bool                // ends once it has spoken
}

func (s *Server) newWyomingConn(conn net.Conn) *wyomingConn {
	c := &wyomingConn{
		server: s, conn: conn, in: wyoming.NewReader(conn, s.opts.Limits.BodyBytes), id: newID("wy_"), limits: s.opts.Limits,
		logging: context.Background(), wake: make(chan struct{}, 1),
	}
	c.ctx, c.cancel = s.work(c.logging)
	return c
}

// run serves the connection until it ends. No goroutine is left.
func (c *wyomingConn) run() {
	var speaker sync.WaitGroup
	speaker.Go(func() {
		defer c.guard()
		c.speak()
	})
	c.read()
	c.cancel()
	speaker.Wait()
	_ = c.conn.Close()
}

// read reads events until the client leaves, or is to leave.
func (c *wyomingConn) read() {
	defer c.guard()
	for {
		c.expect(c.limits.IdleTimeout)
		if err := c.in.Wait(); err != nil {
			if timedOut(err) && !c.isEnded() {
				if c.busy() {
					continue
				}
				c.giveUp()
			}
			break
		}
		c.expect(c.limits.BodyTimeout)
		e, err := c.in.Read()
		var format *wyoming.FormatError
		if errors.As(err, &format) {
			c.fail(&Error{Type: typeInvalid, Code: "invalid_message", Message: strings.TrimPrefix(format.Error(), "wyoming: ")})
			break
		}
		if err != nil {
			break
		}
		if err := c.act(e); err != nil {
			c.fail(err)
			break
		}
	}
	if c.isEnded() { // closing with something unread would take back what was sent last
		_, _ = io.Copy(io.Discard, c.conn)
	}
}

// expect sets how long the next bytes may take. Once the connection is being ended it
// stays as it is.
func (c *wyomingConn) expect(d time.Duration) {
	c.expecting.Lock()
	defer c.expecting.Unlock()
	if !c.ended {
		_ = c.conn.SetReadDeadline(time.Now().Add(d))
	}
}

func (c *wyomingConn) isEnded() bool {
	c.expecting.Lock()
	defer c.expecting.Unlock()
	return c.ended
}

// end tells the client that nothing more comes, and gives it a moment to hear that.
func (c *wyomingConn) end() {
	c.expecting.Lock()
	defer c.expecting.Unlock()
	if c.ended {
		return
	}
	c.ended = true
	if half, ok := c.conn.(interface{ CloseWrite() error }); ok {
		_ = half.CloseWrite()
	}
	_ = c.conn.SetReadDeadline(time.Now().Add(closingTimeout))
}

// fail tells the client why the connection ends.
func (c *wyomingConn) fail(err *Error) {
	c.writing.Lock()
	_ = c.write(wyoming.TypeError, wyoming.Problem{Text: err.Message, Code: err.Code}, nil)
	if c.failure == nil {
		c.failure = err
	}
	c.writing.Unlock()
	c.end()
	c.cancel()
}

// failed is the failure that the connection ends with, nil for none.
func (c *wyomingConn) failed() *Error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.failure
}

// cause is what ended an utterance: not that nobody is there any more if its client was
// told of a failure.
func (c *wyomingConn) cause(err error) error {
	if _, slow := asSlow(err); slow || !errors.Is(err, errClientGone) {
		return err
	}
	if failure := c.failed(); failure != nil {
		return failure
	}
	return err
}

// send writes an event within its deadline.
func (c *wyomingConn) send(kind string, data any, payload []byte) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	return c.write(kind, data, payload)
}

// write writes an event. writing is held.
func (c *wyomingConn) write(kind string, data any, payload []byte) error {
	if c.failure != nil {
		return &connectionError{net.ErrClosed}
	}
	c.out = wyoming.Append(c.out[:0], kind, data, payload)
	began := time.Now()
	_ = c.conn.SetWriteDeadline(began.Add(c.limits.WriteTimeout))
	_, err := c.conn.Write(c.out)
	c.blocked += time.Since(began)
	if err != nil {
		return &connectionError{err}
	}
	return nil
}

// act acts on an event. Types that are not known are left out, as the protocol has it.
func (c *wyomingConn) act(e wyoming.Event) *Error {
	var err error
	switch e.Type {
	case wyoming.TypeDescribe:
		engine, failed := c.server.ready()
		if failed != nil {
			return asError(failed)
		}
		err = c.send(wyoming.TypeInfo, c.server.wyomingInfo(engine.Info()), nil)
	case wyoming.TypePing:
		err = c.send(wyoming.TypePong, map[string]json.RawMessage{"text": e.Data["text"]}, nil)
	case wyoming.TypeSynthesize, wyoming.TypeStart, wyoming.TypeChunk, wyoming.TypeStop:
		said, wrong := e.Synthesize()
		if wrong != nil {
			return malformed("%s", strings.TrimPrefix(wrong.Error(), "wyoming: "))
		}
		if text := e.Data["text"]; said.Text != nil {
			if _, wrong := textValue("text", text); wrong != nil { // half of a pair of surrogates
				return wrong
			}
		}
		return c.take(e.Type, said)
	}
	if err != nil {
		c.end()
	}
	return nil
}

// take takes what shall be spoken.
func (c *wyomingConn) take(kind string, said wyoming.Synthesize) *Error {
	c.mu.Lock()
	defer c.mu.Unlock()
	defer signal(c.wake)
	text := ""
	if said.Text != nil {
		text = *said.Text
	} else if kind == wyoming.TypeSynthesize || kind == wyoming.TypeChunk {
		return missing(kind)
	}
	switch {
	case kind == wyoming.TypeSynthesize && c.open != nil:
		return c.open.repeat(text)
	case kind == wyoming.TypeSynthesize:
		u, err := c.begin(said, text)
		if err != nil {
			return err
		}
		u.whole = true
		if err := u.add(piece{text: text}); err != nil {
			return err
		}
		return u.add(piece{kind: pieceEnd})
	case kind == wyoming.TypeStart:
		if c.open != nil {
			return malformed("%s before the %s of the last", kind, wyoming.TypeStop)
		}
		u, err := c.begin(said, "")
		c.open = u
		return err
	case c.open == nil:
		return malformed("%s without a %s", kind, wyoming.TypeStart)
	case kind == wyoming.TypeChunk:
		return c.open.add(piece{text: text})
	}
	u := c.open
	c.open = nil
	if again := u.forget(); u.said() == "" && again != "" { // a client that sends no pieces after all
		if err := u.add(piece{text: again}); err != nil {
			return err
		}
	}
	return u.add(piece{kind: pieceEnd})
}

func missing(kind string) *Error {
	e := invalid("text", "%s has none", kind)
	e.Code = "missing_field"
	return e
}

// begin queues an utterance. mu is held.
func (c *wyomingConn) begin(said wyoming.Synthesize, text string) (*wyomingUtterance, *Error) {
	if len(c.queue) >= c.limits.Utterances {
		return nil, errCrowded(c.limits.Utterances)
	}
	engine, err := c.server.ready()
	if err != nil {
		return nil, asError(err)
	}
	u := &wyomingUtterance{
		conn:        c,
		utterance:   utterance{server: c.server, transport: "wyoming"},
		growingText: growingText{most: c.limits.InputRunes, touched: time.Now()},
	}
	u.unsettled = u.growing
	if u.request, err = c.server.wyomingRequest(said.Voice, said.TextFormat, text, engine.Info()); err != nil {
		u.conclude(&requestInfo{id: newID("req_")}, synth.Done{}, err, err)
		return nil, asError(err)
	}
	u.ctx, u.cancel = context.WithCancel(c.ctx)
	c.queue = append(c.queue, u)
	return u, nil
}

// busy tells whether something is being spoken, or waits for it. A text that has nothing to
// say so far does not: only its client can go on.
func (c *wyomingConn) busy() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.queue) == 1 && c.queue[0] == c.open {
		_, sayable := c.open.state()
		return sayable
	}
	return len(c.queue) > 0
}

// giveUp tells a client that has been silent for too long of the text that it began.
func (c *wyomingConn) giveUp() {
	c.mu.Lock()
	begun := c.open != nil
	c.mu.Unlock()
	if begun {
		c.fail(errLateText("no text came for %v, there is nothing to say", c.limits.IdleTimeout))
	}
}

// errLateText is the end of a text that did not go on.
func errLateText(format string, args ...any) *Error {
	return &Error{Type: typeInvalid, Code: "text_timeout", Message: fmt.Sprintf(format, args...)}
}

// drain ends the connection once it has spoken.
func (c *wyomingConn) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	if len(c.queue) == 0 {
		c.end()
	}
}

// guard ends the connection instead of the process if the work of a goroutine panics.
func (c *wyomingConn) guard() {
	if problem := recover(); problem != nil {
		c.server.opts.Log.Error("wyoming", "id", c.id, "panic", fmt.Sprint(problem), "stack", string(debug.Stack()))
		c.fail(asError(fmt.Errorf("panic: %v", problem)))
	}
}

// wyomingUtterance is one text, whole or in pieces, and its speech.
type wyomingUtterance struct {
	utterance
	growingText
	conn    *wyomingConn
	request synth.Request
	ctx     context.Context
	cancel  context.CancelFunc
	whole   bool          // it came at once
	again   string        // all of the text, if it came before any piece; under conn.mu
	late    bool          // it did not go on; under conn.mu
	waited  time.Duration // for the client, before
	taken   bool          // the engine has it
	begun   bool          // audio-start is out
	sent    int64         // samples
}

// repeat takes the whole text, which clients send besides its pieces for servers that take
// none. It is kept only as long as it may be needed.
func (u *wyomingUtterance) repeat(text string) *Error {
	if u.said() != "" {
		return nil
	}
	if err := checkLength("text", text, u.conn.limits.InputRunes); err != nil {
		return err
	}
	u.again = text
	return nil
}

// forget lets go of the whole text, and returns it.
func (u *wyomingUtterance) forget() string {
	again := u.again
	u.again = ""
	return again
}
