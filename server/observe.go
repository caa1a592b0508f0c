package server

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"runtime/debug"
	"strings"
	"time"
)

// requestInfo is what is known of a request from its beginning to its line in the log.
type requestInfo struct {
	id       string
	received time.Time
	route    string // the pattern of its path, or "other"
	err      error
	attrs    []slog.Attr // more for the log
}

type infoKey struct{}

// info returns a request's.
func info(r *http.Request) *requestInfo { return r.Context().Value(infoKey{}).(*requestInfo) }

// add puts more into a request's line of the log. Text of users is for addText.
func (i *requestInfo) add(attrs ...slog.Attr) { i.attrs = append(i.attrs, attrs...) }

// addText logs text of users, if that was asked for.
func (s *Server) addText(r *http.Request, name, text string) {
	if s.opts.LogText {
		info(r).add(slog.String(name, text))
	}
}

// observe is the outermost handler: it gives each request an id, counts and logs it,
// and turns a panic into a 500.
func (s *Server) observe(next http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		in := &requestInfo{id: requestID(r), received: time.Now(), route: "other"}
		w := newResponse(rw, s.opts.Limits.WriteTimeout)
		r = r.WithContext(context.WithValue(r.Context(), infoKey{}, in))
		h := w.Header()
		h.Set("X-Request-Id", in.id)
		h.Set("X-Content-Type-Options", "nosniff")
		h.Set("X-Frame-Options", "DENY")
		h.Set("Referrer-Policy", "no-referrer")
		if len(s.opts.Origins) == 0 {
			h.Set("Cross-Origin-Resource-Policy", "same-origin")
		}
		if r.ContentLength != 0 { // a body that nobody reads is bounded as well
			_ = w.rc.SetReadDeadline(in.received.Add(s.opts.Limits.BodyTimeout))
		}
		s.metrics.requests.open.Inc()
		defer s.metrics.requests.open.Dec()
		defer s.conclude(w, r)
		next.ServeHTTP(w, r)
	})
}

// conclude ends a request: after a panic, too.
func (s *Server) conclude(w *response, r *http.Request) {
	in := info(r)
	problem := recover()
	aborted := problem == any(http.ErrAbortHandler)
	if problem != nil && !aborted {
		in.err = fmt.Errorf("panic: %v", problem)
		in.add(slog.String("stack", string(debug.Stack())))
		if w.status == 0 && !w.hijacked {
			writeError(w, asError(in.err))
		} else {
			aborted = true
		}
	}
	w.finish()
	s.metrics.requests.count(in.route, r.Method, s.statusOf(w, in))
	s.logRequest(w, r)
	if aborted && !w.hijacked {
		if !r.ProtoAtLeast(1, 1) {
			w.reset()
		}
		panic(http.ErrAbortHandler)
	}
}

// statusGone is what others log when the client left before an answer.
const statusGone = 499

// statusOf is the status for log and metrics: what became of the request, also when
// the client was told 200 before.
func (s *Server) statusOf(w *response, in *requestInfo) int {
	switch {
	case errors.Is(in.err, errClientGone):
		return statusGone
	case in.err != nil && w.status <= http.StatusOK:
		return asError(in.err).Status // of an answer that had begun well
	case w.status == 0:
		return http.StatusOK
	}
	return w.status
}

// logRequest writes a request's line. Neither the query nor any header is in it:
// there may be keys.
func (s *Server) logRequest(w *response, r *http.Request) {
	in := info(r)
	status := s.statusOf(w, in)
	level := slog.LevelInfo
	attrs := []slog.Attr{
		slog.String("id", in.id), slog.String("method", r.Method), slog.String("path", r.URL.Path), slog.Int("status", status),
		slog.Int64("bytes", w.bytes), slog.Duration("elapsed", time.Since(in.received)), slog.String("remote", r.RemoteAddr),
	}
	attrs = append(attrs, in.attrs...)
	if in.err != nil {
		attrs = append(attrs, s.logError(in.err))
		if status >= http.StatusInternalServerError && asError(in.err).Code == "internal_error" {
			level = slog.LevelError
		}
	}
	if level == slog.LevelInfo && in.route != "other" && strings.Count(in.route, "/") == 1 {
		level = slog.LevelDebug // probes and scrapes
	}
	s.opts.Log.LogAttrs(context.WithoutCancel(r.Context()), level, "request", attrs...)
}

// logError is an error for the log. Messages of refusals quote what the user sent;
// without LogText only their code and field are told.
func (s *Server) logError(err error) slog.Attr {
	if errors.Is(err, errClientGone) {
		return slog.String("error", err.Error())
	}
	e := asError(err)
	what := strings.TrimSuffix(e.Code+" "+e.Param, " ")
	if e.Err == nil && !s.opts.LogText {
		return slog.String("error", what)
	}
	return slog.String("error", what+": "+e.Error())
}

// requestID is the client's id of its request if that is one to put into a log, or a
// new one.
func requestID(r *http.Request) string {
	if id := r.Header.Get("X-Request-Id"); id != "" && len(id) <= maxIDBytes && !strings.ContainsFunc(id, notOfID) {
		return id
	}
	return newID("req_")
}

func notOfID(c rune) bool {
	return (c < '0' || c > '9') && (c < 'A' || c > 'Z') && (c < 'a' || c > 'z') && !strings.ContainsRune("-_.:", c)
}

// newID is a random id.
func newID(prefix string) string {
	var b [12]byte
	_, _ = rand.Read(b[:]) // never fails
	return prefix + hex.EncodeToString(b[:])
}
