package server

import (
	"net/http"
	"net/http/pprof"
)

// DebugHandler answers /debug/pprof/, for a listener of its own on a loopback address.
// Pages get nothing from it: it knows no names but those of this machine.
func DebugHandler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("/debug/pprof/", pprof.Index)
	mux.HandleFunc("/debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("/debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("/debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("/debug/pprof/trace", pprof.Trace)
	local := &Server{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if !local.knownHost(r.Host) || r.Header.Get("Origin") != "" {
			writeError(w, &Error{Status: http.StatusForbidden, Type: typePermission, Code: "unknown_host", Message: "the debug listener is for this machine alone"})
			return
		}
		mux.ServeHTTP(w, r)
	})
}
