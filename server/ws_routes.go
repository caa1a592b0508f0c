package server

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/gorilla/websocket"
)

// socketRoutes are the routes of WebSockets.
func (s *Server) socketRoutes() []route {
	return []route{{"GET", "/v1/audio/speech/stream", false, s.speechSocket}}
}

// upgrader leaves answers to requests that are no proper upgrades to speechSocket.
// Origin, Host and key were checked before.
var upgrader = websocket.Upgrader{
	ReadBufferSize: 4096, WriteBufferSize: 4096, HandshakeTimeout: DefaultWriteTimeout,
	CheckOrigin: func(*http.Request) bool { return true },
	Error:       func(http.ResponseWriter, *http.Request, int, error) {},
}

// speechSocket answers GET /v1/audio/speech/stream: text in pieces, spoken as it comes.
// docs/websocket.md describes the messages.
func (s *Server) speechSocket(w *response, r *http.Request) error {
	return s.upgrade(w, r, func(ctx context.Context, engine Engine, conn *websocket.Conn) error {
		return s.newSession(ctx, engine, conn, info(r)).run()
	})
}

// upgrade makes a WebSocket of a request, and has it served.
func (s *Server) upgrade(w *response, r *http.Request, serve func(ctx context.Context, engine Engine, conn *websocket.Conn) error) error {
	if !websocket.IsWebSocketUpgrade(r) {
		return noUpgrade("this path is for WebSockets (Connection: Upgrade, Upgrade: websocket)")
	}
	engine, release, err := s.beginSocket()
	if err != nil {
		return err
	}
	defer release()
	header := http.Header{"X-Request-Id": {info(r).id}}
	if name := subprotocol(r); name != "" {
		header.Set("Sec-WebSocket-Protocol", name)
	}
	conn, err := upgrader.Upgrade(w, r, header)
	switch {
	case err != nil && w.hijacked:
		return errClientGone
	case err != nil:
		return noUpgrade(strings.TrimPrefix(err.Error(), "websocket: "))
	}
	ctx, cancel := s.work(r.Context())
	defer cancel()
	return serve(ctx, engine, conn)
}

func noUpgrade(message string) *Error {
	return &Error{Status: http.StatusBadRequest, Type: typeInvalid, Code: "websocket_expected", Message: message}
}

// subprotocol chooses one of those that a client offers: browsers close a connection
// for which none was chosen. One that carries a key is never sent back.
func subprotocol(r *http.Request) string {
	for _, name := range websocket.Subprotocols(r) {
		if !strings.HasPrefix(name, subprotocolKey) && !strings.ContainsFunc(name, notOfID) {
			return name
		}
	}
	return ""
}

// Ways in which a connection ends.
var (
	closedByClient = ending{code: websocket.CloseNormalClosure, reason: "session_closed"}
	closedDraining = ending{code: websocket.CloseGoingAway, reason: "shutting_down", message: errDraining.Message}
	closedIdle     = ending{code: websocket.ClosePolicyViolation, reason: "idle_timeout", message: "no message for too long", drop: true}
	closedMistakes = ending{code: websocket.ClosePolicyViolation, reason: "too_many_errors", message: "too many messages were refused", drop: true}
	closedTooBig   = ending{code: websocket.CloseMessageTooBig, reason: "message_too_large", drop: true}
	closedPanic    = ending{code: websocket.CloseInternalServerErr, reason: "internal_error", message: "internal error", drop: true}
	closedSilent   = ending{code: websocket.ClosePolicyViolation, reason: "ping_timeout", message: "nothing came for too long, not even answers to pings", drop: true, err: errClientGone}
	closedGone     = ending{code: websocket.CloseAbnormalClosure, reason: "client_gone", drop: true, err: errClientGone}
)

// ending is why and how a connection is closed.
type ending struct {
	code    int
	reason  string // typed, also the code of the last event
	message string // of the last event, none if empty
	drop    bool   // what waits to be sent is not sent any more
	err     error  // for the log
}

// closedSlow is the end of a client that reads too slowly.
func closedSlow(reason slowReason) ending {
	return ending{code: websocket.ClosePolicyViolation, reason: "slow_client: " + string(reason), drop: true, err: &slowError{reason}}
}

// closedAnswer is the end that a client has begun.
func closedAnswer(e *websocket.CloseError) ending {
	code := e.Code
	if code == websocket.CloseNoStatusReceived {
		code = websocket.CloseNormalClosure
	}
	return ending{code: code, reason: "closed_by_client", drop: true}
}

// asSlow returns the reason for which a client was too slow.
func asSlow(err error) (reason slowReason, ok bool) {
	var slow *slowError
	if errors.As(err, &slow) {
		return slow.reason, true
	}
	return "", false
}
