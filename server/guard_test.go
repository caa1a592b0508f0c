package server

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestKeys(t *testing.T) {
	const good = "sk-good"
	upgrade := []string{"Connection", "Upgrade", "Upgrade", "websocket"}
	for _, tc := range []struct {
		name    string
		path    string
		headers []string
		ok      bool
	}{
		{"none", "/v1/models", nil, false},
		{"bearer", "/v1/models", []string{"Authorization", "Bearer sk-good"}, true},
		{"second key", "/v1/models", []string{"Authorization", "bearer sk-other"}, true},
		{"wrong", "/v1/models", []string{"Authorization", "Bearer sk-bad"}, false},
		{"prefix", "/v1/models", []string{"Authorization", "Bearer sk-goo"}, false},
		{"empty", "/v1/models", []string{"Authorization", "Bearer "}, false},
		{"basic", "/v1/models", []string{"Authorization", "Basic sk-good"}, false},
		{"elevenlabs", "/v1/models", []string{"Xi-Api-Key", good}, true},
		{"query of a request", "/v1/models?api_key=" + good, nil, false},
		{"query of a WebSocket", "/v1/models?api_key=" + good, upgrade, true},
		{"subprotocol", "/v1/models", append([]string{"Sec-Websocket-Protocol", "realtime, openai-insecure-api-key." + good}, upgrade...), true},
		{"wrong subprotocol", "/v1/models", append([]string{"Sec-Websocket-Protocol", "openai-insecure-api-key.x"}, upgrade...), false},
		{"health", "/health", nil, true},
		{"ready", "/ready", nil, true},
		{"metrics", "/metrics", nil, true},
		{"page", "/", nil, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := start(t, Options{Keys: []string{good, "sk-other"}})
			req := r.request("GET", tc.path, "")
			for i := 0; i < len(tc.headers); i += 2 {
				req.Header.Set(tc.headers[i], tc.headers[i+1])
			}
			resp := r.do(req)
			if tc.ok {
				if resp.StatusCode != 200 {
					t.Errorf("status %d", resp.StatusCode)
				}
				return
			}
			wantError(t, resp, 401, "", "invalid_api_key")
			if !strings.HasPrefix(resp.Header.Get("WWW-Authenticate"), "Bearer") {
				t.Error("no WWW-Authenticate")
			}
		})
	}
	r := start(t, Options{}) // without keys whatever is sent is ignored
	req := r.request("GET", "/v1/models", "")
	req.Header.Set("Authorization", "Bearer x")
	if resp := r.do(req); resp.StatusCode != 200 {
		t.Errorf("status %d", resp.StatusCode)
	}
}

// Requests that no page may send come to nothing before anything is read of them.
func TestHostsAndOrigins(t *testing.T) {
	for _, tc := range []struct {
		name, host, origin string
		code               string // "" if it is allowed
	}{
		{"program", "127.0.0.1:8080", "", ""},
		{"localhost", "localhost:8080", "", ""},
		{"sub.localhost", "x.LOCALHOST", "", ""},
		{"IPv6", "[::1]:8080", "", ""},
		{"other loopback", "127.9.9.9", "", ""},
		{"allowed host", "mynah.lan:8080", "", ""},
		{"rebound", "evil.example", "", "unknown_host"},
		{"rebound with port", "evil.example:8080", "http://evil.example:8080", "unknown_host"},
		{"like localhost", "localhost.evil.example", "", "unknown_host"},
		{"like loopback", "127.0.0.1.evil.example", "", "unknown_host"},
		{"public address", "203.0.113.7", "", "unknown_host"},
		{"own page", "localhost:8080", "http://localhost:8080", ""},
		{"own page behind TLS", "localhost", "https://localhost", ""},
		{"listed page", "localhost:8080", "https://app.example", ""},
		{"foreign page", "localhost:8080", "https://evil.example", "unknown_origin"},
		{"other scheme of a listed page", "localhost:8080", "http://app.example", "unknown_origin"},
		{"other port", "localhost:8080", "http://localhost:3000", "unknown_origin"},
		{"null", "localhost:8080", "null", "unknown_origin"},
		{"nonsense", "localhost:8080", "://", "unknown_origin"},
	} {
		for _, upgrade := range []bool{false, true} {
			s := newServer(t, Options{CheckHost: true, Hosts: []string{"mynah.lan"}, Origins: []string{"https://app.example"}})
			req := httptest.NewRequest("GET", "/health", nil)
			req.Host = tc.host
			if tc.origin != "" {
				req.Header.Set("Origin", tc.origin)
			}
			if upgrade {
				req.Header.Set("Connection", "Upgrade")
				req.Header.Set("Upgrade", "websocket")
			}
			w := httptest.NewRecorder()
			s.ServeHTTP(w, req)
			if tc.code == "" {
				if w.Code != 200 {
					t.Errorf("%s: status %d: %s", tc.name, w.Code, w.Body)
				}
				continue
			}
			wantError(t, w.Result(), 403, "", tc.code)
		}
	}
	// Over TLS a page of plain HTTP is somebody else's.
	for origin, want := range map[string]int{"https://localhost": 200, "http://localhost": 403} {
		s := newServer(t, Options{CheckHost: true})
		req := httptest.NewRequest("GET", "https://localhost/health", nil)
		req.Header.Set("Origin", origin)
		w := httptest.NewRecorder()
		if s.ServeHTTP(w, req); w.Code != want {
			t.Errorf("page of %s over TLS: status %d, wanted %d", origin, w.Code, want)
		}
	}
	// Without the check any Host is one, as behind a proxy.
	s := newServer(t, Options{})
	req := httptest.NewRequest("GET", "/health", nil)
	req.Host = "tts.example"
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	if w.Code != 200 {
		t.Errorf("status %d", w.Code)
	}
}

