package server

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

const (
	// elevenContexts is how many contexts of a socket may be open: ElevenLabs' number.
	elevenContexts = 5

	// elevenIDBytes is the longest name of a context.
	elevenIDBytes = 256

	// elevenKeyBytes is the longest message of a client that has not shown its key.
	elevenKeyBytes = 64 << 10

	// elevenDefaultContext is the context of messages that name none.
	elevenDefaultContext = "default"
)

// secretFields are the fields of a first message that may hold a key.
var secretFields = []string{"xi_api_key", "xi-api-key", "authorization"}

// elevenSession is one WebSocket of ElevenLabs' protocol: text in pieces goes in, audio
// in base64 comes out. stream-input has one context, which has no name;
// multi-stream-input any number, up to five at a time, which speak at the same time. Each
// has a goroutine of its own beside those of the socket. docs/bridges.md describes the
// messages.
type elevenSession struct {
	socket
	engine   Engine
	multi    bool
	params   elevenParams
	refused  *Error // what is wrong with params, for a client that has shown its key
	admitted bool   // the client has shown its key; of the reader's goroutine
	shown    chan struct{}

	// mu goes before growingText.mu and outbox.mu.
	mu       sync.Mutex
	open     map[string]*elevenContext // that take text, or failed and take it in vain
	speaking map[*elevenContext]bool   // that are not over
	last     map[string]*elevenContext // of each name, as long as it is not over, or waits to be sent
	count    int                       // of contexts
	closing  bool                      // no context is opened any more
	draining bool                      // the server shuts down
	active   time.Time                 // when the client or a context last did something
}

// elevenSingle answers GET /v1/text-to-speech/{voice}/stream-input.
func (s *Server) elevenSingle(w *response, r *http.Request) error { return s.elevenSocket(w, r, false) }

// elevenMulti answers GET /v1/text-to-speech/{voice}/multi-stream-input.
func (s *Server) elevenMulti(w *response, r *http.Request) error { return s.elevenSocket(w, r, true) }

// elevenSocket upgrades a request. What is wrong with its parameters is told over the
// WebSocket, where ElevenLabs' clients look for it; a wrong key before.
func (s *Server) elevenSocket(w *response, r *http.Request, multi bool) error {
	key := elevenKey(r)
	admitted := len(s.keys) == 0 || s.validKey(key)
	if key != "" && !admitted {
		return wrongKey(key)
	}
	return s.upgrade(w, r, func(ctx context.Context, engine Engine, conn *websocket.Conn) error {
		c := s.newElevenSession(ctx, engine, conn, info(r), multi)
		c.admitted = admitted
		return c.run(r)
	})
}

func (s *Server) newElevenSession(ctx context.Context, engine Engine, conn *websocket.Conn, in *requestInfo, multi bool) *elevenSession {
	c := &elevenSession{
		socket: newSocket(s, engine, conn, in), engine: engine, multi: multi, shown: make(chan struct{}),
		open: map[string]*elevenContext{}, speaking: map[*elevenContext]bool{}, last: map[string]*elevenContext{}, active: time.Now(),
	}
	c.dialect = c
	c.ctx, c.cancel = context.WithCancel(ctx)
	return c
}

// run serves the connection until it is closed. No goroutine is left.
func (c *elevenSession) run(r *http.Request) error {
	defer time.AfterFunc(c.limits.HeaderTimeout, c.unshown).Stop()
	if c.admitted {
		close(c.shown)
	} else {
		c.most = min(c.most, elevenKeyBytes)
	}
	params, err := readElevenQuery(r.PathValue("voice"), r.URL.Query())
	if err == nil {
		_, _, failed := c.server.elevenRequest(params, "", c.model)
		if failed != nil {
			err = asError(failed)
		}
	}
	c.params, c.refused = params, err
	if !c.multi && err == nil { // a context's own time is as long
		c.patient = params.inactivity
	}
	if err != nil && c.admitted { // others are not to read which voices there are
		c.finish(closedBy(err))
	}
	return c.serve()
}

// unshown ends the connection of a client that has not shown its key in time.
func (c *elevenSession) unshown() {
	if !isClosed(c.shown) {
		c.finish(closedBy(wrongKey("")))
	}
}

