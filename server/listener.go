package server

import (
	"fmt"
	"net"
	"net/http"
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

// limitedConn gives its place free when it is closed.
type limitedConn struct {
	net.Conn
	release func()
}

// NetConn returns the connection below, as tls.Conn does.
func (c *limitedConn) NetConn() net.Conn { return c.Conn }

func (c *limitedConn) Close() error {
	defer c.release()
	return c.Conn.Close()
}
