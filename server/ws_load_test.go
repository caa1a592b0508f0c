package server

import (
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// A client that reads slower than the network but as fast as it hears loses nothing.
func TestSocketSlowReaderKeepsAll(t *testing.T) {
	engine := newSocketFake()
	r := startSocket(t, Options{Limits: Limits{PendingBytes: 8192, WriteTimeout: 5 * time.Second}}, engine)
	c := r.socket()
	_ = c.tcp().SetReadBuffer(64 << 10)
	c.text(endless)
	c.say("input.done", "session.close")
	var got int
	for {
		e, audio, err := c.read()
		if err != nil {
			var end *websocket.CloseError
			if !errors.As(err, &end) || end.Code != 1000 {
				t.Error(err)
			}
			break
		}
		if got += len(audio); audio != nil && got%(16*2*fakeFrame) == 0 {
			time.Sleep(2 * time.Millisecond)
		}
		if e.Type == eventEnd && e.Finish != "stop" {
			t.Errorf("event %+v", e)
		}
	}
	if got != len(soundOf(endless)) {
		t.Errorf("%d bytes, want %d", got, len(soundOf(endless)))
	}
}

// Fifty clients at once, of several kinds, each with utterances of its own.
func TestSocketLoad(t *testing.T) {
	engine := newSocketFake()
	r := startSocket(t, Options{}, engine)
	var clients sync.WaitGroup
	for i := range 50 {
		clients.Go(func() {
			c, err := quietSocket(r.url)
			if err != nil {
				t.Error(err)
				return
			}
			defer c.Close()
			for n := range 4 {
				text := fmt.Sprintf("This is client %d. It says its sentence number %d.", i, n)
				for _, m := range []string{`{"type":"input.text","text":"` + text + `"}`, `{"type":"input.done"}`} {
					if err := c.WriteMessage(websocket.TextMessage, []byte(m)); err != nil {
						t.Error(err)
						return
					}
				}
				if i%10 == 9 && n == 2 {
					return // without a word
				}
				got := 0
				for {
					kind, data, err := c.ReadMessage()
					if err != nil {
						t.Error(err)
						return
					}
					if kind == websocket.BinaryMessage {
						got += len(data)
					} else if strings.Contains(string(data), `"session.done"`) {
						break
					}
				}
				if want := len(soundOf(text)); got != want {
					t.Errorf("client %d, utterance %d: %d bytes, want %d", i, n, got, want)
				}
			}
		})
	}
	clients.Wait()
	eventually(t, "all are over", func() bool { return engine.open.Load() == 0 && r.metric("mynah_websockets") == "0" })
}

// quietSocket connects without a test to fail.
func quietSocket(url string) (*websocket.Conn, error) {
	conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(url, "http")+socketPath, nil)
	return conn, err
}
