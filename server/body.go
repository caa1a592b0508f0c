package server

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// takeBody reads a JSON body, and admits the work that it asks for: unless the server
// does not take any, which is told before the body is read.
func (s *Server) takeBody(w *response, r *http.Request) (body []byte, engine Engine, release func(), err error) {
	return s.takeBodyBy(w, r, s.readBody)
}

// takeClipBody is takeBody for requests that may bring recordings. Where some are heard,
// the body may be larger by one of them. heard frees its place: it is called once nothing
// needs the recording any more.
func (s *Server) takeClipBody(w *response, r *http.Request) (body []byte, engine Engine, heard, release func(), err error) {
	heard = func() {}
	body, engine, release, err = s.takeBodyBy(w, r, func(w *response, r *http.Request) (body []byte, err error) {
		engine, err := s.ready()
		if err != nil || s.checkCloning("ref_audio", engine.Info()) != nil {
			return s.readBody(w, r)
		}
		body, heard, err = s.readClipBody(w, r)
		return body, err
	})
	if err != nil {
		heard()
	}
	return body, engine, heard, release, err
}

// takeBodyBy reads a body in a way of its own, between asking and being admitted.
func (s *Server) takeBodyBy(w *response, r *http.Request, read func(*response, *http.Request) ([]byte, error)) (body []byte, engine Engine, release func(), err error) {
	if err := s.admits(); err != nil {
		return nil, nil, nil, err
	}
	gone, err := s.beginBody()
	if err != nil {
		return nil, nil, nil, err
	}
	defer func() {
		if err != nil {
			gone()
		}
	}()
	if body, err = read(w, r); err != nil {
		return nil, nil, nil, err
	}
	engine, done, err := s.begin()
	if err != nil {
		return nil, nil, nil, err
	}
	return body, engine, func() { done(); gone() }, nil
}

// beginBody admits a body into memory, until gone is called: no more of them than
// connections may be open. In HTTP/1 that many there are at most, but a connection of
// HTTP/2 has many.
func (s *Server) beginBody() (gone func(), err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.bodies >= s.opts.Limits.Connections {
		return nil, errRequests
	}
	s.bodies++
	return sync.OnceFunc(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.bodies--
	}), nil
}

// clipBodyBytes is the largest body of a request that may bring a recording.
func (s *Server) clipBodyBytes() int64 {
	return s.opts.Limits.BodyBytes + base64Bytes(s.opts.Limits.ClipBytes)
}

// base64Bytes is the most that a recording takes as a data URL: a third more, and line
// breaks or escapes.
func base64Bytes(clip int64) int64 { return clip + clip/2 }

// readClipBody reads a JSON body that may bring a recording. What goes beyond an ordinary
// body waits for one of few places before it is read, so that these bodies do not fill the
// memory; free gives the place back. Whoever waits too long is told to come later.
func (s *Server) readClipBody(w *response, r *http.Request) (body []byte, free func(), err error) {
	free = func() {}
	if err := checkContentType(r); err != nil {
		return nil, free, err
	}
	plain, most := s.opts.Limits.BodyBytes, s.clipBodyBytes()
	if r.ContentLength > most {
		return nil, free, tooLarge(most)
	}
	limited := http.MaxBytesReader(w.ResponseWriter, r.Body, most)
	if r.ContentLength <= plain { // or it is not known
		if body, err = s.readAll(w, io.LimitReader(limited, plain+1), most); err != nil || int64(len(body)) <= plain {
			return body, free, err
		}
	}
	_ = w.rc.SetReadDeadline(time.Time{}) // HTTP/2 would end the body while it waits
	free, err = s.largePlace()
	s.expectBody(w)
	if err != nil {
		return nil, free, err
	}
	rest, err := s.readAll(w, limited, most)
	return append(body, rest...), free, err
}

// largePlace waits for the place of a large body, for as long as a body may take.
func (s *Server) largePlace() (free func(), err error) {
	wait := time.NewTimer(s.opts.Limits.BodyTimeout)
	defer wait.Stop()
	select {
	case s.clips.large <- struct{}{}:
		return sync.OnceFunc(func() { <-s.clips.large }), nil
	case <-wait.C:
		return func() {}, errLargeBodies
	case <-s.stop.Done():
		return func() {}, errDraining
	}
}

// expectBody sets when the rest of a body must have arrived. That is for refused bodies as
// well: net/http reads on behind an answer, for ever where there is no deadline.
func (s *Server) expectBody(w *response) {
	_ = w.rc.SetReadDeadline(time.Now().Add(s.opts.Limits.BodyTimeout))
}

// readBody reads a JSON body, within its limits of size and time.
func (s *Server) readBody(w *response, r *http.Request) ([]byte, error) {
	return s.readBodyOf(w, r, s.opts.Limits.BodyBytes)
}

