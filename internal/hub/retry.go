package hub

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// statusError is an answer that is no success.
type statusError struct {
	status  int
	host    string
	code    string // X-Error-Code
	message string // X-Error-Message
	own     bool   // it is the endpoint's own
	after   time.Duration
}

func (e *statusError) Error() string {
	s := fmt.Sprintf("%s: answers %d %s", e.host, e.status, http.StatusText(e.status))
	if e.message != "" {
		s += ": " + e.message
	}
	return s
}

// passes reports whether the same request may succeed later. A signed address of another
// host may have expired: the hub gives a new one.
func (e *statusError) passes() bool {
	switch e.status {
	case http.StatusRequestTimeout, http.StatusTooEarly, http.StatusTooManyRequests,
		http.StatusInternalServerError, http.StatusBadGateway, http.StatusServiceUnavailable, http.StatusGatewayTimeout:
		return true
	case http.StatusUnauthorized, http.StatusForbidden, http.StatusGone:
		return !e.own
	}
	return false
}

// permanentError is a failure that no second attempt changes.
type permanentError struct{ error }

func (e permanentError) Unwrap() error { return e.error }

func permanent(err error) error { return permanentError{err} }

// mayPass reports whether a request that failed is worth another attempt.
func mayPass(err error) bool {
	var status *statusError
	if errors.As(err, &status) {
		return status.passes()
	}
	var fixed permanentError
	var odd *inconsistentError
	return !errors.As(err, &fixed) && !errors.As(err, &odd)
}

// attempts counts failures in a row.
type attempts struct {
	client *client
	what   string // for notes
	failed int
}

// again waits before the next attempt after a failure, or returns the failure if there is to
// be none.
func (a *attempts) again(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if !mayPass(err) {
		return err
	}
	a.failed++
	if a.failed >= maxAttempts {
		return fmt.Errorf("%w; tried %d times", err, a.failed)
	}
	wait := backoff(a.failed)
	var status *statusError
	if errors.As(err, &status) && status.after > 0 {
		if status.after > maxRetryAfter {
			return fmt.Errorf("%w; it asks to wait %v", err, status.after.Round(time.Second))
		}
		wait = max(wait, status.after)
	}
	a.client.note(fmt.Sprintf("%s: %v; trying again in %v", a.what, err, wait.Round(100*time.Millisecond)))
	return a.client.sleep(ctx, wait)
}

// backoff is the time before the next attempt: it doubles, and differs so that many who
// failed together do not come back together.
func backoff(failed int) time.Duration {
	d := min(longestWait, firstBackoff<<min(failed-1, 10))
	return d/2 + rand.N(d/2)
}

// retryAfter reads the header: seconds, or a date.
func retryAfter(s string, now time.Time) time.Duration {
	s = strings.TrimSpace(s)
	if seconds, err := strconv.ParseInt(s, 10, 32); err == nil {
		return time.Duration(max(0, seconds)) * time.Second
	}
	if date, err := http.ParseTime(s); err == nil {
		return max(0, date.Sub(now))
	}
	return 0
}

// parseSize reads a number of bytes.
func parseSize(s string) (int64, bool) {
	n, err := strconv.ParseInt(s, 10, 64)
	return n, err == nil && n >= 0
}
