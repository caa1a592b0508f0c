package server

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

// rudeEngine is an engine that does for each request what its text says.
func rudeEngine() *fakeEngine {
	engine := newFake()
	engine.choose = func(r synth.Request) (script, error) {
		switch {
		case strings.Contains(r.Text, "busy"):
			return script{}, synth.ErrBusy
		case strings.Contains(r.Text, "fails"):
			return script{frames: 9, fail: errors.New("a step failed"), failAt: len(r.Text) % 5}, nil
		case strings.Contains(r.Text, "stalls"):
			return script{frames: 9, stallAt: 3}, nil
		case strings.Contains(r.Text, "long"):
			return script{frames: 2000}, nil
		}
		return script{frames: 3}, nil
	}
	return engine
}

// behave is one client of a kind.
func (r *running) behave(kind int, n uint64) error {
	formats := []string{"pcm", "wav", "flac", "mp3"}
	body := fmt.Sprintf(`{"input":"Client %d.","response_format":"%s"}`, n, formats[n%4])
	switch kind {
	case 0, 1: // polite
		return r.expect(body, 200)
	case 2:
		return r.expect(strings.Replace(body, "Client", "It fails", 1), 500, 200)
	case 3:
		return r.expect(strings.Replace(body, "Client", "Too busy", 1), 429)
	case 4:
		return r.expect(body[:len(body)-int(n%10)-1], 400)
	case 5:
		return r.expect(`{"input":"`+strings.Repeat("huge ", 1<<18)+`"}`, 413)
	case 6:
		return r.expect(strings.Replace(body, `}`, `,"stream_format":"sse"}`, 1), 200)
	case 7: // leaves while it stalls
		return r.leave(strings.Replace(body, "Client", "It stalls", 1), int(n%5000))
	case 8: // leaves in the middle
		return r.leave(strings.Replace(body, "Client", "A long one", 1), int(n%100_000))
	}
	return r.leave("", 0) // says nothing, and leaves
}

func (r *running) expect(body string, statuses ...int) error {
	req, err := http.NewRequest("POST", r.url+speechPath, strings.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := r.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if _, err := io.Copy(io.Discard, resp.Body); err != nil && len(statuses) == 1 {
		return err
	}
	for _, status := range statuses {
		if resp.StatusCode == status {
			return nil
		}
	}
	return fmt.Errorf("status %d, want %v, of %.60s", resp.StatusCode, statuses, body)
}

// leave reads some bytes and resets the connection.
func (r *running) leave(body string, bytes int) error {
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		return err
	}
	defer conn.Close()
	if body != "" {
		if _, err := io.WriteString(conn, rawSpeech(body)); err != nil {
			return err
		}
		if _, err := io.CopyN(io.Discard, conn, int64(bytes/10)); err != nil {
			return err
		}
	}
	return conn.(*net.TCPConn).SetLinger(0)
}

// After clients of all kinds at once everything is as before: no stream, no request
// and no goroutine is left, and the next request is answered as the first was.
func TestRudeClients(t *testing.T) {
	r := startWith(t, Options{Limits: Limits{BodyBytes: 1 << 20}}, rudeEngine())
	ask := func() []byte { return read(t, r.post(speechPath, `{"input":"Hello.","response_format":"pcm"}`)) }
	before := ask()
	r.client.CloseIdleConnections()
	eventually(t, "it is quiet", func() bool { return r.metrics.connections.open.Load().Load() == 0 })
	goroutines := runtime.NumGoroutine()
	var clients sync.WaitGroup
	for c := range 12 {
		clients.Go(func() {
			random := rand.New(rand.NewPCG(uint64(c), 1))
			for range 25 {
				if err := r.behave(random.IntN(10), random.Uint64N(1<<20)); err != nil {
					t.Error(err)
				}
			}
		})
	}
	clients.Wait()
	eventually(t, "no stream is open", func() bool { return r.engine.open.Load() == 0 })
	r.client.CloseIdleConnections()
	eventually(t, "no connection is open", func() bool { return r.metrics.connections.open.Load().Load() == 0 })
	eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= goroutines+2 })
	r.mu.Lock()
	live := r.live
	r.mu.Unlock()
	if live != 0 {
		t.Errorf("%d requests are live", live)
	}
	began := time.Now()
	if !bytes.Equal(ask(), before) {
		t.Error("the next answer differs")
	}
	t.Logf("the next answer took %v", time.Since(began))
}
