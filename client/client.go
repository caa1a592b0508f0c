package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client speaks through one server. Its fields are set before its first use; it may be
// used by several goroutines.
type Client struct {
	// BaseURL is where the server is, such as http://127.0.0.1:8080, with a path if it is
	// behind one; HOST:PORT alone is http. A /v1 at its end, as other clients want it, is
	// left out.
	BaseURL string

	// Key is an API key, for servers that have keys.
	Key string

	// HTTPClient sends requests; http.DefaultClient if nil. Its time limit would be for
	// answers as a whole, so it should have none. WebSockets use its transport's proxy, TLS
	// configuration and dialer, if that is an *http.Transport.
	HTTPClient *http.Client

	// Retries is how often a request that a server is too busy for is sent again: 3 if 0,
	// never if negative.
	Retries int

	// OnRetry, if not nil, is told before each wait of a request that is sent again: what
	// the server said, and how long the wait is.
	OnRetry func(refusal *Error, wait time.Duration)

	// AnswerTimeout is how long a server may take until the first byte of its answer, each
	// time that it is asked: 5 minutes (DefaultAnswerTimeout) if 0, without a bound if
	// negative. A text that waits in a server's queue is answered when its audio begins, a
	// stream when the server has taken its settings.
	AnswerTimeout time.Duration
}

// DefaultAnswerTimeout is the AnswerTimeout of clients that have none.
const DefaultAnswerTimeout = 5 * time.Minute

const (
	defaultRetries = 3

	// longestWait bounds the wait that a server asks for.
	longestWait = 30 * time.Second

	// errorBytes is how much of the body of an error is read.
	errorBytes = 1 << 20

	// plainErrorBytes is the longest line of an error in plain text that is shown.
	plainErrorBytes = 200

	// mostRetrySeconds bounds what is read as a wait: a year.
	mostRetrySeconds = 365 * 24 * 3600

	// listBytes is how much of a list is read.
	listBytes = 16 << 20
)

// ErrBaseURL says that a Client's BaseURL is none.
var ErrBaseURL = errors.New("this is no address of a server")

// endpoint is the address of a path of the API.
func (c *Client) endpoint(path string) (*url.URL, error) {
	base := c.BaseURL
	if scheme, _, _ := strings.Cut(base, ":"); scheme != "http" && scheme != "https" && !strings.Contains(base, "://") {
		base = "http://" + base // HOST:PORT, which a URL takes for a scheme
	}
	u, err := url.Parse(base)
	if err != nil || (u.Scheme != "http" && u.Scheme != "https") || u.Host == "" {
		shown := c.BaseURL[strings.LastIndexByte(c.BaseURL, '@')+1:] // without a password
		return nil, fmt.Errorf("client: %w: %q, wanted one such as http://127.0.0.1:8080", ErrBaseURL, shown)
	}
	prefix := strings.TrimSuffix(strings.TrimRight(u.Path, "/"), "/v1")
	return &url.URL{Scheme: u.Scheme, User: u.User, Host: u.Host, Path: prefix + path}, nil
}

func (c *Client) httpClient() *http.Client {
	if c.HTTPClient != nil {
		return c.HTTPClient
	}
	return http.DefaultClient
}

// do sends a request until it is answered well. Nothing of its answer was read then. A body
// is JSON, or nil for none.
func (c *Client) do(ctx context.Context, method, path string, body []byte) (answer *http.Response, err error) {
	err = c.again(ctx, func() (err error) {
		answer, err = c.once(ctx, method, path, body)
		return err
	})
	return answer, err
}

// again asks a server, and after a while once more if it is too busy.
func (c *Client) again(ctx context.Context, ask func() error) error {
	retries := c.Retries
	if retries == 0 {
		retries = defaultRetries
	}
	for {
		err := ask()
		var refusal *Error
		if err == nil || !errors.As(err, &refusal) || !refusal.Busy() || retries <= 0 {
			return err
		}
		retries--
		pause := min(refusal.RetryAfter, longestWait)
		if c.OnRetry != nil {
			c.OnRetry(refusal, pause)
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return fmt.Errorf("client: %w while waiting: %w", context.Cause(ctx), refusal)
		}
	}
}

// ErrNoAnswer says that a server did not answer within the AnswerTimeout.
var ErrNoAnswer = errors.New("no answer")

// patience is the AnswerTimeout as it counts; 0 is none.
func (c *Client) patience() time.Duration {
	if c.AnswerTimeout == 0 {
		return DefaultAnswerTimeout
	}
	return max(c.AnswerTimeout, 0)
}

// noAnswer is the error of a server that does not answer.
func noAnswer(within time.Duration) error { return fmt.Errorf("%w within %v", ErrNoAnswer, within) }

// answered is the body of an answer; closing it ends its request.
type answered struct {
	io.ReadCloser
	end context.CancelCauseFunc
}

func (a answered) Close() error {
	defer a.end(nil)
	return a.ReadCloser.Close()
}

