package server

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
	"time"
)

// limitListener refuses connections beyond a number, and says so.
type limitListener struct {
	net.Listener
	most    int64
	open    atomic.Int64
	refused func()
}

// limit bounds the connections of a listener.
func (s *Server) limit(l net.Listener) net.Listener {
	limited := &limitListener{Listener: l, most: int64(s.opts.Limits.Connections), refused: s.metrics.connections.refused.Inc}
	s.metrics.connections.watch(&limited.open)
	return limited
}

// Accept returns the next connection that there is room for.
func (l *limitListener) Accept() (net.Conn, error) {
	for {
		conn, err := l.Listener.Accept()
		if err != nil {
			return nil, err
		}
		if l.open.Add(1) <= l.most {
			return &limitedConn{Conn: conn, release: sync.OnceFunc(func() { l.open.Add(-1) })}, nil
		}
		l.open.Add(-1)
		l.refused()
		refuse(conn)
	}
}

// refuse answers a connection that is one too many. It does not wait for a request:
// that would be room for it. Those who speak TLS see it end.
func refuse(conn net.Conn) {
	const body = `{"error":{"message":"too many connections","type":"server_error","param":null,"code":"too_many_connections"}}` + "\n"
	_ = conn.SetDeadline(time.Now().Add(time.Second))
	fmt.Fprintf(conn, "HTTP/1.1 %d %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\nRetry-After: %d\r\nConnection: close\r\n\r\n%s",
		http.StatusServiceUnavailable, http.StatusText(http.StatusServiceUnavailable), len(body), seconds(retryAfter), body)
	_ = conn.Close()
}

// limitedConn gives its place free when it is closed, and remembers that its client let
// the time of a write pass.
type limitedConn struct {
	net.Conn
	release func()
	stalled atomic.Bool
}

// Write fails for good once a write has run out of time: nothing can follow half a
// message, and the farewell of TLS would have the full buffer waited for once more.
func (c *limitedConn) Write(p []byte) (int, error) {
	if c.stalled.Load() {
		return 0, os.ErrDeadlineExceeded
	}
	n, err := c.Conn.Write(p)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		c.stalled.Store(true)
	}
	return n, err
}

// NetConn returns the connection below, as tls.Conn does.
func (c *limitedConn) NetConn() net.Conn { return c.Conn }

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}

// below finds the connection of a kind beneath others, such as those of TLS and of limits.
func below[T any](conn net.Conn) (found T, ok bool) {
	for {
		if found, ok = conn.(T); ok {
			return found, true
		}
		outer, ok := conn.(interface{ NetConn() net.Conn })
		if !ok {
			return found, false
		}
		conn = outer.NetConn()
	}
}

type connKey struct{}

// withConn puts a connection into the context of its requests.
func withConn(ctx context.Context, conn net.Conn) context.Context {
	limited, _ := below[*limitedConn](conn)
	return context.WithValue(ctx, connKey{}, limited)
}

// stalled tells whether a request's client let the time of a write pass, for this or for
// another request of its connection.
func stalled(ctx context.Context) bool {
	conn, _ := ctx.Value(connKey{}).(*limitedConn)
	return conn != nil && conn.stalled.Load()
}