// message acts on one message. What cannot be understood may have been text, so that
// nothing that follows would be whole: it ends the connection.
func (c *elevenSession) message(kind int, data []byte) {
	c.mu.Lock()
	c.active = time.Now()
	c.mu.Unlock()
	if err := c.act(kind, data); err != nil {
		e := closedBy(err)
		e.drop = true
		c.finish(e)
	}
}

// elevenMessage is what a client says.
type elevenMessage struct {
	all     []member
	context string
	text    json.RawMessage // nil if there is none
	flush   bool
	close   bool // close_context
	last    bool // close_socket
}

func (c *elevenSession) act(kind int, data []byte) *Error {
	m, err := c.readMessage(kind, data)
	if err != nil {
		return err
	}
	if err := c.admit(m); err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	over, ends := c.closing || c.draining, c.multi && (m.close || m.last)
	if !over && (!ends || c.says(m)) { // what comes after the end is no text
		if err := c.say(m); err != nil {
			return err
		}
	}
	switch {
	case c.multi && m.last:
		c.endAll()
	case c.multi && m.close && !over:
		c.closeContext(m.context)
	}
	return nil
}

// says tells whether a message that ends text has something to say before: to a context
// that is open, or words for a new one. mu is held.
func (c *elevenSession) says(m elevenMessage) bool {
	if m.text == nil || c.open[m.context] != nil {
		return c.open[m.context] != nil
	}
	text, err := textValue("text", m.text)
	return err != nil || strings.TrimSpace(text) != ""
}

// readMessage reads one message.
func (c *elevenSession) readMessage(kind int, data []byte) (m elevenMessage, err *Error) {
	if m.all, err = jsonMessage(kind, data); err != nil {
		return m, err
	}
	if c.multi {
		m.context = elevenDefaultContext
		for _, name := range []string{"context_id", "contextId"} {
			if value := memberOf(m.all, name); value != nil && !isNull(value) {
				if m.context, err = textValue(name, value); err != nil {
					return m, err
				}
				if m.context == "" || len(m.context) > elevenIDBytes {
					return m, invalid(name, "%s, allowed are 1 to %d bytes", quoted(m.context), elevenIDBytes)
				}
			}
		}
	}
	for name, to := range map[string]*bool{"flush": &m.flush, "close_context": &m.close, "close_socket": &m.last, "try_trigger_generation": new(bool)} {
		if value := memberOf(m.all, name); value != nil && !isNull(value) {
			if *to, err = switchValue(name, value); err != nil {
				return m, err
			}
		}
	}
	if value := memberOf(m.all, "text"); value != nil && !isNull(value) {
		m.text = value
		if value[0] != '"' {
			return m, wrongType("text", value, "text")
		}
	}
	return m, nil
}

// admit wants the key in the first message, unless it was there before.
func (c *elevenSession) admit(m elevenMessage) *Error {
	if c.admitted {
		return nil
	}
	key := ""
	for _, name := range secretFields {
		if value := memberOf(m.all, name); value != nil && !isNull(value) {
			given, err := textValue(name, value)
			if err != nil {
				return err
			}
			key = bearer(given)
		}
	}
	if !c.server.validKey(key) {
		return wrongKey(key)
	}
	c.admitted, c.most = true, c.limits.BodyBytes
	close(c.shown)
	return c.refused
}

// say gives text to a context, a new one if there is none of the name. mu is held.
func (c *elevenSession) say(m elevenMessage) *Error {
	x := c.open[m.context]
	if x == nil {
		if c.multi && string(m.text) == `""` {
			return nil // keeps a context alive that is over
		}
		var err *Error
		if x, err = c.newContext(m.context); err != nil {
			return err
		}
	}
	if x.failed {
		return nil // of a text that was refused
	}
	if err := x.settle(m.all); err != nil {
		c.fail(x, err)
		return nil
	}
	switch {
	case m.text != nil && string(m.text) == `""` && !c.multi:
		c.closing = true
		c.end(x)
		return nil
	case m.text != nil:
		if err := x.write(m.text); err != nil {
			c.fail(x, err)
			return nil
		}
	}
	if m.flush {
		x.flush()
	}
	x.touch()
	signal(x.wake)
	return nil
}

