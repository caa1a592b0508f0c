package server

import (
	"bytes"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/mynah-tts/mynah/web"
)

// pageRoutes are the routes of the page and of what it loads. None needs a key: the
// page asks for one.
func (s *Server) pageRoutes() []route {
	files := sync.OnceValue(func() map[string]web.File { return web.Files(s.opts.Version, s.opts.Limits.InputRunes) })
	serve := func(name string, w *response, r *http.Request) error {
		file, ok := files()[name]
		if !ok {
			return unknownPath(w, r)
		}
		serveFile(w, r, file)
		return nil
	}
	return []route{
		{"GET", "/{$}", true, func(w *response, r *http.Request) error {
			pagePolicy(w.Header(), r.Host)
			return serve(web.Index, w, r)
		}},
		{"GET", "/client.js", true, func(w *response, r *http.Request) error { return serve("client.js", w, r) }},
		{"GET", "/page/{file}", true, func(w *response, r *http.Request) error { return serve("page/"+r.PathValue("file"), w, r) }},
	}
}

// serveFile answers with a file, or with 304 if the client has it. Files keep their
// names from version to version, so a client asks each time whether they have changed.
func serveFile(w *response, r *http.Request, file web.File) {
	h := w.Header()
	h.Set("Content-Type", file.Type)
	h.Set("ETag", file.ETag)
	h.Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file.Data))
}

// pagePolicy forbids the page everything that it does not do: it loads its own files,
// talks to this server, and that is all. Strings never become markup or code.
func pagePolicy(h http.Header, host string) {
	connect := "connect-src 'self'"
	if host != "" && !strings.ContainsFunc(host, notOfHost) {
		connect += " ws://" + host + " wss://" + host // some browsers do not count these as 'self'
	}
	h.Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'none'", "script-src 'self'", "style-src 'self'", "img-src 'self'", connect, "worker-src 'self'",
		"base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'",
	}, "; "))
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Permissions-Policy", "microphone=(self), camera=(), geolocation=(), payment=(), usb=()")
}

// notOfHost tells what has no place in a host and port that stand in a policy.
func notOfHost(c rune) bool {
	return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '.' && c != '-' && c != ':'
}
