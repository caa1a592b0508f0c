package server

import (
	_ "embed"
	"net/http"
)

// openapi describes the API, with the default limits. A test compares it with routes,
// fields and limits.
//
//go:embed openapi.json
var openapi []byte

func (s *Server) openAPI(w *response, _ *http.Request) error {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-cache")
	_, err := w.Write(openapi)
	return err
}
