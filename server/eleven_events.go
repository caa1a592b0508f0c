package server

import (
	"encoding/base64"
	"encoding/json"
	"net/http"
	"strconv"

	"github.com/gorilla/websocket"
)

// elevenFinal tells that all of a text was spoken.
type elevenFinal struct {
	Audio               *string `json:"audio"` // null
	IsFinal             bool    `json:"isFinal"`
	NormalizedAlignment *string `json:"normalizedAlignment"`
	Alignment           *string `json:"alignment"`
	ContextID           *string `json:"contextId,omitempty"`
}

// elevenProblem tells of a failure. It is fatal unless it names a context.
type elevenProblem struct {
	Message   string  `json:"message"`
	Error     string  `json:"error"` // the code of docs/api.md, or one of docs/bridges.md
	Code      int     `json:"code"`  // as if the socket were closed by it
	Param     *string `json:"param,omitempty"`
	ContextID *string `json:"contextId,omitempty"`
}

// problem words an error for a context's client; for the socket's if there is none.
func (x *elevenContext) problem(e *Error) elevenProblem {
	p := elevenProblemOf(e)
	p.ContextID = x.contextID()
	return p
}

func elevenProblemOf(e *Error) elevenProblem {
	body := e.body()
	p := elevenProblem{Message: body.Message, Error: e.Code, Code: websocket.ClosePolicyViolation, Param: body.Param}
	if p.Error == "" {
		p.Error = body.Type
	}
	if e.Status >= http.StatusInternalServerError {
		p.Code = websocket.CloseInternalServerErr
	}
	if e.Code == errDraining.Code {
		p.Code = websocket.CloseGoingAway
	}
	return p
}

// closedBy is the end of a connection because of an error.
func closedBy(e *Error) ending {
	p := elevenProblemOf(e)
	return ending{code: p.Code, reason: p.Error, message: p.Message}
}

// appendElevenAudio appends the message that carries audio.
func appendElevenAudio(dst, audio []byte, contextID *string) []byte {
	dst = append(dst, `{"audio":"`...)
	dst = base64.StdEncoding.AppendEncode(dst, audio)
	dst = append(dst, `","isFinal":null,"normalizedAlignment":null,"alignment":null`...)
	if contextID != nil {
		id, _ := json.Marshal(*contextID) // a string has a form in JSON
		dst = append(append(dst, `,"contextId":`...), id...)
	}
	return append(dst, '}')
}

// Failures that ElevenLabs has names for.
var (
	errElevenTimeout = &Error{Status: http.StatusBadRequest, Type: typeInvalid, Code: "input_timeout_exceeded",
		Message: "no text came within inactivity_timeout; what came before was spoken"}
	errElevenDropped = &Error{Status: http.StatusBadRequest, Type: typeInvalid, Code: "context_closed",
		Message: "the context was closed before its text was flushed; what was left was not spoken"}
)

// errTruncated is the end of audio that was cut, where there is no finish reason to tell it.
var errTruncated = &Error{Status: http.StatusInternalServerError, Type: typeServer, Code: "audio_truncated",
	Message: "the audio was cut before the text had ended"}

// tooManyContexts refuses another context.
func tooManyContexts(n int, what string) *Error {
	return &Error{Status: http.StatusTooManyRequests, Type: typeRateLimit, Code: "max_active_conversations",
		Message: strconv.Itoa(n) + " contexts " + what}
}
