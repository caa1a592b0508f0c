package server

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestPageFiles(t *testing.T) {
	r := start(t, Options{})
	for path, kind := range map[string]string{
		"/": "text/html; charset=utf-8", "/client.js": "text/javascript; charset=utf-8",
		"/page/app.js": "text/javascript; charset=utf-8", "/page/style.css": "text/css; charset=utf-8", "/page/icon.svg": "image/svg+xml",
	} {
		resp := r.get(path)
		tag := resp.Header.Get("ETag")
		if data := read(t, resp); resp.StatusCode != http.StatusOK || len(data) == 0 || resp.Header.Get("Content-Type") != kind ||
			resp.Header.Get("Cache-Control") != "no-cache" || resp.Header.Get("X-Content-Type-Options") != "nosniff" || tag == "" {
			t.Errorf("%s: status %d, %d bytes, header %v", path, resp.StatusCode, len(data), resp.Header)
		}
		req := r.request("GET", path, "")
		req.Header.Set("If-None-Match", tag)
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		if data := read(t, resp); resp.StatusCode != http.StatusNotModified || len(data) != 0 {
			t.Errorf("%s again: status %d, %d bytes", path, resp.StatusCode, len(data))
		}
	}
	for _, path := range []string{"/page/none.js", "/page/", "/page/..%2findex.html", "/page/%2e%2e/client.js", "/index.html", "/page/page/app.js"} {
		if resp := r.get(path); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: status %d", path, resp.StatusCode)
		}
	}
}

func TestPagePolicy(t *testing.T) {
	s := newServer(t, Options{Keys: []string{"secret"}})
	for host, want := range map[string]string{
		"localhost:8080":         "connect-src 'self' ws://localhost:8080 wss://localhost:8080;",
		"[::1]:8080":             "connect-src 'self';",
		"a; script-src *":        "connect-src 'self';",
		"tts.example":            "connect-src 'self' ws://tts.example wss://tts.example;",
		"localhost, evil.exampl": "connect-src 'self';",
	} {
		req := httptest.NewRequest("GET", "/", nil)
		req.Host = host
		w := httptest.NewRecorder()
		s.ServeHTTP(w, req)
		policy := w.Header().Get("Content-Security-Policy")
		if w.Code != http.StatusOK || !strings.Contains(policy, want) || !strings.Contains(policy, "default-src 'none'") || strings.Contains(policy, "unsafe") || strings.Contains(policy, "*") {
			t.Errorf("host %s: status %d, policy %s", host, w.Code, policy)
		}
	}
}

// Pages of allowed origins may load the module, those of others may not.
func TestClientModuleOrigin(t *testing.T) {
	r := start(t, Options{Origins: []string{"https://app.example"}})
	for origin, status := range map[string]int{"https://app.example": http.StatusOK, "https://evil.example": http.StatusForbidden} {
		req := r.request("GET", "/page/player.js", "")
		req.Header.Set("Origin", origin)
		resp, err := r.client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.Copy(io.Discard, resp.Body)
		resp.Body.Close()
		allowed := resp.Header.Get("Access-Control-Allow-Origin")
		if resp.StatusCode != status || (allowed == origin) != (status == http.StatusOK) {
			t.Errorf("%s: status %d, allowed %q", origin, resp.StatusCode, allowed)
		}
	}
}
