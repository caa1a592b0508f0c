package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/mynah-tts/mynah/internal/osfile"
)

// Limits of what is kept on a server, so that a job that nobody goes on with does not stay.
const (
	// keepFor is how long orders, results and files are kept.
	keepFor = 7 * 24 * time.Hour

	// duplicateWindow is for how long an order that is published twice, because the server's
	// answer was lost, is known by its id.
	duplicateWindow = 2 * time.Minute
)

// Patience.
const (
	// callTime is how long one call of the server may take before it is tried again, and
	// then may take twice as long, up to mostCallTime: a server that has just started
	// swallows calls.
	callTime     = 2 * time.Second
	mostCallTime = 30 * time.Second

	// clearTime is how long it is tried to remove what is left of a job.
	clearTime = 30 * time.Second

	// transferRate is the least rate of a file on its way, in bytes a second.
	transferRate = 128 << 10

	reconnectWait = 250 * time.Millisecond
)

// Server says how a NATS server is reached.
type Server struct {
	URL   string // nats:// or tls://, several separated by commas
	Creds string // file of credentials, or ""
	Token string
	CA    string // file of certificates that a TLS server is checked with, or "" for the system's

	// Patience is how long a server that has gone, or a worker that is not there, is waited
	// for.
	Patience time.Duration

	// Note, if set, is told that a server is waited for.
	Note func(line string)

	embedded *Embedded // takes the place of the URL
}

// Link is a connection to a server.
type Link struct {
	where    string // without secrets
	patience time.Duration
	conn     *nats.Conn
	js       jetstream.JetStream
	objects  jetstream.ObjectStore
	work     jetstream.Stream
	done     jetstream.Stream
	audio    jetstream.Stream // of the bucket
	back     chan struct{}    // has a value when the connection was lost and is there again
	heals    bool             // streams that are missing are made again

	healing sync.Mutex

	mu    sync.Mutex
	again chan struct{} // closed when the connection is there again; then another
}

// Where names servers by their URLs without users, passwords and tokens.
func Where(urls string) string {
	var all []string
	for each := range strings.SplitSeq(urls, ",") {
		u, err := url.Parse(strings.TrimSpace(each))
		if err != nil || u.Host == "" {
			_, host, found := strings.Cut(each, "@")
			if !found {
				host = strings.TrimSpace(each)
			}
			all = append(all, host)
			continue
		}
		all = append(all, u.Scheme+"://"+u.Host)
	}
	return strings.Join(all, ",")
}

// Connect connects to a server, and makes the streams there if they are not there yet.
// name is how the server knows the connection.
func (s *Server) Connect(ctx context.Context, name string) (*Link, error) {
	l := &Link{where: Where(s.URL), patience: s.Patience, back: make(chan struct{}, 1), again: make(chan struct{})}
	opts := []nats.Option{
		nats.Name(name), nats.Timeout(5 * time.Second), nats.MaxReconnects(-1), nats.ReconnectWait(reconnectWait),
		nats.ReconnectJitter(reconnectWait, reconnectWait), nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(3),
		nats.ReconnectHandler(func(*nats.Conn) { l.returned() }),
		nats.ErrorHandler(func(*nats.Conn, *nats.Subscription, error) {}), // otherwise the library prints them
	}
	if s.Creds != "" {
		if _, err := os.Stat(s.Creds); err != nil {
			return nil, fmt.Errorf("%s: %w", s.Creds, osfile.Cause(err))
		}
		opts = append(opts, nats.UserCredentials(s.Creds))
	}
	if s.Token != "" {
		opts = append(opts, nats.Token(s.Token))
	}
	if s.CA != "" {
		opts = append(opts, nats.RootCAs(s.CA))
	}
	if s.embedded != nil {
		l.where = s.embedded.Addr()
		opts = append(opts, nats.InProcessServer(s.embedded.server), nats.Token(s.embedded.token))
	}
	var err error
	if l.conn, err = s.dial(ctx, l.where, opts); err != nil {
		return nil, err
	}
	if l.js, err = jetstream.New(l.conn); err == nil {
		s.noteWithout(ctx, l)
		err = l.prepare(ctx)
	}
	if err != nil {
		l.Close()
		return nil, err
	}
	l.heals = true
	return l, nil
}

// dial connects, as soon as there is a server within Patience.
func (s *Server) dial(ctx context.Context, where string, opts []nats.Option) (*nats.Conn, error) {
	begun := time.Now()
	for wait := reconnectWait; ; wait = min(2*wait, 5*time.Second) {
		conn, err := nats.Connect(s.URL, opts...)
		if err == nil {
			return conn, nil
		}
		failed := fmt.Errorf("NATS server %s: %w", where, withoutSecrets(s, err))
		left := s.Patience - time.Since(begun)
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case !absent(err) || left <= 0:
			return nil, failed
		}
		if wait == reconnectWait && s.Note != nil {
			s.Note(fmt.Sprintf("%v; waiting for it for %v", failed, s.Patience))
		}
		rest(ctx, min(wait, left)) // the last try is at the end of the patience
	}
}

