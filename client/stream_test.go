package client

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mynah-tts/mynah/server"
)

// hear reads an utterance to its end.
func hear(t *testing.T, s *Stream) (audio []byte, sentences []string, end UtteranceDone, problems []*Error) {
	t.Helper()
	for {
		e, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		switch e := e.(type) {
		case Audio:
			audio = append(audio, e...)
		case AudioStart:
			if e.SampleRate != 24000 || e.Format != "pcm" || e.Voice != "lark" {
				t.Errorf("%+v", e)
			}
		case AudioDone:
			sentences = append(sentences, e.Text)
		case *Error:
			problems = append(problems, e)
		case UtteranceDone:
			return audio, sentences, e, problems
		}
	}
}

func TestStream(t *testing.T) {
	c := serve(t, server.Options{Keys: []string{"sk-test"}})
	whole := false
	speech, err := c.Speak(context.Background(), Request{Text: hello, Seed: seed(5), WholeText: &whole})
	if err != nil {
		t.Fatal(err)
	}
	defer speech.Close()
	want, err := io.ReadAll(speech)
	if err != nil {
		t.Fatal(err)
	}
	s, err := c.Stream(context.Background(), Request{Voice: "lark", Seed: seed(5)})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	say := func(do ...error) {
		t.Helper()
		for _, err := range do {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	for utterance := range 2 {
		for _, piece := range strings.SplitAfter(hello, "o") {
			say(s.Write(piece))
		}
		say(s.End())
		audio, sentences, end, problems := hear(t, s)
		if !bytes.Equal(audio, want) || end.FinishReason != Stop || end.Utterance != utterance || len(sentences) != 1 || sentences[0] != hello || len(problems) != 0 {
			t.Errorf("%d bytes, want %d: %q, %+v, %v", len(audio), len(want), sentences, end, problems)
		}
	}
	say(s.Write("One. "), s.Flush(), s.Write("…"), s.End())
	if _, _, end, _ := hear(t, s); end.FinishReason != Stop {
		t.Errorf("%+v", end)
	}
	say(s.Write("…"), s.End())
	if _, _, end, problems := hear(t, s); end.FinishReason != Failed || len(problems) != 1 || problems[0].Code != "nothing_to_say" || problems[0].Fatal {
		t.Errorf("%+v, %v", end, problems)
	}
	say(s.Write(strings.Repeat("This sentence is one of very many. ", 100)))
	for {
		if e, err := s.Next(); err != nil {
			t.Fatal(err)
		} else if _, ok := e.(Audio); ok {
			break
		}
	}
	say(s.Cancel())
	if _, _, end, _ := hear(t, s); end.FinishReason != Cancelled {
		t.Errorf("%+v", end)
	}
	say(s.Write(hello), s.Finish())
	if audio, _, end, _ := hear(t, s); end.FinishReason != Stop || !bytes.Equal(audio, want) {
		t.Errorf("%+v", end)
	}
	for range 2 {
		if _, err := s.Next(); err != io.EOF {
			t.Error(err)
		}
	}
	s.Close()
	if err := s.Write("a"); err == nil {
		t.Error("text was taken behind Close")
	}
}

func TestStreamEnds(t *testing.T) {
	c := serve(t, server.Options{})
	ctx, cancel := context.WithCancel(context.Background())
	s, err := c.Stream(ctx, Request{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	cancel()
	if _, err := s.Next(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	idle := serve(t, server.Options{Limits: server.Limits{IdleTimeout: 200 * time.Millisecond}})
	if s, err = idle.Stream(context.Background(), Request{}); err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	var last *Error
	for {
		e, err := s.Next()
		if err != nil {
			if !strings.Contains(err.Error(), "idle_timeout") {
				t.Error(err)
			}
			break
		}
		last, _ = e.(*Error)
	}
	if last == nil || !last.Fatal || last.Code != "idle_timeout" {
		t.Errorf("%+v", last)
	}
}

// takeStream takes a stream as the server does, and waits for its end.
func takeStream(t *testing.T, w http.ResponseWriter, r *http.Request) {
	conn, err := (&websocket.Upgrader{}).Upgrade(w, r, nil)
	if err != nil {
		t.Error(err)
		return
	}
	defer conn.Close()
	if _, _, err = conn.ReadMessage(); err == nil {
		err = conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"session.updated"}`))
	}
	for err == nil {
		_, _, err = conn.ReadMessage()
	}
}

// silence is a client of a server that takes connections, reads what comes, and says no more
// than its first words.
func silence(words string) *Client {
	return &Client{BaseURL: "http://a", HTTPClient: &http.Client{Transport: &http.Transport{
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			ours, theirs := net.Pipe()
			go func() {
				defer theirs.Close()
				r, err := http.ReadRequest(bufio.NewReader(theirs))
				if err == nil && words != "" {
					sum := sha1.Sum([]byte(r.Header.Get("Sec-WebSocket-Key") + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"))
					_, _ = io.WriteString(theirs, words+base64.StdEncoding.EncodeToString(sum[:])+"\r\n\r\n")
				}
				_, _ = io.Copy(io.Discard, theirs)
			}()
			return ours, nil
		},
	}}}
}

// A server that takes a connection and answers nothing is given up as one that does not answer a
// text: while it should take the WebSocket, and while it should take the settings.
func TestStreamAnswerTimeout(t *testing.T) {
	for name, words := range map[string]string{
		"no handshake": "",
		"no settings":  "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: ",
	} {
		for _, tc := range []struct {
			set, cancel, after time.Duration // cancel is when the context is, if not 0
			want               error
		}{
			{0, 0, DefaultAnswerTimeout, ErrNoAnswer},
			{5 * time.Second, 0, 5 * time.Second, ErrNoAnswer},
			{time.Hour, 0, time.Hour, ErrNoAnswer},
			{0, time.Second, time.Second, context.Canceled},
			{-1, 24 * time.Hour, 24 * time.Hour, context.Canceled},
		} {
			t.Run(fmt.Sprint(name, tc.set, tc.cancel), func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					c := silence(words)
					c.AnswerTimeout = tc.set
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					if tc.cancel > 0 {
						time.AfterFunc(tc.cancel, cancel)
					}
					began := time.Now()
					s, err := c.Stream(ctx, Request{})
					if s != nil || !errors.Is(err, tc.want) || time.Since(began) != tc.after {
						t.Errorf("after %v: %v", time.Since(began), err)
					}
					if tc.want == ErrNoAnswer && err.Error() != "client: a: no answer within "+tc.after.String() {
						t.Error(err)
					}
				})
			})
		}
	}
}
