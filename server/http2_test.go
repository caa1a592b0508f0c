package server

import (
	"bytes"
	"context"
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

// deafConn is a client's connection. Once it is deaf its socket is read no more, and stays
// open.
type deafConn struct {
	net.Conn
	deaf   chan struct{}
	closed chan struct{}
	close  sync.Once
}

func (c *deafConn) Read(p []byte) (int, error) {
	if isClosed(c.deaf) {
		<-c.closed
		return 0, net.ErrClosed
	}
	return c.Conn.Read(p)
}

func (c *deafConn) Close() error {
	c.close.Do(func() { close(c.closed) })
	return c.Conn.Close()
}

// apart is a client with connections of its own, which can be told to become deaf.
func (r *running) apart() (client *running, deaf chan struct{}, conns func() []*deafConn) {
	r.t.Helper()
	var mu sync.Mutex
	var all []*deafConn
	deaf = make(chan struct{})
	transport := r.client.Transport.(*http.Transport).Clone()
	transport.DialContext = func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := new(net.Dialer).DialContext(ctx, network, addr)
		if err != nil {
			return nil, err
		}
		mu.Lock()
		defer mu.Unlock()
		all = append(all, &deafConn{Conn: conn, deaf: deaf, closed: make(chan struct{})})
		return all[len(all)-1], nil
	}
	conns = func() []*deafConn {
		mu.Lock()
		defer mu.Unlock()
		return append([]*deafConn(nil), all...)
	}
	r.t.Cleanup(func() {
		for _, c := range conns() {
			c.Close()
		}
		transport.CloseIdleConnections()
	})
	other := *r
	other.client = &http.Client{Transport: transport}
	return &other, deaf, conns
}

const longSpeech = `{"input":"Hello.","response_format":"pcm"}`

// A client that reads its socket no more is given up with all that it asked for, however
// large the windows of its streams are: no frame that would end one of them gets through.
func TestHTTP2ClientThatStopsReading(t *testing.T) {
	const streams = 8 // some megabytes of windows each: more than sockets hold
	engine := newFake()
	steps := make(chan chan struct{}, streams)
	engine.choose = func(synth.Request) (script, error) { // one frame, and all others later
		step := make(chan struct{}, 1)
		step <- struct{}{}
		steps <- step
		return script{frames: 1 << 30, step: step}, nil
	}
	r := startHTTP2(t, Options{Limits: Limits{WriteTimeout: time.Second}}, engine)
	client, deaf, conns := r.apart()
	for range streams {
		if resp := client.post(speechPath, longSpeech); resp.StatusCode != 200 || resp.ProtoMajor != 2 {
			t.Fatalf("status %d, %s", resp.StatusCode, resp.Proto)
		}
	}
	close(deaf)
	for range streams {
		close(<-steps)
	}
	eventually(t, "the streams are closed", func() bool { return engine.open.Load() == 0 })
	eventually(t, "they are counted", func() bool { return r.metric(`mynah_slow_clients_total{reason="write_timeout"}`) == "8" })
	if n := len(conns()); n != 1 {
		t.Errorf("%d connections", n)
	}
}

// A client that reads its socket, but nothing of an answer, is given up for that one.
func TestHTTP2ClientThatNeverReads(t *testing.T) {
	engine := newFake()
	engine.script = script{frames: 1 << 30}
	r := startHTTP2(t, Options{Limits: Limits{WriteTimeout: 100 * time.Millisecond}}, engine)
	resp := r.post(speechPath, longSpeech)
	eventually(t, "the stream is closed", func() bool { return engine.open.Load() == 0 })
	eventually(t, "it is counted", func() bool { return r.metric(`mynah_slow_clients_total{reason="write_timeout"}`) == "1" })
	if _, err := io.Copy(io.Discard, resp.Body); err == nil {
		t.Error("what was cut looks complete")
	}
	if open := r.metrics.connections.open.Load().Load(); open != 1 {
		t.Errorf("%d connections, want the one that is still of use", open)
	}
}

