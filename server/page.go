package server

import (
	"fmt"
	"html"
	"net/http"
	"strings"
)

// page lists the API for whoever opens the server in a browser.
func (s *Server) page(w *response, _ *http.Request) error {
	var b strings.Builder
	b.WriteString("<!doctype html>\n<html lang=\"en\"><meta charset=\"utf-8\"><title>mynah</title>\n" +
		"<style>body{font:1rem/1.5 system-ui,sans-serif;margin:2rem;max-width:50rem}td{padding-right:1.5rem}</style>\n<h1>mynah</h1>\n")
	fmt.Fprintf(&b, "<p>Version %s, %s. The API as <a href=\"openapi.json\">OpenAPI</a>:</p>\n<table>\n", html.EscapeString(s.opts.Version), s.currentPhase())
	for _, r := range s.routes {
		fmt.Fprintf(&b, "<tr><td>%s<td><code>%s</code>\n", r.method, html.EscapeString(strings.TrimSuffix(r.path, "{$}")))
	}
	b.WriteString("</table>\n")
	h := w.Header()
	h.Set("Content-Type", "text/html; charset=utf-8")
	h.Set("Cache-Control", "no-cache")
	h.Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'")
	_, err := w.Write([]byte(b.String()))
	return err
}
