package client

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
	"time"

	"github.com/gorilla/websocket"
)

// Stream is a connection for text in pieces: a text that is still being written is spoken
// from its first words on. It stays open for any number of utterances, one after the other.
//
// One goroutine calls Next, until it returns an error; others may call Write, Flush, End,
// Cancel and Close. A stream that is not read is ended by the server.
type Stream struct {
	conn *websocket.Conn
	ctx  context.Context
	stop func() bool

	writing sync.Mutex
	closing bool // under writing
	err     error
}

const (
	// writeTimeout is how long a message may take to leave.
	writeTimeout = 30 * time.Second

	// messageBytes is the longest message that is taken.
	messageBytes = 16 << 20
)

// Stream opens a stream. The request says how to speak, for all utterances; its Text must
// be empty. A server that refuses it is an *Error.
func (c *Client) Stream(ctx context.Context, r Request) (*Stream, error) {
	if r.Text != "" {
		return nil, errors.New("client: the text of a stream comes by Write")
	}
	fields := r.fields()
	fields["type"] = "session.config"
	config, err := encode(fields)
	if err != nil {
		return nil, err
	}
	var s *Stream
	err = c.again(ctx, func() (err error) {
		s, err = c.open(ctx, config)
		return err
	})
	return s, err
}

// open asks for a stream once.
func (c *Client) open(ctx context.Context, config []byte) (*Stream, error) {
	u, err := c.endpoint("/v1/audio/speech/stream")
	if err != nil {
		return nil, err
	}
	asking, end, answered := c.asking(ctx)
	defer end(nil)
	defer answered()
	conn, stay, err := c.dial(asking, *u)
	if err == nil {
		conn.SetReadLimit(messageBytes)
		s := &Stream{conn: conn, ctx: ctx}
		if err = s.configure(config); err == nil && stay() {
			s.stop = context.AfterFunc(ctx, func() { conn.Close() })
			return s, nil
		}
		conn.Close()
	}
	var refusal *Error
	switch cause := context.Cause(asking); {
	case errors.As(err, &refusal):
		return nil, refusal
	case errors.Is(cause, ErrNoAnswer):
		return nil, fmt.Errorf("client: %s: %w", u.Host, cause)
	case cause != nil:
		return nil, fmt.Errorf("client: %w", cause)
	}
	return nil, err
}

// dial opens a WebSocket by the HTTP client's transport, as far as that can be. It is closed
// when the context ends, unless stay says before that it stays.
func (c *Client) dial(ctx context.Context, u url.URL) (conn *websocket.Conn, stay func() bool, err error) {
	header := http.Header{}
	if user := u.User; user != nil { // as net/http does it; the dialer takes no such address
		password, _ := user.Password()
		r := http.Request{Header: header}
		r.SetBasicAuth(user.Username(), password)
		u.User = nil
	}
	c.authorize(header)
	u.Scheme = map[string]string{"http": "ws", "https": "wss"}[u.Scheme]
	dialer, connect := websocket.Dialer{Proxy: http.ProxyFromEnvironment}, (&net.Dialer{}).DialContext
	if t, ok := c.httpClient().Transport.(*http.Transport); ok {
		dialer.Proxy = t.Proxy
		if t.DialContext != nil {
			connect = t.DialContext
		}
		if t.TLSClientConfig != nil {
			dialer.TLSClientConfig = t.TLSClientConfig.Clone()
			dialer.TLSClientConfig.NextProtos = nil // a WebSocket is HTTP/1.1
		}
	}
	// The dialer itself does not hear that a context is cancelled while it waits for an answer.
	stay = func() bool { return true }
	dialer.NetDialContext = func(_ context.Context, network, address string) (net.Conn, error) {
		conn, err := connect(ctx, network, address)
		if err == nil {
			stay = context.AfterFunc(ctx, func() { conn.Close() })
		}
		return conn, err
	}
	conn, answer, err := dialer.DialContext(context.WithoutCancel(ctx), u.String(), header)
	switch {
	case err == nil:
		return conn, stay, nil
	case answer != nil:
		err = readError(answer)
	default:
		err = fmt.Errorf("client: %s: %w", u.Host, err)
	}
	stay()
	return nil, nil, err
}

// configure sends the configuration and waits until it was taken.
func (s *Stream) configure(config []byte) error {
	if err := s.send(config); err != nil {
		return err
	}
	for {
		e, err := s.receive()
		if err != nil {
			return err
		}
		switch e := e.(type) {
		case sessionUpdated:
			return nil
		case *Error:
			return e
		}
	}
}

// message sends one message of a type.
func (s *Stream) message(kind string) error { return s.send([]byte(`{"type":"` + kind + `"}`)) }

func (s *Stream) send(data []byte) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if s.closing {
		return errors.New("client: the stream is closed")
	}
	_ = s.conn.SetWriteDeadline(time.Now().Add(writeTimeout))
	if err := s.conn.WriteMessage(websocket.TextMessage, data); err != nil {
		return s.reason(err)
	}
	return nil
}

// Write adds text to the utterance, or begins one. Pieces are joined as they are and may end
// within a word, but not within a character: how a text is cut changes nothing of its sound.
func (s *Stream) Write(text string) error {
	data, err := json.Marshal(map[string]string{"type": "input.text", "text": text})
	if err != nil {
		return err
	}
	return s.send(data)
}

// Flush has spoken what there is as if a sentence ended.
func (s *Stream) Flush() error { return s.message("input.flush") }

// End tells that the text of the utterance is complete. The next Write begins another.
func (s *Stream) End() error { return s.message("input.done") }

// Cancel takes back every utterance that was begun. Each ends with an UtteranceDone, after
// which there is no more audio of it.
func (s *Stream) Cancel() error { return s.message("input.cancel") }

// Finish tells that no more text comes. What came is still spoken; then Next returns io.EOF.
func (s *Stream) Finish() error { return s.message("session.close") }

// Next waits for the next event and returns it. The end after Finish is io.EOF.
func (s *Stream) Next() (Event, error) {
	for {
		e, err := s.receive()
		if err != nil {
			return nil, err
		}
		if _, ours := e.(sessionUpdated); !ours && e != nil {
			return e, nil
		}
	}
}

// receive reads one event; nil is one that is not known.
func (s *Stream) receive() (Event, error) {
	if s.err != nil {
		return nil, s.err
	}
	kind, data, err := s.conn.ReadMessage()
	if err != nil {
		s.err = s.reason(err)
		return nil, s.err
	}
	if kind == websocket.BinaryMessage {
		return Audio(data), nil
	}
	return parseEvent(data)
}

// reason words the end of the connection.
func (s *Stream) reason(err error) error {
	var end *websocket.CloseError
	switch {
	case context.Cause(s.ctx) != nil:
		return fmt.Errorf("client: %w", context.Cause(s.ctx))
	case errors.As(err, &end) && end.Code == websocket.CloseNormalClosure:
		return io.EOF
	case errors.As(err, &end) && end.Code != websocket.CloseAbnormalClosure:
		return fmt.Errorf("client: the server closed the stream: %s (%d)", end.Text, end.Code)
	}
	return fmt.Errorf("client: the stream broke off: %w", err)
}

// Close ends the connection at once, with whatever is being spoken.
func (s *Stream) Close() error {
	s.stop()
	s.writing.Lock()
	if !s.closing {
		s.closing = true
		message := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
		_ = s.conn.WriteControl(websocket.CloseMessage, message, time.Now().Add(time.Second))
	}
	s.writing.Unlock()
	return s.conn.Close()
}
