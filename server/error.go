package server

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"runtime/debug"
	"strconv"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

// Error is a refusal or a failure as a client sees it: a status and OpenAI's
// envelope. Err is for the log alone.
type Error struct {
	Status     int
	Message    string // one line, in lower case, that names the field, the value and what is allowed
	Type       string // "invalid_request_error" and the like
	Param      string // the field that is to blame, or ""
	Code       string // for programs, or ""
	RetryAfter time.Duration
	Allow      string // the methods that a path takes, with 405
	Err        error
}

func (e *Error) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("%s: %v", e.Message, e.Err)
	}
	return e.Message
}

func (e *Error) Unwrap() error { return e.Err }

// The types of errors.
const (
	typeInvalid    = "invalid_request_error"
	typeAuth       = "authentication_error"
	typePermission = "permission_error"
	typeRateLimit  = "rate_limit_error"
	typeServer     = "server_error"
)

// envelope is the body of an Error.
type envelope struct {
	Error errorBody `json:"error"`
}

type errorBody struct {
	Message string  `json:"message"`
	Type    string  `json:"type"`
	Param   *string `json:"param"` // null if there is none
	Code    *string `json:"code"`
}

// body is what a client sees, in all protocols.
func (e *Error) body() errorBody {
	b := errorBody{Message: e.Message, Type: e.Type}
	if e.Param != "" {
		b.Param = &e.Param
	}
	if e.Code != "" {
		b.Code = &e.Code
	}
	return b
}

// invalid refuses the value of a field with 400.
func invalid(param, format string, args ...any) *Error {
	return &Error{
		Status: http.StatusBadRequest, Type: typeInvalid, Param: param, Code: "invalid_value",
		Message: param + ": " + fmt.Sprintf(format, args...),
	}
}

// malformed refuses a body that cannot be read as what it shall be.
func malformed(format string, args ...any) *Error {
	return &Error{
		Status: http.StatusBadRequest, Type: typeInvalid, Code: "invalid_body",
		Message: "body: " + fmt.Sprintf(format, args...),
	}
}

// unavailable is a 503 that says to come back.
func unavailable(code, message string) *Error {
	return &Error{Status: http.StatusServiceUnavailable, Type: typeServer, Code: code, Message: message, RetryAfter: retryAfter}
}

// Refusals that say the same each time.
var (
	errLoading  = unavailable("loading", "the model is being loaded")
	errDraining = unavailable("shutting_down", "the server is shutting down")
	errSockets  = unavailable("too_many_websockets", "too many WebSockets are open")
	errRequests = unavailable("too_many_connections", "as many requests are open as connections may be")
	errQueue    = &Error{Status: http.StatusTooManyRequests, Type: typeRateLimit, Code: "queue_full",
		Message: "all places are taken and the queue is full", RetryAfter: retryAfter}
)

// recovered makes an error of a panic, with where it was for the log. It is to be deferred.
func recovered(err *error) {
	if problem := recover(); problem != nil {
		*err = fmt.Errorf("panic: %v\n%s", problem, debug.Stack())
	}
}

// errClientGone ends a request whose client went away: there is nobody to tell.
var errClientGone = errors.New("the client went away")

// asError makes an Error of any error: of the engine's refusals what they say, of the
// rest a 500 without detail.
func asError(err error) *Error {
	var e *Error
	var request *synth.RequestError
	switch {
	case errors.As(err, &e):
		return e
	case errors.As(err, &request):
		return requestError(request)
	case errors.Is(err, synth.ErrBusy):
		return errQueue
	case errors.Is(err, synth.ErrDraining), errors.Is(err, synth.ErrClosed):
		return errDraining
	}
	return &Error{Status: http.StatusInternalServerError, Type: typeServer, Code: "internal_error", Message: "internal error", Err: err}
}

// apiNames are the names of the engine's parameters in the API, where they differ.
var apiNames = map[string]string{"reference": "ref_audio", "max_frames": "max_new_tokens", "layout": "non_streaming_mode"}

// requestError puts an engine's refusal into the API's words.
func requestError(r *synth.RequestError) *Error {
	param := r.Param
	if name, ok := apiNames[param]; ok {
		param = name
	}
	return invalid(param, "%s", r.Message)
}

// writeError answers with an error. Headers of the answer that was being made are
// taken back.
func writeError(w http.ResponseWriter, e *Error) { writeErrorBody(w, e, envelope{e.body()}) }

// writeErrorBody is writeError with a body in another form.
func writeErrorBody(w http.ResponseWriter, e *Error, body any) {
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "ETag", "Last-Modified", "Trailer"} {
		h.Del(name)
	}
	h.Set("Cache-Control", "no-store")
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.Itoa(seconds(e.RetryAfter)))
	}
	if e.Allow != "" {
		h.Set("Allow", e.Allow)
	}
	if e.Status == http.StatusUnauthorized {
		h.Set("WWW-Authenticate", `Bearer realm="mynah"`)
	}
	writeJSON(w, e.Status, body)
}

// writeJSON answers with a small JSON document.
func writeJSON(w http.ResponseWriter, status int, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	data = append(data, '\n')
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Content-Length", strconv.Itoa(len(data)))
	w.WriteHeader(status)
	_, err = w.Write(data)
	return err
}