// An origin that no browser sends would refuse all pages, so it is refused at the start.
func TestOriginsThatNoneHas(t *testing.T) {
	for origin, want := range map[string]string{
		"*": "", "null": "", "https://example.org": "", "http://localhost:3000": "", "https://[::1]:8443": "", "http://example.org:443": "", "HTTP://EXAMPLE.org": "",
		"https://*.example.org": "there are no patterns", "https://*": "there are no patterns", "http://localhost:*": "wanted a scheme",
		"http://example.org:80": "browsers leave such a port out: http://example.org", "https://[::1]:443": "browsers leave such a port out: https://[::1]",
		"https://example.org:": "browsers leave such a port out: https://example.org", "https://example.org:0443": "wanted a port",
		"example.org": "wanted a scheme", "https://example.org/": "wanted a scheme", "ftp://example.org": "wanted a scheme", "https://m\u00fcnchen.example": "wanted a scheme",
	} {
		_, err := New(Options{Origins: []string{"https://app.example", origin}})
		if (err == nil) != (want == "") || err != nil && !strings.HasPrefix(err.Error(), fmt.Sprintf("server: origin %q, %s", origin, want)) {
			t.Errorf("%s: %v, want %s", origin, err, want)
		}
	}
}

func TestCrossOrigin(t *testing.T) {
	preflight := func(s *Server, origin string) http.Header {
		req := httptest.NewRequest("OPTIONS", speechPath, nil)
		req.Header.Set("Origin", origin)
		req.Header.Set("Access-Control-Request-Method", "POST")
		req.Header.Set("Access-Control-Request-Headers", "authorization,content-type")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		return w.Result().Header
	}
	s := newServer(t, Options{Origins: []string{"https://app.example"}, Keys: []string{"k"}})
	if h := preflight(s, "https://app.example"); h.Get("Access-Control-Allow-Origin") != "https://app.example" ||
		h.Get("Access-Control-Allow-Credentials") != "" || h.Get("Access-Control-Allow-Headers") == "" {
		t.Errorf("listed: %v", h)
	}
	if h := preflight(s, "https://evil.example"); h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("foreign: %v", h)
	}
	if h := preflight(newServer(t, Options{}), "https://app.example"); h.Get("Access-Control-Allow-Origin") != "" {
		t.Errorf("none listed: %v", h)
	}
	if h := preflight(newServer(t, Options{Origins: []string{"*"}}), "https://any.example"); h.Get("Access-Control-Allow-Origin") != "*" ||
		h.Get("Access-Control-Allow-Credentials") != "" {
		t.Errorf("all: %v", h)
	}
	req := httptest.NewRequest("GET", "/health", nil)
	req.Header.Set("Origin", "https://app.example")
	w := httptest.NewRecorder()
	s.ServeHTTP(w, req)
	if h := w.Result().Header; h.Get("Access-Control-Allow-Origin") != "https://app.example" || !strings.Contains(h.Get("Access-Control-Expose-Headers"), "X-Mynah-Seed") {
		t.Errorf("answer: %v", h)
	}
}

func TestDebugHandlerIsLocal(t *testing.T) {
	for _, tc := range []struct {
		host, origin string
		status       int
	}{{"127.0.0.1:6060", "", 200}, {"evil.example", "", 403}, {"localhost", "http://localhost:8080", 403}} {
		req := httptest.NewRequest("GET", "/debug/pprof/cmdline", nil)
		req.Host = tc.host
		if tc.origin != "" {
			req.Header.Set("Origin", tc.origin)
		}
		w := httptest.NewRecorder()
		DebugHandler().ServeHTTP(w, req)
		if w.Code != tc.status {
			t.Errorf("%s: status %d", tc.host, w.Code)
		}
	}
	r := start(t, Options{})
	wantError(t, r.get("/debug/pprof/"), 404, "", "unknown_path")
}
