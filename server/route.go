package server

import (
	"errors"
	"net/http"
	"slices"
	"strings"
)

// handler answers a request, or returns an error that is answered for it.
type handler func(w *response, r *http.Request) error

// route is one method of one path.
type route struct {
	method string
	path   string // a pattern of http.ServeMux
	open   bool   // needs no key
	handle handler
}

// apiRoutes are the routes over plain HTTP.
func (s *Server) apiRoutes() []route {
	return []route{
		{"GET", "/health", true, s.health},
		{"GET", "/ready", true, s.readiness},
		{"GET", "/metrics", true, s.metrics.serve},
		{"GET", "/openapi.json", true, s.openAPI},
		{"GET", "/v1/models", false, s.listModels},
		{"GET", "/v1/models/{id}", false, s.getModel},
		{"GET", "/v1/audio/voices", false, s.listVoices},
		{"POST", "/v1/audio/voices", false, s.uploadVoice},
		{"GET", "/v1/audio/voices/{name}", false, s.getVoice},
		{"DELETE", "/v1/audio/voices/{name}", false, s.removeVoice},
		{"POST", "/v1/audio/speech", false, s.speech},
		{"POST", "/v1/audio/speech/batch", false, s.batch},
	}
}

// router finds a request's route. Requests without one get a 404, or a 405 that names
// the methods of the path, in the envelope.
func (s *Server) router() http.Handler {
	methods := map[string][]route{}
	mux := http.NewServeMux()
	for _, r := range s.routes {
		methods[r.path] = append(methods[r.path], r)
	}
	for path, routes := range methods {
		mux.Handle(path, s.answer(func(w *response, r *http.Request) error {
			info(r).route = strings.TrimSuffix(path, "{$}")
			for _, each := range routes {
				if each.method == r.Method || each.method == "GET" && r.Method == "HEAD" {
					return s.enter(each, w, r)
				}
			}
			return wrongMethod(r, routes)
		}))
	}
	mux.Handle("/", s.answer(unknownPath))
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// ServeMux would redirect paths such as //v1, with a page of its own.
		if r.URL.Path == "" || r.URL.Path[0] != '/' || strings.Contains(r.URL.Path, "//") || strings.Contains(r.URL.Path, "/.") {
			s.answer(unknownPath).ServeHTTP(w, r)
			return
		}
		mux.ServeHTTP(w, r)
	})
}

// enter lets a request into its route.
func (s *Server) enter(route route, w *response, r *http.Request) error {
	if !route.open {
		if err := s.authenticate(r); err != nil {
			return err
		}
	}
	return route.handle(w, r)
}

func wrongMethod(r *http.Request, routes []route) error {
	var allowed []string
	for _, each := range routes {
		allowed = append(allowed, each.method)
		if each.method == "GET" {
			allowed = append(allowed, "HEAD")
		}
	}
	slices.Sort(allowed)
	allow := strings.Join(allowed, ", ")
	return &Error{Status: http.StatusMethodNotAllowed, Type: typeInvalid, Code: "method_not_allowed", Allow: allow,
		Message: "method " + abridged(r.Method) + " is not for this path, allowed are " + allow}
}

func unknownPath(w *response, r *http.Request) error {
	return &Error{Status: http.StatusNotFound, Type: typeInvalid, Code: "unknown_path",
		Message: "there is no " + quoted(r.URL.Path) + " here, /openapi.json tells what there is"}
}

// answer makes an http.Handler of a handler: its error becomes the answer.
func (s *Server) answer(h handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		w := rw.(*response)
		if err := h(w, r); err != nil {
			s.fail(w, r, err)
		}
	})
}

// fail answers with an error if nothing was sent, and breaks the connection off
// otherwise: a body that ends properly would look complete.
func (s *Server) fail(w *response, r *http.Request, err error) {
	var broken *connectionError
	if errors.As(err, &broken) { // whoever does not take an answer, or its end, is no failure of ours
		err = why(r.Context(), err)
		if slow, isSlow := asSlow(err); isSlow {
			s.metrics.slowClient(slow)
		}
	}
	info(r).err = err
	if w.hijacked {
		return
	}
	if w.status != 0 || errors.Is(err, errClientGone) {
		panic(http.ErrAbortHandler)
	}
	e := asError(err)
	if isEleven(r.URL.Path) {
		writeErrorBody(w, e, elevenEnvelope{envelope{e.body()}, elevenDetail{e.Code, e.Message, e.body().Param}})
		return
	}
	writeError(w, e)
}
