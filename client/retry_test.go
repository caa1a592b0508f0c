package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// A busy server is asked again, as often as was agreed, and only if it names a time.
func TestRetries(t *testing.T) {
	for _, tc := range []struct {
		name    string
		status  int
		header  string
		retries int
		busy    int64 // answers before a good one
		calls   int64
		ok      bool
	}{
		{"queue", 429, "0", 0, 2, 3, true},
		{"loading", 503, "0", 0, 3, 4, true},
		{"too often", 429, "0", 0, 9, 4, false},
		{"once", 429, "0", 1, 9, 2, false},
		{"never", 429, "0", -1, 9, 1, false},
		{"without a time", 503, "", 0, 9, 1, false},
		{"a failure", 500, "0", 0, 9, 1, false},
		{"a refusal", 400, "0", 0, 9, 1, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var calls atomic.Int64
			c := answering(t, func(w http.ResponseWriter, r *http.Request) {
				body, _ := io.ReadAll(r.Body)
				if calls.Add(1); r.Method == "POST" && !strings.Contains(string(body), `"input":"a"`) {
					t.Errorf("body %q", body)
				}
				if calls.Load() <= tc.busy {
					if tc.header != "" {
						w.Header().Set("Retry-After", tc.header)
					}
					w.WriteHeader(tc.status)
					return
				}
				if r.Method == "GET" {
					takeStream(t, w, r)
				}
				w.Header().Set("X-Mynah-Seed", "1")
			})
			c.Retries = tc.retries
			told := int64(0)
			c.OnRetry = func(refusal *Error, wait time.Duration) {
				if told++; refusal.Status != tc.status || wait <= 0 {
					t.Errorf("told of %v, %v", refusal, wait)
				}
			}
			for name, ask := range map[string]func() (io.Closer, error){
				"a text":   func() (io.Closer, error) { return c.Speak(context.Background(), Request{Text: "a"}) },
				"a stream": func() (io.Closer, error) { return c.Stream(context.Background(), Request{}) },
			} {
				calls.Store(0)
				told = 0
				s, err := ask()
				if err == nil {
					s.Close()
				}
				var e *Error
				if (err == nil) != tc.ok || err != nil && (!errors.As(err, &e) || e.Status != tc.status) || calls.Load() != tc.calls || told != tc.calls-1 {
					t.Errorf("%s: %d calls, %v", name, calls.Load(), err)
				}
			}
		})
	}
	c := answering(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Retry-After", "20")
		w.WriteHeader(503)
	})
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	if _, err := c.Speak(ctx, Request{Text: "a"}); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	if s, err := c.Stream(ctx, Request{}); s != nil || !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

// transport answers requests without a network.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

// A server that does not begin to answer is given up; one that answers slowly is not.
func TestAnswerTimeout(t *testing.T) {
	silent := transport(func(r *http.Request) (*http.Response, error) {
		<-r.Context().Done()
		return nil, r.Context().Err()
	})
	for _, tc := range []struct{ set, want time.Duration }{{0, DefaultAnswerTimeout}, {20 * time.Second, 20 * time.Second}} {
		synctest.Test(t, func(t *testing.T) {
			c := &Client{BaseURL: "http://a", HTTPClient: &http.Client{Transport: silent}, AnswerTimeout: tc.set}
			began := time.Now()
			_, err := c.Speak(t.Context(), Request{Text: "a"})
			if !errors.Is(err, ErrNoAnswer) || err.Error() != "client: a: no answer within "+tc.want.String() || time.Since(began) != tc.want {
				t.Errorf("after %v: %v", time.Since(began), err)
			}
			if _, err := c.Voices(t.Context()); !errors.Is(err, ErrNoAnswer) {
				t.Error(err)
			}
		})
	}
	synctest.Test(t, func(t *testing.T) {
		c := &Client{BaseURL: "http://a", HTTPClient: &http.Client{Transport: silent}, AnswerTimeout: -1}
		ctx, cancel := context.WithTimeout(t.Context(), 24*time.Hour)
		defer cancel()
		if _, err := c.Speak(ctx, Request{Text: "a"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Error(err)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		c := &Client{BaseURL: "http://a", HTTPClient: &http.Client{Transport: transport(func(r *http.Request) (*http.Response, error) {
			from, to := io.Pipe()
			go func() {
				for range 10 {
					time.Sleep(time.Hour)
					_, _ = to.Write([]byte{1, 2})
				}
				to.CloseWithError(context.Cause(r.Context()))
			}()
			return &http.Response{StatusCode: 200, Header: http.Header{"X-Mynah-Seed": {"1"}}, Trailer: http.Header{"X-Mynah-Finish-Reason": {"stop"}}, Body: from, Request: r}, nil
		})}}
		s, err := c.Speak(t.Context(), Request{Text: "a"})
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		if data, err := io.ReadAll(s); len(data) != 20 || err != nil {
			t.Errorf("%d bytes, %v", len(data), err)
		}
	})
}
