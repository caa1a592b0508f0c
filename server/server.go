package server

import (
	"context"
	"net/http"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// phase is where a server stands in its life.
type phase int

const (
	phaseLoading  phase = iota // listens, the model is not ready
	phaseReady                 // takes requests
	phaseDraining              // finishes live requests, takes no new ones
	phaseStopped               // live requests were cancelled
)

func (p phase) String() string {
	return [...]string{"loading", "ready", "draining", "stopped"}[p]
}

// Server is the HTTP side of an engine.
type Server struct {
	opts    Options
	keys    [][32]byte // digests
	routes  []route
	handler http.Handler
	http    *http.Server
	metrics *metrics
	started time.Time

	// stop ends all live work; its cause is errDraining.
	stop     context.Context
	stopWork context.CancelCauseFunc

	mu       sync.Mutex
	phase    phase
	engine   Engine        // nil while loading
	live     int           // requests between begin and their release
	sockets  int           // WebSockets among them
	bodies   int           // requests that have a body in memory
	draining chan struct{} // closed when Shutdown was called
	refusing chan struct{} // closed DrainDelay later, when new work is refused
	idle     chan struct{} // closed when draining and nothing is live, by becameIdle

	becameIdle func()

	clips     *clips
	wyoming   wyomings
	batchHeld atomic.Int64 // bytes of audio that batches hold
}

// New makes a server that is loading. Use gives it an engine, Serve a listener.
func New(opts Options) (*Server, error) {
	opts, err := opts.prepare()
	if err != nil {
		return nil, err
	}
	s := &Server{opts: opts, keys: digests(opts.Keys), started: time.Now(), draining: make(chan struct{}), refusing: make(chan struct{}), idle: make(chan struct{})}
	s.becameIdle = sync.OnceFunc(func() { close(s.idle) })
	s.stop, s.stopWork = context.WithCancelCause(context.Background())
	s.metrics = newMetrics(s)
	s.clips = newClips(s)
	s.routes = slices.Concat(s.apiRoutes(), s.pageRoutes(), s.socketRoutes(), s.elevenRoutes())
	s.handler = s.observe(s.checkHost(s.crossOrigin(s.checkOrigin(s.router()))))
	s.http = s.newHTTPServer()
	return s, nil
}

// Handler answers all requests.
func (s *Server) Handler() http.Handler { return s.handler }

// ServeHTTP makes a Server a handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.handler.ServeHTTP(w, r) }

// begin admits work: a request that speaks. Whoever called it calls release when that
// has ended. It fails unless the server is ready.
func (s *Server) begin() (engine Engine, release func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch s.phase {
	case phaseLoading:
		return nil, nil, errLoading
	case phaseReady:
		s.live++
		return s.engine, sync.OnceFunc(func() { s.release(0) }), nil
	}
	return nil, nil, errDraining
}

// admits tells what begin would, before a body is read.
func (s *Server) admits() error {
	_, release, err := s.begin()
	if err == nil {
		release()
	}
	return err
}

// beginSocket is begin for a WebSocket, of which there is a most. A WebSocket watches
// refusing: it ends by itself when its utterance has.
func (s *Server) beginSocket() (engine Engine, release func(), err error) {
	s.mu.Lock()
	full := s.sockets >= s.opts.Limits.WebSockets
	if !full {
		s.sockets++
	}
	s.mu.Unlock()
	if full {
		return nil, nil, errSockets
	}
	if engine, _, err = s.begin(); err != nil {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sockets--
		return nil, nil, err
	}
	return engine, sync.OnceFunc(func() { s.release(1) }), nil
}

// release ends work, and the WebSocket that it was.
func (s *Server) release(sockets int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.live--
	s.sockets -= sockets
	if s.live == 0 && s.phase >= phaseDraining {
		s.becameIdle()
	}
}

// ready returns the engine, for requests that only look.
func (s *Server) ready() (Engine, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.engine == nil {
		return nil, errLoading
	}
	return s.engine, nil
}

func (s *Server) currentPhase() phase {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.phase
}

// work is the context of a request's work: it ends with the request, and when the
// server gives live work up. The cause tells which: errDraining for the latter.
func (s *Server) work(parent context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(parent)
	stop := context.AfterFunc(s.stop, func() { cancel(context.Cause(s.stop)) })
	return ctx, func() {
		stop()
		cancel(nil)
	}
}