// readBodyOf reads a JSON body of a size of its own.
func (s *Server) readBodyOf(w *response, r *http.Request, most int64) ([]byte, error) {
	if err := checkContentType(r); err != nil {
		return nil, err
	}
	if r.ContentLength > most {
		return nil, tooLarge(most)
	}
	return s.readAll(w, http.MaxBytesReader(w.ResponseWriter, r.Body, most), most)
}

// readAll reads a body of a bound, and words what is wrong with it.
func (s *Server) readAll(w *response, from io.Reader, most int64) ([]byte, error) {
	body, err := io.ReadAll(from)
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return nil, tooLarge(most)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return nil, bodyTimeout(s.opts.Limits.BodyTimeout)
	case err != nil:
		return nil, malformed("it did not arrive whole")
	}
	// From here on a read deadline would look like a client that left.
	_ = w.rc.SetReadDeadline(time.Time{})
	return body, nil
}

// errLargeBodies refuses a body that is larger than most, since others are being heard.
var errLargeBodies = &Error{Status: http.StatusTooManyRequests, Type: typeRateLimit, Code: "queue_full",
	Message: "body: too many recordings are being heard", RetryAfter: retryAfter}

func bodyTimeout(most time.Duration) error {
	return &Error{Status: http.StatusRequestTimeout, Type: typeInvalid, Code: "body_timeout", Message: "body: it did not arrive within " + most.String()}
}

func tooLarge(most int64) error {
	return &Error{Status: http.StatusRequestEntityTooLarge, Type: typeInvalid, Code: "body_too_large",
		Message: "body: over " + plural(most, "byte") + ", the most allowed"}
}

// checkContentType wants JSON, and says so: forms of pages of others need no leave to
// be sent, JSON does.
func checkContentType(r *http.Request) error {
	unsupported := func(message string) error {
		return &Error{Status: http.StatusUnsupportedMediaType, Type: typeInvalid, Code: "unsupported_media_type", Message: message}
	}
	if coding := r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return unsupported("content encoding " + quoted(coding) + ", allowed is none")
	}
	given := r.Header.Get("Content-Type")
	kind, params, err := mime.ParseMediaType(given)
	if err != nil || kind != "application/json" {
		return unsupported("content type " + quoted(given) + ", allowed is application/json")
	}
	if charset := params["charset"]; charset != "" && !strings.EqualFold(charset, "utf-8") {
		return unsupported("charset " + quoted(charset) + ", allowed is utf-8")
	}
	return nil
}

// member is one key of a JSON object with its value as it was written.
type member struct {
	name  string
	value json.RawMessage
}

// members reads one JSON object, strictly: UTF-8 throughout, no key twice, nothing
// behind it.
func members(body []byte) ([]member, *Error) {
	switch {
	case len(bytes.TrimSpace(body)) == 0:
		return nil, malformed("it is empty, wanted a JSON object")
	case bytes.HasPrefix(body, []byte("\uFEFF")):
		return nil, malformed("it begins with a byte order mark, wanted a JSON object")
	case !utf8.Valid(body):
		return nil, malformed("byte %d is not UTF-8", invalidAt(body))
	case bytes.TrimSpace(body)[0] != '{':
		return nil, malformed("wanted a JSON object, got %s", kindOf(body))
	}
	dec := json.NewDecoder(bytes.NewReader(body))
	if _, err := dec.Token(); err != nil {
		return nil, notJSON(err, dec)
	}
	var all []member
	seen := map[string]bool{}
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return nil, notJSON(err, dec)
		}
		m := member{name: key.(string)} // the decoder takes nothing else there
		if err := dec.Decode(&m.value); err != nil {
			return nil, notJSON(err, dec)
		}
		if seen[m.name] {
			return nil, malformed("%s is there twice", quoted(m.name))
		}
		seen[m.name] = true
		all = append(all, m)
	}
	if _, err := dec.Token(); err != nil {
		return nil, notJSON(err, dec)
	}
	if rest := bytes.TrimSpace(body[dec.InputOffset():]); len(rest) > 0 {
		return nil, malformed("something follows the JSON object at byte %d", int(dec.InputOffset()))
	}
	return all, nil
}

// notJSON words what the decoder says.
func notJSON(err error, dec *json.Decoder) *Error {
	var syntax *json.SyntaxError
	switch {
	case errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return malformed("this is not JSON: it ends too early")
	case errors.As(err, &syntax):
		return malformed("this is not JSON: near byte %d: %s", max(syntax.Offset, dec.InputOffset()), printable(syntax.Error()))
	}
	return malformed("this is not JSON near byte %d", dec.InputOffset())
}

func invalidAt(b []byte) int {
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(b)
}

// kindOf names what a JSON value is.
func kindOf(value []byte) string {
	value = bytes.TrimSpace(value)
	if len(value) == 0 {
		return "nothing"
	}
	switch value[0] {
	case '"':
		return "text"
	case '{':
		return "an object"
	case '[':
		return "a list"
	case 't', 'f':
		return "true or false"
	case 'n':
		return "null"
	}
	return "a number"
}