// noteWithout says that a server has no JetStream, or none yet, and is waited for.
func (s *Server) noteWithout(ctx context.Context, l *Link) {
	err := l.once(ctx, callTime, func(ctx context.Context) error {
		_, err := l.js.Stream(ctx, workStream)
		return err
	})
	if errors.Is(err, nats.ErrNoResponders) && s.Note != nil {
		s.Note(fmt.Sprintf("NATS server %s: it has no JetStream (a server that is started with -js has); waiting for it for %v", l.where, s.Patience))
	}
}

// absent reports whether a connection failed since there is no server at the moment, and
// not since one refused it or cannot be named.
func absent(err error) bool {
	var dns *net.DNSError
	return errors.Is(err, nats.ErrNoServers) || osfile.Is(err, syscall.ECONNREFUSED) || osfile.Is(err, syscall.ECONNRESET) || errors.Is(err, io.EOF) ||
		errors.Is(err, nats.ErrTimeout) || errors.As(err, &dns) && dns.IsTemporary
}

// returned tells who waits that the connection is there again.
func (l *Link) returned() {
	select {
	case l.back <- struct{}{}:
	default:
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	close(l.again)
	l.again = make(chan struct{})
}

// withoutSecrets hides what an error may quote of a URL.
func withoutSecrets(s *Server, err error) error {
	message := err.Error()
	for each := range strings.SplitSeq(s.URL, ",") {
		if strings.Contains(message, strings.TrimSpace(each)) {
			return errors.New("its URL cannot be read, wanted is nats://HOST:PORT or tls://HOST:PORT")
		}
		if u, e := url.Parse(strings.TrimSpace(each)); e != nil || u.User != nil && strings.Contains(message, u.User.String()) {
			return errors.New("its URL cannot be read, wanted is nats://HOST:PORT or tls://HOST:PORT")
		}
	}
	return errors.New(strings.TrimPrefix(message, "nats: "))
}

// CheckURL refuses what names no server, in a line without secrets.
func CheckURL(urls string) error {
	for each := range strings.SplitSeq(urls, ",") {
		u, err := url.Parse(strings.TrimSpace(each))
		if err == nil && (u.Scheme == "nats" || u.Scheme == "tls") && u.Hostname() != "" {
			if port, err := strconv.Atoi(cmp.Or(u.Port(), "4222")); err == nil && port > 0 && port < 1<<16 {
				continue
			}
		}
		return fmt.Errorf("%s is no address of a NATS server, wanted is nats://HOST:PORT or tls://HOST:PORT", Where(each))
	}
	return nil
}

// Where is the server's URL without secrets.
func (l *Link) Where() string { return l.where }

// Close ends the connection.
func (l *Link) Close() {
	if l.conn != nil {
		l.conn.Close()
	}
}

// persist calls a function of the server until it has an answer, for as long as patience
// lasts. Each call has a time of its own. Before the next one, what is missing on the server
// is made again.
func (l *Link) persist(ctx context.Context, call func(ctx context.Context) error) error {
	return l.persistFor(ctx, callTime, call)
}

func (l *Link) persistFor(ctx context.Context, each time.Duration, call func(ctx context.Context) error) error {
	begun := time.Now()
	for wait := 50 * time.Millisecond; ; wait, each = min(2*wait, 2*time.Second), max(each, min(2*each, mostCallTime)) {
		err := l.once(ctx, each, call)
		lacks := l.heals && missing(err) && l.conn.IsConnected()
		if lacks {
			err = cmp.Or(l.heal(ctx), err)
		}
		switch {
		case err == nil:
			return nil
		case ctx.Err() != nil:
			return ctx.Err()
		case !lacks && !passing(err):
			return err
		case time.Since(begun) > l.patience:
			return fmt.Errorf("no answer of the NATS server %s for %v: %w", l.where, l.patience, err)
		}
		rest(ctx, wait)
	}
}

// once makes a call. It ends when the connection was made anew: the answer to what was
// asked over the old one does not come.
func (l *Link) once(ctx context.Context, each time.Duration, call func(ctx context.Context) error) error {
	try, cancel := context.WithTimeout(ctx, each)
	defer cancel()
	try, stop := context.WithCancelCause(try)
	defer stop(nil)
	l.mu.Lock()
	again := l.again
	l.mu.Unlock()
	go func() {
		select {
		case <-again:
			stop(nats.ErrDisconnected)
		case <-try.Done():
		}
	}()
	err := call(try)
	if err != nil && ctx.Err() == nil && errors.Is(context.Cause(try), nats.ErrDisconnected) {
		return nats.ErrDisconnected
	}
	return err
}

// passing reports whether an error may be another time: the server is not there at the
// moment, or starting, or full.
func passing(err error) bool {
	for _, each := range []error{
		context.DeadlineExceeded, nats.ErrTimeout, nats.ErrNoResponders, nats.ErrDisconnected, nats.ErrConnectionReconnecting,
		nats.ErrReconnectBufExceeded, nats.ErrNoServers, nats.ErrStaleConnection, jetstream.ErrNoStreamResponse, jetstream.ErrAsyncPublishTimeout,
	} {
		if errors.Is(err, each) {
			return true
		}
	}
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.Code >= 500 || api.Code == http.StatusTooManyRequests) && api.ErrorCode != insufficientStorage &&
		api.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabled && api.ErrorCode != jetstream.JSErrCodeJetStreamNotEnabledForAccount
}
