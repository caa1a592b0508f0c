package server

import "net/http"

// health says that the process lives: whether it may be sent work is readiness.
func (s *Server) health(w *response, _ *http.Request) error {
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, http.StatusOK, map[string]string{"status": "ok"})
}

// readiness says whether the server takes requests: load balancers go by its status.
func (s *Server) readiness(w *response, _ *http.Request) error {
	switch phase := s.currentPhase(); {
	case isClosed(s.draining):
		return errDraining
	case phase == phaseLoading:
		return errLoading
	}
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, http.StatusOK, map[string]string{"status": phaseReady.String()})
}
