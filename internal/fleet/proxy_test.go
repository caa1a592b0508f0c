package fleet

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// proxy stands between a worker and its server, and can hold everything back.
type proxy struct {
	net.Listener
	to     string
	frozen atomic.Bool
	all    sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

// cut ends all connections without a word, and lets no more through.
func (p *proxy) cut() {
	p.Close()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range p.conns {
		c.Close()
	}
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: to}
	p.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				continue
			}
			p.mu.Lock()
			p.conns = append(p.conns, c, s)
			p.mu.Unlock()
			p.all.Go(func() { p.pass(c, s) })
			p.all.Go(func() { p.pass(s, c) })
		}
	})
	t.Cleanup(func() {
		p.frozen.Store(false)
		l.Close()
		p.all.Wait()
	})
	return p
}

func (p *proxy) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		for p.frozen.Load() {
			time.Sleep(5 * time.Millisecond)
		}
		if _, e := to.Write(buf[:n]); err != nil || e != nil {
			return
		}
	}
}
