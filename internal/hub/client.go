package hub

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync/atomic"
	"time"
)

// client speaks to a hub.
type client struct {
	settings Settings
	agent    string
	http     *http.Client
	stall    time.Duration
	sleep    func(context.Context, time.Duration) error // replaced by tests
	note     func(string)
}

func newClient(s Settings, o Options) *client {
	c := &client{settings: s, agent: "mynah", stall: Stall, sleep: sleep, note: func(string) {}}
	if o.Agent != "" {
		c.agent = o.Agent
	}
	if o.Note != nil {
		c.note = o.Note
	}
	t := &http.Transport{
		Proxy:              http.ProxyFromEnvironment,
		DialContext:        (&net.Dialer{Timeout: 20 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
		ForceAttemptHTTP2:  true,
		DisableCompression: true, // lengths and ranges are those of the file
		IdleConnTimeout:    30 * time.Second, TLSHandshakeTimeout: 20 * time.Second,
		MaxIdleConnsPerHost: MaxConnections, MaxResponseHeaderBytes: 256 << 10,
	}
	// Redirects are followed by hand: headers of each count, and the token must not go along.
	c.http = &http.Client{Transport: t, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	return c
}

func (c *client) close() { c.http.CloseIdleConnections() }

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// errStalled is the cause of a request that was given up.
type errStalled time.Duration

func (e errStalled) Error() string { return fmt.Sprintf("nothing came for %v", time.Duration(e)) }

// answer is what a request came to at the end of its redirects. Its body must be closed.
type answer struct {
	*http.Response
	host     string // that answered
	identity string // the file's ETag as the hub has it, without quotes; "" if it named none
	size     int64  // the file's size as the hub has it, -1 if it named none
	commit   string // that the hub answered from, "" if it did not say
	watch    *watchdog
}

// watchdog ends a request that stalls.
type watchdog struct {
	timer  *time.Timer
	stall  time.Duration
	cancel context.CancelCauseFunc
	fired  atomic.Bool
}

func (w *watchdog) kick() { w.timer.Reset(w.stall) }

func (w *watchdog) stop() {
	w.timer.Stop()
	w.cancel(context.Canceled)
}

// Read reads the body; it fails when nothing comes for too long.
func (a *answer) Read(p []byte) (int, error) {
	a.watch.kick()
	n, err := a.Body.Read(p)
	a.watch.timer.Stop() // what is done with the bytes may take its time
	return n, a.watch.explain(err)
}

// explain says that a stall was one.
func (w *watchdog) explain(err error) error {
	if err != nil && !errors.Is(err, io.EOF) && w.fired.Load() {
		return errStalled(w.stall)
	}
	return err
}

func (a *answer) close() {
	a.watch.stop()
	a.Body.Close()
}

// open sends one request and follows its redirects. An answer that is no success is a
// *statusError.
func (c *client) open(ctx context.Context, method string, target *url.URL, header http.Header) (*answer, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	w := &watchdog{stall: c.stall, cancel: cancel}
	w.timer = time.AfterFunc(c.stall, func() { w.fired.Store(true); cancel(errStalled(c.stall)) })
	a := &answer{size: -1, watch: w}
	err := c.follow(ctx, a, method, target, header)
	if err != nil {
		w.stop()
		return nil, w.explain(err)
	}
	return a, nil
}

func (c *client) follow(ctx context.Context, a *answer, method string, target *url.URL, header http.Header) error {
	for range maxHops + 1 {
		req, err := http.NewRequestWithContext(ctx, method, target.String(), nil)
		if err != nil {
			return fmt.Errorf("%s: no address that can be asked", target.Host)
		}
		req.Header = header.Clone()
		req.Header.Set("User-Agent", c.agent)
		req.Header.Set("Accept-Encoding", "identity")
		own := c.isOwn(target)
		if own && c.settings.Token != "" {
			req.Header.Set("Authorization", "Bearer "+c.settings.Token)
		}
		resp, err := c.http.Do(req)
		if err != nil {
			return withoutURL(target, err)
		}
		a.watch.kick()
		if own {
			a.learn(resp.Header)
		}
		if !isRedirect(resp.StatusCode) {
			a.Response, a.host = resp, target.Host
			return c.judge(a, target)
		}
		resp.Body.Close()
		if target, err = next(target, resp); err != nil {
			return err
		}
	}
	return permanent(fmt.Errorf("%s: redirected more than %d times", target.Host, maxHops))
}

// isOwn reports whether an address is the endpoint's, which alone gets the token and is
// believed about the file.
func (c *client) isOwn(u *url.URL) bool {
	e := c.settings.Endpoint
	return u.Scheme == e.Scheme && strings.EqualFold(u.Host, e.Host)
}

// learn takes what the hub says of a file; the first that says it counts.
func (a *answer) learn(h http.Header) {
	if a.identity == "" {
		tag := h.Get("X-Linked-Etag")
		if tag == "" {
			tag = h.Get("Etag")
		}
		a.identity = strings.Trim(strings.TrimPrefix(tag, "W/"), `"`)
	}
	if a.size < 0 {
		if n, ok := parseSize(h.Get("X-Linked-Size")); ok {
			a.size = n
		}
	}
	if a.commit == "" {
		a.commit = h.Get("X-Repo-Commit")
	}
}

func isRedirect(code int) bool {
	switch code {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return true
	}
	return false
}

// next is where a redirect leads.
func next(from *url.URL, resp *http.Response) (*url.URL, error) {
	to, err := from.Parse(resp.Header.Get("Location"))
	switch {
	case err != nil || resp.Header.Get("Location") == "" || to.Host == "" || to.Scheme != "http" && to.Scheme != "https":
		return nil, permanent(fmt.Errorf("%s: redirects to no address", from.Host))
	case from.Scheme == "https" && to.Scheme == "http":
		return nil, permanent(fmt.Errorf("%s: redirects from https to http at %s, which is refused", from.Host, to.Host))
	}
	to.User, to.Fragment = nil, ""
	return to, nil
}

// withoutURL words a failed request without its address, whose query may be a signature.
func withoutURL(target *url.URL, err error) error {
	var u *url.Error
	if errors.As(err, &u) {
		err = u.Err
	}
	var dns *net.DNSError
	var op *net.OpError
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Errorf("%s: the name is not known", target.Hostname())
	case errors.As(err, &op) && op.Op == "dial":
		return fmt.Errorf("%s: cannot be reached: %w", target.Host, op.Err)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("%s: the connection was cut", target.Host)
	}
	return fmt.Errorf("%s: %w", target.Host, err)
}

// judge passes a success on and makes an error of all else.
func (c *client) judge(a *answer, target *url.URL) error {
	if a.StatusCode == http.StatusOK || a.StatusCode == http.StatusPartialContent {
		if e := a.Header.Get("Content-Encoding"); e != "" && e != "identity" {
			a.Body.Close()
			return permanent(fmt.Errorf("%s: answers in the encoding %.40q, which was not asked for", target.Host, e))
		}
		return nil
	}
	defer a.Body.Close()
	return &statusError{
		status: a.StatusCode, host: target.Host, code: a.Header.Get("X-Error-Code"), message: clip(a.Header.Get("X-Error-Message")),
		own: c.isOwn(target), after: retryAfter(a.Header.Get("Retry-After"), time.Now()),
	}
}

// clip bounds a server's sentence.
func clip(s string) string {
	const most = 200
	if r := []rune(strings.ToValidUTF8(s, "\uFFFD")); len(r) > most {
		return string(r[:most]) + "…"
	}
	return strings.ToValidUTF8(s, "\uFFFD")
}