// newContext opens a context. mu is held.
func (c *elevenSession) newContext(id string) (*elevenContext, *Error) {
	switch {
	case len(c.open) >= elevenContexts:
		return nil, tooManyContexts(elevenContexts, "are open: close one before")
	case len(c.speaking) >= c.limits.Utterances:
		return nil, tooManyContexts(c.limits.Utterances, "wait to be spoken")
	}
	x := &elevenContext{session: c, id: id, params: c.params, before: c.last[id], over: make(chan struct{}), wake: make(chan struct{}, 1)}
	x.turn = turn{
		socket: &c.socket, index: c.count, heard: make(chan struct{}, 1),
		utterance:   utterance{server: c.server, transport: "websocket", unsettled: x.growing},
		growingText: growingText{most: c.limits.InputRunes, touched: time.Now()},
	}
	x.ctx, x.cancel = context.WithCancel(c.ctx)
	c.count++
	c.open[id], c.last[id], c.speaking[x] = x, x, true
	c.work.Go(x.run)
	return x, nil
}

// closeContext ends a context's text. As ElevenLabs has it, text that was flushed is
// still spoken; text that was not is not, nor is any after a second close. mu is held.
func (c *elevenSession) closeContext(id string) {
	x := c.open[id]
	if x == nil {
		if x = c.last[id]; x != nil {
			x.drop()
		}
		return
	}
	if !x.settledText() {
		x.drop()
	}
	c.end(x)
}

// forget forgets contexts that are over and of which nothing waits to be sent, so that
// there is nothing to take back. mu is held.
func (c *elevenSession) forget() {
	waiting := c.out.waiting()
	maps.DeleteFunc(c.last, func(_ string, x *elevenContext) bool {
		return !c.speaking[x] && !slices.Contains(waiting, &x.turn)
	})
}

// end ends a context's text: its name is free. mu is held.
func (c *elevenSession) end(x *elevenContext) {
	delete(c.open, x.id)
	if x.half != "" && x.refusal == nil {
		x.refusal = errHalf
		x.cancel()
	}
	_ = x.add(piece{kind: pieceEnd}) // its error is the stream's as well
	signal(x.wake)
}

// endAll ends the text of all contexts, and the connection once they are over. mu is held.
func (c *elevenSession) endAll() {
	c.closing = true
	for _, x := range c.open {
		c.end(x)
	}
	if len(c.speaking) == 0 {
		c.finish(c.farewellOf())
	}
}

// farewellOf is the end of a connection on which all was said. mu is held.
func (c *elevenSession) farewellOf() ending {
	if c.draining {
		return closedDraining
	}
	return closedByClient
}

// fail ends a context because of what its client sent. More of its text comes to nothing.
// mu is held.
func (c *elevenSession) fail(x *elevenContext, err *Error) {
	x.failed, x.refusal = true, err
	_ = x.add(piece{kind: pieceEnd})
	x.cancel()
	signal(x.wake)
}

// concluded takes note that a context is over, as err says if not well. The only context
// of a connection takes it along.
func (c *elevenSession) concluded(x *elevenContext, err *Error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.active = time.Now()
	delete(c.speaking, x)
	c.forget()
	if c.open[x.id] == x { // it failed: what comes of its text is no text of another
		x.failed = true
	}
	switch {
	case !c.multi && err != nil:
		c.finish(closedBy(err))
	case !c.multi, (c.closing || c.draining) && len(c.speaking) == 0:
		c.finish(c.farewellOf())
	}
}

// drain lets contexts say what came of their texts.
func (c *elevenSession) drain() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.draining = true
	for _, x := range c.open {
		x.cut.CompareAndSwap(nil, errDraining)
		c.end(x)
	}
	if len(c.speaking) == 0 {
		c.finish(closedDraining)
	}
}

// idle is how long nothing has happened; 0 while a context is there, which watches itself.
func (c *elevenSession) idle() time.Duration {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.speaking) > 0 {
		return 0
	}
	return time.Since(c.active)
}

// idled ends a connection on which nothing happens.
func (c *elevenSession) idled() {
	late := *errElevenTimeout
	if c.multi {
		late.Message = "no context was open for " + c.patient.String()
	}
	e := closedBy(&late)
	e.drop = true
	c.finish(e)
}

// farewell tells why the connection ends.
func (c *elevenSession) farewell(e ending) any {
	return elevenProblem{Message: e.message, Error: e.reason, Code: e.code}
}
