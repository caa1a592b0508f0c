package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

// A server lives through four phases:
//
//	loading    Serve was called. /health is 200, everything that speaks 503.
//	ready      Use has an engine that has spoken once.
//	draining   Shutdown was called. For DrainDelay only /ready tells; then new work is
//	           refused with 503 and Retry-After while live work finishes.
//	stopped    DrainGrace is over: what is still live is cancelled, and told so.

// newHTTPServer is the server with all timeouts but one: a WriteTimeout would be for
// an answer as a whole. Over HTTP/2 the deadline of an answer's write ends its stream with
// a frame, which waits behind the one that the client does not take: only a time for the
// connection itself ends that.
func (s *Server) newHTTPServer() *http.Server {
	return &http.Server{
		Handler:           s.handler,
		ConnContext:       withConn,
		HTTP2:             &http.HTTP2Config{MaxConcurrentStreams: connectionStreams, WriteByteTimeout: s.opts.Limits.WriteTimeout},
		ReadHeaderTimeout: s.opts.Limits.HeaderTimeout,
		IdleTimeout:       s.opts.Limits.IdleTimeout,
		MaxHeaderBytes:    headerBytes,
		ErrorLog:          log.New(serverLog{s.opts.Log}, "", 0),
	}
}

// serverLog takes what net/http reports of connections.
type serverLog struct{ log *slog.Logger }

func (l serverLog) Write(p []byte) (int, error) {
	l.log.Debug("connection", "problem", strings.TrimSpace(string(p)))
	return len(p), nil
}

// Serve answers requests until Shutdown. It returns nil then, and the error of the
// listener otherwise.
func (s *Server) Serve(l net.Listener) error {
	return serveError(s.http.Serve(s.limit(l)))
}

// ServeTLS is Serve with TLS.
func (s *Server) ServeTLS(l net.Listener, certFile, keyFile string) error {
	return serveError(s.http.ServeTLS(s.limit(l), certFile, keyFile))
}

func serveError(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return fmt.Errorf("server: %w", err)
}

// Use makes the server ready: it has the engine speak once, so that the first listener
// does not wait for memory to be touched, and then admits requests.
func (s *Server) Use(ctx context.Context, engine Engine) error {
	engine, err := s.useVoices(engine)
	if err != nil {
		return fmt.Errorf("server: %w", err)
	}
	if err := s.checkVoices(engine.Info()); err != nil {
		return err
	}
	if err := s.warmUp(ctx, engine); err != nil {
		return fmt.Errorf("server: warming up: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase != phaseLoading {
		engine.Drain()
		return errDraining
	}
	s.engine, s.phase = engine, phaseReady
	return nil
}

// The utterance that warms up: a few frames.
const (
	warmUpText   = "Ready."
	warmUpFrames = 4
)

func (s *Server) warmUp(ctx context.Context, engine Engine) error {
	stream, err := engine.Speak(ctx, synth.Request{Text: warmUpText, Voice: s.opts.Voice, Reference: s.opts.Reference, MaxFrames: warmUpFrames})
	var request *synth.RequestError
	if errors.As(err, &request) {
		// A checkpoint that needs a reference, and has none until a request brings one.
		s.opts.Log.Info("not warmed up", "reason", request.Error())
		return nil
	}
	if err != nil {
		return err
	}
	defer stream.Close()
	for {
		switch event, err := stream.Next(); {
		case err == io.EOF:
			return ctx.Err()
		case err != nil:
			return err
		default:
			_ = event
		}
	}
}

// Shutdown drains the server and stops it. ctx ends the waiting: what is live then is
// cancelled at once. It returns nil if all live work had come to its end.
func (s *Server) Shutdown(ctx context.Context) error {
	s.drain(ctx)
	s.wyoming.drain()
	ctx, cancel := context.WithTimeout(ctx, s.opts.Limits.DrainGrace)
	defer cancel()
	var err error
	select {
	case <-s.idle:
	case <-ctx.Done():
		if n := s.cancelAll(); n > 0 {
			err = fmt.Errorf("server: %s cancelled", plural(n, "live request"))
			wait(s.idle, abortGrace)
		}
	}
	s.cancelAll()
	s.wyoming.close()
	last, cancelLast := context.WithTimeout(context.WithoutCancel(ctx), abortGrace)
	defer cancelLast()
	if s.http.Shutdown(last) != nil {
		s.http.Close()
	}
	return err
}

// drain begins the phase: first the announcement, then the refusals.
func (s *Server) drain(ctx context.Context) {
	s.mu.Lock()
	first := s.phase < phaseDraining && !isClosed(s.draining)
	if first {
		close(s.draining)
	}
	s.mu.Unlock()
	if !first {
		return
	}
	select {
	case <-time.After(s.opts.Limits.DrainDelay):
	case <-ctx.Done():
	}
	s.http.SetKeepAlivesEnabled(false)
	s.mu.Lock()
	s.phase = max(s.phase, phaseDraining) // another Shutdown may have been less patient
	close(s.refusing)
	if s.live == 0 {
		s.becameIdle()
	}
	engine := s.engine // which may have come during the delay
	s.mu.Unlock()
	if engine != nil {
		engine.Drain()
	}
}

// cancelAll cancels what is live and tells how much that is.
func (s *Server) cancelAll() int {
	s.mu.Lock()
	s.phase = phaseStopped
	live := s.live
	s.mu.Unlock()
	s.stopWork(errDraining)
	return live
}

func isClosed(c chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// wait waits for c, but not for ever.
func wait(c <-chan struct{}, most time.Duration) {
	t := time.NewTimer(most)
	defer t.Stop()
	select {
	case <-c:
	case <-t.C:
	}
}