// asking is a context for asking a server once, and what ends it. It ends with ErrNoAnswer
// by itself unless answered is called before.
func (c *Client) asking(ctx context.Context) (asking context.Context, end context.CancelCauseFunc, answered func()) {
	asking, end = context.WithCancelCause(ctx)
	patience := c.patience()
	if patience == 0 {
		return asking, end, func() {}
	}
	timer := time.AfterFunc(patience, func() { end(noAnswer(patience)) })
	return asking, end, func() { timer.Stop() }
}

// send sends a request, and gives up a server that does not answer.
func (c *Client) send(request *http.Request) (*http.Response, error) {
	ctx, end, begun := c.asking(request.Context())
	defer begun()
	answer, err := c.httpClient().Do(request.WithContext(ctx))
	if cause := context.Cause(ctx); errors.Is(cause, ErrNoAnswer) { // also if the answer began just then
		if err == nil {
			answer.Body.Close()
		}
		err = cause
	}
	if err != nil {
		end(nil)
		return nil, err
	}
	answer.Body = answered{answer.Body, end}
	return answer, nil
}

// once sends a request once. An answer other than 200 is an *Error.
func (c *Client) once(ctx context.Context, method, path string, body []byte) (*http.Response, error) {
	u, err := c.endpoint(path)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, method, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("client: %w", err)
	}
	if body != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	c.authorize(request.Header)
	answer, err := c.send(request)
	if err != nil {
		var wrapped *url.Error
		if errors.As(err, &wrapped) { // which would show the address with its password
			err = wrapped.Err
		}
		return nil, fmt.Errorf("client: %s: %w", u.Host, err)
	}
	last := answer.Request
	switch {
	case last != nil && last.Method != method: // what 301 to 303 make of a POST
		answer.Body.Close()
		return nil, fmt.Errorf("client: %s sends to %s://%s: that is the address to give", u.Host, last.URL.Scheme, last.URL.Host)
	case answer.StatusCode == http.StatusOK:
		return answer, nil
	}
	defer answer.Body.Close()
	return nil, readError(answer)
}

func (c *Client) authorize(h http.Header) {
	if c.Key != "" {
		h.Set("Authorization", "Bearer "+c.Key)
	}
}

// get reads a JSON document of the server.
func (c *Client) get(ctx context.Context, path string, to any) error {
	answer, err := c.do(ctx, http.MethodGet, path, nil)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	data, err := io.ReadAll(io.LimitReader(answer.Body, listBytes))
	if err == nil {
		err = json.Unmarshal(data, to)
	}
	if err != nil {
		return fmt.Errorf("client: %s: %w", path, err)
	}
	return nil
}

// Error is what a server says of a request that it refuses, or that failed.
type Error struct {
	Status     int           // of HTTP; 0 over a WebSocket
	Message    string        // one line for people
	Type       string        // such as "invalid_request_error"
	Code       string        // for programs, such as "voice_not_found"
	Param      string        // the field that is to blame, or ""
	RetryAfter time.Duration // the wait that the server asks for; 0 if none
	RequestID  string        // by which the server's log names the request, or ""
	Fatal      bool          // over a WebSocket: the connection ends
}

func (e *Error) Error() string {
	if e.Status == 0 {
		return "server: " + e.Message
	}
	return fmt.Sprintf("server: %s (%d)", e.Message, e.Status)
}

// Busy tells whether the server may take the same request later.
func (e *Error) Busy() bool {
	return (e.Status == http.StatusTooManyRequests || e.Status == http.StatusServiceUnavailable) && e.RetryAfter > 0
}

// errorBody is an error's form in all protocols of the server.
type errorBody struct {
	Message string `json:"message"`
	Type    string `json:"type"`
	Code    string `json:"code"`
	Param   string `json:"param"`
}

// readError reads the answer to a request that was refused, by the server or by a proxy
// before it.
func readError(answer *http.Response) error {
	e := &Error{Status: answer.StatusCode, Code: "unknown", RequestID: answer.Header.Get("X-Request-Id")}
	if n, err := strconv.Atoi(answer.Header.Get("Retry-After")); err == nil && n >= 0 {
		e.RetryAfter = max(time.Duration(min(n, mostRetrySeconds))*time.Second, time.Millisecond)
	}
	data, _ := io.ReadAll(io.LimitReader(answer.Body, errorBytes))
	var body struct{ Error *errorBody }
	if json.Unmarshal(data, &body) == nil && body.Error != nil && body.Error.Message != "" {
		e.Message, e.Type, e.Code, e.Param = body.Error.Message, body.Error.Type, body.Error.Code, body.Error.Param
		return e
	}
	e.Message = answer.Status
	line, _, _ := strings.Cut(strings.TrimSpace(string(data)), "\n")
	if line = strings.TrimSpace(line); line != "" && len(line) <= plainErrorBytes && line[0] != '<' && line[0] != '{' {
		e.Message += ": " + line // such as that a server of HTTPS was asked without
	}
	return e
}
