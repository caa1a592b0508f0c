package server

import (
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/mynah-tts/mynah/internal/wyoming"
	"github.com/mynah-tts/mynah/synth"
)

// wyomings are the listeners and the connections of the Wyoming protocol.
type wyomings struct {
	mu        sync.Mutex
	listeners map[net.Listener]bool
	conns     map[*wyomingConn]bool
	ended     bool // takes no more of either
	work      sync.WaitGroup
}

// ServeWyoming answers clients of the Wyoming protocol, such as Home Assistant, until
// Shutdown. It returns nil then. The protocol has no keys.
func (s *Server) ServeWyoming(l net.Listener) error {
	w := &s.wyoming
	if !w.listen(l) {
		return l.Close()
	}
	for delay := time.Duration(0); ; {
		conn, err := l.Accept()
		switch {
		case err == nil:
			delay = 0
			s.takeWyoming(conn)
			continue
		case w.over():
			return nil
		case errors.Is(err, net.ErrClosed):
			return fmt.Errorf("server: %w", err)
		}
		delay = min(max(2*delay, 5*time.Millisecond), time.Second) // of descriptors there may be more soon
		s.opts.Log.Error("wyoming listener", "error", err, "again after", delay)
		select {
		case <-time.After(delay):
		case <-s.stop.Done():
		}
	}
}

// takeWyoming serves a connection, if there is room for it.
func (s *Server) takeWyoming(conn net.Conn) {
	w := &s.wyoming
	c := s.newWyomingConn(conn)
	w.mu.Lock()
	full := len(w.conns) >= s.opts.Limits.WebSockets
	if !full && !w.ended {
		w.conns[c] = true
		w.work.Go(func() {
			c.run()
			w.mu.Lock()
			defer w.mu.Unlock()
			delete(w.conns, c)
		})
		w.mu.Unlock()
		return
	}
	w.mu.Unlock()
	e := errDraining
	if full {
		e = errWyomings
		s.metrics.connections.refused.Inc()
	}
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	_, _ = conn.Write(wyoming.Append(nil, wyoming.TypeError, wyoming.Problem{Text: e.Message, Code: e.Code}, nil))
	c.cancel()
	_ = conn.Close()
}

var errWyomings = unavailable("too_many_connections", "too many connections are open")

// listen takes note of a listener, unless it is too late for one.
func (w *wyomings) listen(l net.Listener) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.ended {
		return false
	}
	if w.listeners == nil {
		w.listeners, w.conns = map[net.Listener]bool{}, map[*wyomingConn]bool{}
	}
	w.listeners[l] = true
	return true
}

func (w *wyomings) over() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.ended
}

// open is how many connections there are.
func (w *wyomings) open() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return len(w.conns)
}

// drain takes no more connections. Those that there are end once they have spoken.
func (w *wyomings) drain() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.ended = true
	for l := range w.listeners {
		_ = l.Close()
	}
	for c := range w.conns {
		c.drain()
	}
}

// close ends what is left. It waits for it, but not for ever.
func (w *wyomings) close() {
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		w.work.Wait()
	}()
	wait(gone, abortGrace)
	w.mu.Lock()
	for c := range w.conns {
		_ = c.conn.Close()
	}
	w.mu.Unlock()
	<-gone
}

// homePage is where the program is described.
const homePage = "https://github.com/mynah-tts/mynah"

// wyomingInfo describes the program and its voices.
func (s *Server) wyomingInfo(info synth.Info) wyoming.Info {
	about := wyoming.Attribution{Name: "Mynah", URL: homePage}
	languages := info.LanguageCodes()
	if len(languages) == 0 { // clients offer no voice without one
		languages = synth.PublishedLanguageCodes()
	}
	names := s.voiceNames(info)
	if len(names) == 0 {
		names = []string{noVoice}
	}
	voices := []wyoming.InfoVoice{}
	for _, name := range names {
		voices = append(voices, wyoming.InfoVoice{
			Artifact:  wyoming.Artifact{Name: name, Attribution: about, Installed: true, Description: name, Version: s.opts.Version},
			Languages: languages,
		})
	}
	return wyoming.NewInfo(wyoming.Program{
		Artifact:  wyoming.Artifact{Name: "mynah", Attribution: about, Installed: true, Description: "Mynah speaks " + s.modelID(info), Version: s.opts.Version},
		Voices:    voices,
		Streaming: true,
	})
}

// wyomingRequest puts what a client says of the voice into the engine's terms. A name
// goes before a language.
func (s *Server) wyomingRequest(v *wyoming.Voice, format, text string, info synth.Info) (synth.Request, error) {
	if format != "" && format != "text" {
		return synth.Request{}, invalid("text_format", "%s, allowed is text", quoted(format))
	}
	q := &speechRequest{Input: text, present: map[string]bool{}}
	switch {
	case v == nil:
	case v.Name != "":
		q.Voice, q.present["voice"] = v.Name, true
	default:
		var err *Error
		if q.Language, err = languageOf("language", v.Language, info); err != nil {
			return synth.Request{}, err
		}
	}
	return s.request(q, info)
}

// logWyoming writes an utterance's line.
func (c *wyomingConn) logWyoming(u *wyomingUtterance, in *requestInfo, err error) {
	attrs := append([]slog.Attr{slog.String("id", in.id), slog.String("wyoming", c.id), slog.String("remote", c.conn.RemoteAddr().String())}, in.attrs...)
	level := slog.LevelInfo
	if err != nil {
		attrs = append(attrs, c.server.logError(err))
		if !errors.Is(err, errClientGone) && asError(err).Code == "internal_error" {
			level = slog.LevelError
		}
	}
	if c.server.opts.LogText {
		attrs = append(attrs, slog.String("text", u.said()))
	}
	c.server.opts.Log.LogAttrs(c.logging, level, "utterance", attrs...)
}
