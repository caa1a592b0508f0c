package server

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// elevenEvent is any message of the server.
type elevenEvent struct {
	Audio   *string `json:"audio"`
	IsFinal *bool   `json:"isFinal"`
	Context string  `json:"contextId"`
	Message string  `json:"message"`
	Error   string  `json:"error"`
	Code    int     `json:"code"`
}

// elevenTalk is a client.
type elevenTalk struct {
	t    testing.TB
	conn *websocket.Conn
}

func (r *running) eleven(path string, header http.Header) *elevenTalk {
	r.t.Helper()
	conn, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(r.url, "http")+path, header)
	if err != nil {
		r.t.Fatalf("%v, %v", err, resp)
	}
	r.t.Cleanup(func() { conn.Close() })
	return &elevenTalk{r.t, conn}
}

func (c *elevenTalk) say(messages ...string) {
	c.t.Helper()
	for _, m := range messages {
		if err := c.conn.WriteMessage(websocket.TextMessage, []byte(m)); err != nil {
			c.t.Fatal(err)
		}
	}
}

// text sends pieces of text, to a context if it is named.
func (c *elevenTalk) text(context string, pieces ...string) {
	c.t.Helper()
	for _, p := range pieces {
		m := map[string]string{"text": p}
		if context != "" {
			m["context_id"] = context
		}
		data, _ := json.Marshal(m)
		c.say(string(data))
	}
}

// elevenHeard is what was heard of a context.
type elevenHeard struct {
	audio []byte
	final bool
	err   *elevenEvent
}

func (h *elevenHeard) String() string {
	if h == nil {
		return "nothing"
	}
	return fmt.Sprintf("%d bytes, final %v, error %v", len(h.audio), h.final, h.err)
}

// hear reads until so many contexts have ended, or the connection has.
func (c *elevenTalk) hear(ends int) (map[string]*elevenHeard, *websocket.CloseError) {
	c.t.Helper()
	all := map[string]*elevenHeard{}
	for ends != 0 {
		_ = c.conn.SetReadDeadline(time.Now().Add(time.Minute))
		_, data, err := c.conn.ReadMessage()
		var end *websocket.CloseError
		if errors.As(err, &end) {
			return all, end
		}
		var e elevenEvent
		if err == nil {
			err = json.Unmarshal(data, &e)
		}
		if err != nil {
			c.t.Fatal(err)
		}
		h := all[e.Context]
		if h == nil {
			h = &elevenHeard{}
			all[e.Context] = h
		}
		if h.final || h.err != nil && e.Audio != nil {
			c.t.Fatalf("after the end of context %q: %s", e.Context, data)
		}
		switch {
		case e.Audio != nil:
			audio, err := base64.StdEncoding.DecodeString(*e.Audio)
			if err != nil || len(audio) == 0 {
				c.t.Fatalf("%d bytes of audio, %v", len(audio), err)
			}
			h.audio = append(h.audio, audio...)
		case e.IsFinal != nil && *e.IsFinal:
			h.final = true
			ends--
		case e.Error != "" && e.Message != "" && e.Code != 0:
			h.err = &e
			ends--
		default:
			c.t.Fatalf("message %s", data)
		}
	}
	return all, nil
}

// single hears a socket with one context to its end.
func (c *elevenTalk) single() (*elevenHeard, *websocket.CloseError) {
	c.t.Helper()
	all, end := c.hear(-1)
	if len(all) > 1 || end == nil {
		c.t.Fatalf("contexts %v, end %v", all, end)
	}
	if all[""] == nil {
		return &elevenHeard{}, end
	}
	return all[""], end
}

const (
	elevenSinglePath = "/v1/text-to-speech/ryan/stream-input?output_format=pcm_24000"
	elevenMultiPath  = "/v1/text-to-speech/ryan/multi-stream-input?output_format=pcm_24000"
)

// saidBy is what a socketFake says of sentences.
func saidBy(sentences ...string) []byte {
	var pcm []byte
	for _, sentence := range sentences {
		for at := 0; at < len(sentence); at += 4 {
			pcm = appendPCM(pcm, fakeSound(sentence[:min(at+4, len(sentence))]))
		}
	}
	return pcm
}

func appendPCM(dst []byte, samples []float32) []byte {
	for _, x := range samples {
		v := int16(x * 32768)
		dst = append(dst, byte(v), byte(v>>8))
	}
	return dst
}
