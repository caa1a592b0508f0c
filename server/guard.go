package server

import (
	"crypto/sha256"
	"crypto/subtle"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/rs/cors"
)

// digests are of equal length, whatever the keys are: comparing them tells nothing.
func digests(keys []string) [][32]byte {
	var d [][32]byte
	for _, key := range keys {
		d = append(d, sha256.Sum256([]byte(key)))
	}
	return d
}

// authenticate refuses requests without a key, if there are keys.
func (s *Server) authenticate(r *http.Request) error {
	if len(s.keys) == 0 {
		return nil
	}
	key := keyOf(r)
	if s.validKey(key) {
		return nil
	}
	return wrongKey(key)
}

// validKey compares a key with all that there are, in the same time whatever it is.
func (s *Server) validKey(key string) bool {
	given, found := sha256.Sum256([]byte(key)), 0
	for i := range s.keys {
		found |= subtle.ConstantTimeCompare(given[:], s.keys[i][:])
	}
	return found == 1
}

// wrongKey refuses a key.
func wrongKey(key string) *Error {
	e := &Error{Status: http.StatusUnauthorized, Type: typeAuth, Code: "invalid_api_key", Message: "the API key is not one of this server's"}
	if key == "" {
		e.Message = "an API key is needed: Authorization: Bearer KEY"
	}
	return e
}

// subprotocolKey is the prefix of a WebSocket subprotocol that carries a key, as
// OpenAI's realtime API has it: pages cannot set headers there.
const subprotocolKey = "openai-insecure-api-key."

// keyOf is the key that a request brings: as OpenAI's or ElevenLabs' clients send it,
// and for WebSockets as a subprotocol or in the query.
func keyOf(r *http.Request) string {
	if scheme, key, ok := strings.Cut(r.Header.Get("Authorization"), " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	if key := r.Header.Get("Xi-Api-Key"); key != "" {
		return key
	}
	if !isUpgrade(r) {
		return ""
	}
	for _, line := range r.Header.Values("Sec-Websocket-Protocol") {
		for name := range strings.SplitSeq(line, ",") {
			if key, ok := strings.CutPrefix(strings.TrimSpace(name), subprotocolKey); ok {
				return key
			}
		}
	}
	return r.URL.Query().Get("api_key")
}

func isUpgrade(r *http.Request) bool { return strings.EqualFold(r.Header.Get("Upgrade"), "websocket") }

// checkHost keeps pages out whose name was rebound to a loopback address: their
// requests carry that name.
func (s *Server) checkHost(next http.Handler) http.Handler {
	if !s.opts.CheckHost {
		return next
	}
	return s.answer(func(w *response, r *http.Request) error {
		if !s.knownHost(r.Host) {
			return &Error{Status: http.StatusForbidden, Type: typePermission, Code: "unknown_host",
				Message: "host " + quoted(r.Host) + " is not one of this server's (--allow-host)"}
		}
		next.ServeHTTP(w, r)
		return nil
	})
}

// knownHost reports whether a Host header means this machine. Only HTTP/1.0, which no
// browser speaks, may leave it out.
func (s *Server) knownHost(host string) bool {
	name := hostname(host)
	if ip := net.ParseIP(name); ip != nil && ip.IsLoopback() {
		return true
	}
	return host == "" || name == "localhost" || strings.HasSuffix(name, ".localhost") ||
		slices.ContainsFunc(s.opts.Hosts, func(h string) bool { return strings.EqualFold(h, name) || strings.EqualFold(h, host) })
}

// hostname is a Host without its port, in lower case.
func hostname(host string) string {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	return strings.ToLower(strings.Trim(host, "[]"))
}

// checkOrigin refuses requests of pages of others, WebSockets included. Programs send
// no Origin.
func (s *Server) checkOrigin(next http.Handler) http.Handler {
	return s.answer(func(w *response, r *http.Request) error {
		if !s.knownOrigin(r) {
			return &Error{Status: http.StatusForbidden, Type: typePermission, Code: "unknown_origin",
				Message: "pages of " + quoted(r.Header.Get("Origin")) + " may not use this server (--allow-origin)"}
		}
		next.ServeHTTP(w, r)
		return nil
	})
}

// knownOrigin reports whether a request comes from no page, from a page of this very
// server, or from an allowed one. Over TLS a page of http is none of ours: whoever is
// in the network may have written it. Without, either scheme may be: a proxy in front
// may add TLS.
func (s *Server) knownOrigin(r *http.Request) bool {
	origins := r.Header.Values("Origin")
	if len(origins) == 0 {
		return true
	}
	origin := origins[0]
	if len(origins) > 1 {
		return false
	}
	if slices.ContainsFunc(s.opts.Origins, func(o string) bool { return o == "*" || strings.EqualFold(o, origin) }) {
		return true
	}
	u, err := url.Parse(origin)
	return err == nil && u.Host != "" && strings.EqualFold(u.Host, r.Host) && (r.TLS == nil || u.Scheme == "https")
}

// defaultPorts are those that browsers leave out of an origin.
var defaultPorts = map[string]string{"http": "80", "https": "443"}

// originProblem tells what is wrong with an origin to allow, "" if nothing is: one that
// no browser sends would refuse all pages.
func originProblem(origin string) string {
	if origin == "*" || origin == "null" {
		return ""
	}
	u, err := url.Parse(origin)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" || u.String() != u.Scheme+"://"+u.Host {
		return "wanted a scheme and a host such as https://example.org, or *"
	}
	port := u.Port()
	switch {
	case strings.Contains(u.Host, "*"):
		return "there are no patterns: name each host, or * for all origins"
	case port == defaultPorts[u.Scheme] || strings.HasSuffix(u.Host, ":"):
		return "browsers leave such a port out: " + u.Scheme + "://" + strings.TrimSuffix(u.Host, ":"+port)
	case strings.HasPrefix(port, "0"):
		return "wanted a port without a zero in front"
	}
	return ""
}

// crossOrigin answers preflights of listed origins, which carry no key, and lets their
// pages read answers. Cookies and the like stay out.
func (s *Server) crossOrigin(next http.Handler) http.Handler {
	if len(s.opts.Origins) == 0 {
		return next
	}
	return cors.New(cors.Options{
		AllowedOrigins:       s.opts.Origins,
		AllowedMethods:       []string{http.MethodGet, http.MethodHead, http.MethodPost, http.MethodDelete},
		AllowedHeaders:       []string{"*"},
		ExposedHeaders:       exposedHeaders,
		AllowPrivateNetwork:  true,
		MaxAge:               600, // seconds
		OptionsSuccessStatus: http.StatusNoContent,
	}).Handler(next)
}