// A client that vanishes takes along what it asked for: what is spoken, and what waits.
func TestHTTP2ClientVanishes(t *testing.T) {
	engine := newFake()
	engine.script = script{frames: 9, stallAt: 3}
	r := startHTTP2(t, Options{}, engine)
	client, _, conns := r.apart()
	for range 3 {
		client.post(speechPath, longSpeech)
	}
	if n := engine.open.Load(); n != 3 {
		t.Fatalf("%d streams", n)
	}
	for _, c := range conns() {
		_ = c.Conn.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	eventually(t, "the streams are closed", func() bool { return engine.open.Load() == 0 })
	eventually(t, "they are counted", func() bool { return r.metric(`mynah_utterances_total{reason="cancelled"}`) == "3" })
}

// withoutEnd is a body of which the end does not come, until it is closed.
func withoutEnd(t *testing.T) io.Reader {
	t.Helper()
	body, more := io.Pipe()
	t.Cleanup(func() { more.Close() })
	go io.WriteString(more, `{"input":`)
	return body
}

func (r *running) slowBody(t *testing.T) *http.Request {
	t.Helper()
	req, err := http.NewRequest("POST", r.url+speechPath, withoutEnd(t))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	return req
}

func TestHTTP2BodyThatNeverEnds(t *testing.T) {
	r := startHTTP2(t, Options{Limits: Limits{BodyTimeout: 100 * time.Millisecond}}, newFake())
	wantError(t, r.do(r.slowBody(t)), 408, "", "body_timeout")
	if got := read(t, r.post(speechPath, longSpeech)); len(got) != 3*2*fakeFrame {
		t.Errorf("%d bytes afterwards", len(got))
	}
}

// No more bodies are in memory than connections may be open, however many requests a
// connection has.
func TestHTTP2BodiesAreBounded(t *testing.T) {
	const most = 3
	r := startHTTP2(t, Options{Limits: Limits{Connections: most}}, newFake())
	ctx, leave := context.WithCancel(context.Background())
	defer leave()
	var asking sync.WaitGroup
	for range most {
		req := r.slowBody(t).WithContext(ctx)
		asking.Go(func() {
			if resp, err := r.client.Do(req); err == nil {
				resp.Body.Close()
			}
		})
	}
	bodies := func() int {
		r.mu.Lock()
		defer r.mu.Unlock()
		return r.bodies
	}
	eventually(t, "bodies are read", func() bool { return bodies() == most })
	for _, path := range []string{speechPath, speechPath + "/batch", elevenPrefix + "ryan"} {
		resp := r.post(path, longSpeech)
		data := read(t, resp)
		if resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" || !bytes.Contains(data, []byte(`"too_many_connections"`)) {
			t.Errorf("%s: status %d, %.100q", path, resp.StatusCode, data)
		}
	}
	if resp := r.get("/v1/models"); resp.StatusCode != 200 {
		t.Errorf("what has no body: status %d", resp.StatusCode)
	}
	leave()
	asking.Wait()
	eventually(t, "they are gone", func() bool { return bodies() == 0 })
	if resp := r.post(speechPath, longSpeech); resp.StatusCode != 200 || len(read(t, resp)) == 0 {
		t.Errorf("status %d", resp.StatusCode)
	}
	wantError(t, r.post(speechPath, `{`), 400, "", "invalid_body")
	eventually(t, "places are given back", func() bool { return bodies() == 0 })
}

// A connection has some requests at a time; a client that wants more opens another.
func TestHTTP2Streams(t *testing.T) {
	engine := newFake()
	engine.script = script{frames: 9, stallAt: 1}
	r := startHTTP2(t, Options{}, engine)
	client, _, conns := r.apart()
	read(t, client.get("/health"))
	for range connectionStreams {
		client.post(speechPath, longSpeech)
	}
	if n := len(conns()); n != 1 {
		t.Fatalf("%d connections for %d requests", n, connectionStreams)
	}
	client.post(speechPath, longSpeech)
	if n := len(conns()); n != 2 {
		t.Fatalf("%d connections for %d requests", n, connectionStreams+1)
	}
}

// Whatever lies above it, the socket of a connection is found.
func TestBelow(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conn, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	limited := &limitedConn{Conn: conn}
	secure := tls.Server(limited, &tls.Config{})
	for name, from := range map[string]net.Conn{"bare": conn, "limited": limited, "TLS": tls.Server(conn, &tls.Config{}), "limited TLS": secure} {
		if found, ok := below[interface{ SetWriteBuffer(int) error }](from); !ok || any(found) != any(conn) {
			t.Errorf("%s: found %T", name, found)
		}
	}
	if found, ok := below[*limitedConn](secure); !ok || found != limited {
		t.Errorf("found %v", found)
	}
	if found, ok := below[*limitedConn](conn); ok || found != nil {
		t.Errorf("found %v in a bare one", found)
	}
}
