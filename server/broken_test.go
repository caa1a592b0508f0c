package server

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"syscall"
	"testing"
)

// brokenWriter is a connection that fails after some writes.
type brokenWriter struct {
	*httptest.ResponseRecorder
	left int
	err  error
}

func (w *brokenWriter) Write(p []byte) (int, error) {
	if w.left--; w.left < 0 {
		return 0, w.err
	}
	return w.ResponseRecorder.Write(p)
}

// A client that leaves while it is sent an answer, or the last of one, is no failure of the
// server: neither in metrics nor in the log.
func TestClientThatLeavesIsNoFailure(t *testing.T) {
	var log bytes.Buffer
	s := newServer(t, Options{Log: slog.New(slog.NewTextHandler(&log, nil))})
	engine := newFake()
	engine.script = script{frames: 1}
	if err := s.Use(t.Context(), engine); err != nil {
		t.Fatal(err)
	}
	r := run(t, s, engine)
	for _, tc := range []struct {
		name, method, path, body string
		route                    string
		writes                   int // that succeed
		err                      error
	}{
		{"last event", "POST", speechPath, `{"input":"a","response_format":"pcm","stream_format":"sse"}`, speechPath, 1, syscall.EPIPE},
		{"last event in vain", "POST", speechPath, `{"input":"a","response_format":"pcm","stream_format":"sse"}`, speechPath, 1, os.ErrDeadlineExceeded},
		{"voices", "GET", voicesPath, "", voicesPath, 0, syscall.ECONNRESET},
		{"description", "GET", "/openapi.json", "", "/openapi.json", 0, os.ErrDeadlineExceeded},
		{"ElevenLabs' voices", "GET", "/v1/voices", "", "/v1/voices", 0, syscall.EPIPE},
	} {
		t.Run(tc.name, func(t *testing.T) {
			count := `mynah_http_requests_total{method="` + tc.method + `",route="` + tc.route + `",status="499"}`
			before, slow := r.metric(count), r.metric(`mynah_slow_clients_total{reason="write_timeout"}`)
			log.Reset()
			req := httptest.NewRequest(tc.method, tc.path, strings.NewReader(tc.body))
			req.Header.Set("Content-Type", "application/json")
			func() {
				defer func() {
					if p := recover(); p != http.ErrAbortHandler {
						t.Errorf("it was not broken off: %v", p)
					}
				}()
				r.ServeHTTP(&brokenWriter{httptest.NewRecorder(), tc.writes, tc.err}, req)
			}()
			if strings.Contains(log.String(), "level=ERROR") || !strings.Contains(log.String(), "status=499") && strings.HasPrefix(tc.path, "/v1") {
				t.Errorf("log: %s", &log)
			}
			if after := r.metric(count); after == before || after == "" {
				t.Errorf("%s was %q, is %q", count, before, after)
			}
			wasSlow := r.metric(`mynah_slow_clients_total{reason="write_timeout"}`) != slow
			if wasSlow != (tc.err == os.ErrDeadlineExceeded) {
				t.Errorf("counted as slow: %v", wasSlow)
			}
		})
	}
}
