package server

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// running is a server on a port of its own.
type running struct {
	*Server
	t      *testing.T
	engine *fakeEngine
	url    string
	client *http.Client
}

// start runs a server with a fake engine.
func start(t *testing.T, opts Options) *running {
	t.Helper()
	return startWith(t, opts, newFake())
}

func startWith(t *testing.T, opts Options, engine *fakeEngine) *running {
	t.Helper()
	s := newServer(t, opts)
	if err := s.Use(context.Background(), engine); err != nil {
		t.Fatal(err)
	}
	return run(t, s, engine)
}

func newServer(t *testing.T, opts Options) *Server {
	t.Helper()
	s, err := New(opts)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// run puts a server onto a port, with its own http.Server.
func run(t *testing.T, s *Server, engine *fakeEngine) *running {
	t.Helper()
	host := hostOf(s)
	host.Start()
	return attend(t, s, engine, host, &http.Transport{DisableCompression: true})
}

// startHTTP2 runs a server with TLS.
func startHTTP2(t *testing.T, opts Options, engine *fakeEngine) *running {
	t.Helper()
	s := newServer(t, opts)
	if err := s.Use(context.Background(), engine); err != nil {
		t.Fatal(err)
	}
	host := hostOf(s)
	host.EnableHTTP2 = true
	host.StartTLS()
	return attend(t, s, engine, host, host.Client().Transport.(*http.Transport))
}

func hostOf(s *Server) *httptest.Server {
	host := httptest.NewUnstartedServer(s)
	host.Config = s.http
	host.Listener = s.limit(host.Listener)
	return host
}

// attend cleans up after a test.
func attend(t *testing.T, s *Server, engine *fakeEngine, host *httptest.Server, transport *http.Transport) *running {
	t.Helper()
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = s.Shutdown(ctx)
		host.Close()
	})
	return &running{Server: s, t: t, engine: engine, url: host.URL, client: &http.Client{Transport: transport}}
}

// post sends JSON.
func (r *running) post(path, body string) *http.Response {
	r.t.Helper()
	return r.do(r.request("POST", path, body))
}

func (r *running) get(path string) *http.Response {
	r.t.Helper()
	return r.do(r.request("GET", path, ""))
}

func (r *running) request(method, path, body string) *http.Request {
	r.t.Helper()
	req, err := http.NewRequest(method, r.url+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	return req
}

func (r *running) do(req *http.Request) *http.Response {
	r.t.Helper()
	resp, err := r.client.Do(req)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { resp.Body.Close() })
	return resp
}

// read reads a body to its end.
func read(t *testing.T, resp *http.Response) []byte {
	t.Helper()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// problem is an error's envelope.
type problem struct {
	Error struct {
		Message, Type string
		Param, Code   *string
	}
}

// wantError checks status and envelope, and returns the message.
func wantError(t *testing.T, resp *http.Response, status int, param, code string) string {
	t.Helper()
	data := read(t, resp)
	var p problem
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&p); err != nil {
		t.Fatalf("status %d, body %q: %v", resp.StatusCode, data, err)
	}
	if resp.StatusCode != status || str(p.Error.Param) != param || str(p.Error.Code) != code {
		t.Errorf("status %d, param %q, code %q, want %d, %q, %q: %s", resp.StatusCode, str(p.Error.Param), str(p.Error.Code), status, param, code, p.Error.Message)
	}
	if got := resp.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	if p.Error.Message == "" || p.Error.Type == "" || strings.Contains(p.Error.Message, "\n") {
		t.Errorf("message %q, type %q", p.Error.Message, p.Error.Type)
	}
	return p.Error.Message
}

func str(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

// eventually waits for a condition.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(10 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("never: %s", what)
		}
	}
}
