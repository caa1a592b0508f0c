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
	"time"
	"unicode/utf8"
)

// takeBody reads a JSON body, and admits the work that it asks for: unless the server
// does not take any, which is told before the body is read.
func (s *Server) takeBody(w *response, r *http.Request) (body []byte, engine Engine, release func(), err error) {
	if err := s.admits(); err != nil {
		return nil, nil, nil, err
	}
	if body, err = s.readBody(w, r); err != nil {
		return nil, nil, nil, err
	}
	engine, release, err = s.begin()
	return body, engine, release, err
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
	body, err := io.ReadAll(http.MaxBytesReader(w.ResponseWriter, r.Body, most))
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
