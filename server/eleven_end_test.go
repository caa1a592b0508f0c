package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"testing/synctest"
	"time"

	"github.com/gorilla/websocket"
)

// unsentEleven is a session whose messages wait: nothing writes them but the test.
func unsentEleven(t *testing.T, engine *socketFake) *elevenSession {
	t.Helper()
	s := newServer(t, Options{})
	params, problem := readElevenQuery("ryan", map[string][]string{"output_format": {"pcm_24000"}})
	if problem != nil {
		t.Fatal(problem)
	}
	c := s.newElevenSession(context.Background(), engine, nil, &requestInfo{id: "test"}, true)
	c.params, c.admitted = params, true
	t.Cleanup(func() {
		c.cancel()
		c.work.Wait()
	})
	return c
}

func (c *elevenSession) hears(messages ...string) {
	for _, m := range messages {
		c.message(websocket.TextMessage, []byte(m))
	}
}

// spoken waits until all contexts are over.
func (c *elevenSession) spoken(t *testing.T) {
	t.Helper()
	eventually(t, "the contexts are over", func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return len(c.speaking) == 0
	})
}

// sends takes so many messages, or all that wait, and sorts them by context.
func (c *elevenSession) sends(t *testing.T, most int) map[string]*elevenHeard {
	t.Helper()
	all := map[string]*elevenHeard{}
	for ; most != 0; most-- {
		m, ok := c.out.take()
		if !ok {
			break
		}
		var e elevenEvent
		if err := json.Unmarshal(m.data, &e); err != nil {
			t.Fatal(err)
		}
		h := all[e.Context]
		if h == nil {
			h = &elevenHeard{}
			all[e.Context] = h
		}
		if h.final || h.err != nil {
			t.Fatalf("after the end of context %q: %s", e.Context, m.data)
		}
		switch {
		case e.Audio != nil:
			audio, _ := base64.StdEncoding.DecodeString(*e.Audio)
			h.audio = append(h.audio, audio...)
		case e.IsFinal != nil:
			h.final = true
		default:
			h.err = &e
		}
		c.out.sent(m)
	}
	return all
}

const (
	elevenClose = `{"context_id":"a","close_context":true}`
	elevenText  = `{"context_id":"a","text":"A sentence that is interrupted. ","flush":true}`
)

// A context that is closed a second time says no more, also if all of it was computed
// and only waits to be sent. Others are left alone.
func TestElevenClosedAgain(t *testing.T) {
	dropped := func(h *elevenHeard) bool {
		return h != nil && !h.final && h.err != nil && h.err.Error == "context_closed"
	}
	t.Run("nothing was sent", func(t *testing.T) {
		c := unsentEleven(t, newSocketFake())
		c.hears(elevenText, elevenClose, `{"context_id":"b","text":"Other. ","flush":true}`, `{"context_id":"b","close_context":true}`)
		c.spoken(t)
		c.hears(elevenClose, elevenClose)
		all := c.sends(t, -1)
		if a := all["a"]; !dropped(a) || len(a.audio) > 0 {
			t.Errorf("%v", a)
		}
		if b := all["b"]; b == nil || !b.final || !bytes.Equal(b.audio, saidBy("Other.")) {
			t.Errorf("the other: %v", b)
		}
	})
	t.Run("some was sent", func(t *testing.T) {
		c := unsentEleven(t, newSocketFake())
		c.hears(elevenText, elevenClose)
		c.spoken(t)
		if a := c.sends(t, 2)["a"]; len(a.audio) != 2*2*fakeFrame {
			t.Fatalf("%v", a)
		}
		c.hears(elevenClose)
		if a := c.sends(t, -1)["a"]; !dropped(a) || len(a.audio) > 0 {
			t.Errorf("%v", a)
		}
	})
	t.Run("all was sent", func(t *testing.T) {
		c := unsentEleven(t, newSocketFake())
		c.hears(elevenText, elevenClose)
		c.spoken(t)
		if a := c.sends(t, -1)["a"]; !a.final || !bytes.Equal(a.audio, saidBy("A sentence that is interrupted.")) {
			t.Fatalf("%v", a)
		}
		c.hears(elevenClose)
		if all := c.sends(t, -1); len(all) > 0 {
			t.Errorf("%v", all)
		}
	})
	t.Run("it failed", func(t *testing.T) {
		engine := newSocketFake()
		engine.fail, engine.failAt = errors.New("a step failed"), 3
		c := unsentEleven(t, engine)
		c.hears(elevenText, elevenClose)
		c.spoken(t)
		c.hears(elevenClose)
		if a := c.sends(t, -1)["a"]; a == nil || a.final || a.err == nil || a.err.Error != "internal_error" || len(a.audio) > 0 {
			t.Errorf("%v", a)
		}
	})
	t.Run("its name was taken", func(t *testing.T) {
		c := unsentEleven(t, newSocketFake())
		c.hears(elevenText, elevenClose)
		c.spoken(t)
		c.hears(`{"context_id":"a","text":"New. ","flush":true}`, elevenClose)
		c.spoken(t)
		c.hears(elevenClose) // of the second
		first := c.sends(t, (len("A sentence that is interrupted.")+3)/4+1)["a"]
		if !first.final || !bytes.Equal(first.audio, saidBy("A sentence that is interrupted.")) {
			t.Errorf("the first: %v", first)
		}
		if second := c.sends(t, -1)["a"]; !dropped(second) || len(second.audio) > 0 {
			t.Errorf("the second: %v", second)
		}
	})
}

// Whenever the second close comes, a context has exactly one end.
func TestElevenOneEnd(t *testing.T) {
	c := unsentEleven(t, newSocketFake())
	for range 100 {
		c.hears(elevenText, elevenClose)
		for {
			c.out.mu.Lock()
			n := len(c.out.items)
			c.out.mu.Unlock()
			if runtime.Gosched(); n > 7 { // about to end
				break
			}
		}
		c.hears(elevenClose)
		c.spoken(t)
		if a := c.sends(t, -1)["a"]; a == nil || !a.final && a.err == nil {
			t.Fatalf("no end: %v", a)
		}
	}
	for i := range 50 {
		name := fmt.Sprint(i)
		c.hears(`{"context_id":"`+name+`","text":"One. ","flush":true}`, `{"context_id":"`+name+`","close_context":true}`)
		c.spoken(t)
		c.sends(t, -1)
	}
	if n := len(c.last); n > 2 {
		t.Errorf("%d contexts are remembered", n)
	}
}

// Text in the message that closes is text like any other.
func TestElevenTextWithItsEnd(t *testing.T) {
	const hello = `{"context_id":"a","text":"Hello. ","flush":true}`
	for _, tc := range []struct {
		name     string
		messages []string
		said     []string // nil if there is no context to hear of
		err      string
	}{
		{"more", []string{hello, `{"context_id":"a","text":"Bye. ","flush":true,"close_context":true}`}, []string{"Hello.", " Bye."}, ""},
		{"all", []string{`{"context_id":"a","text":"Bye. ","flush":true,"close_context":true}`}, []string{"Bye."}, ""},
		{"a flush", []string{`{"context_id":"a","text":"Hello. "}`, `{"context_id":"a","flush":true,"close_context":true}`}, []string{"Hello."}, ""},
		{"unflushed", []string{`{"context_id":"a","text":"Bye. ","close_context":true}`}, nil, "context_closed"},
		{"nothing", []string{hello, `{"context_id":"a","text":"","close_context":true}`}, []string{"Hello."}, ""},
		{"white space", []string{hello, `{"context_id":"a","text":" ","close_context":true}`}, []string{"Hello."}, ""},
		{"white space for nobody", []string{`{"context_id":"a","text":" ","close_context":true}`}, nil, ""},
		{"what is refused", []string{`{"context_id":"a","text":"a\u0000 ","close_context":true}`}, nil, "invalid_value"},
		{"settings that are refused", []string{`{"context_id":"a","text":"Bye. ","voice_settings":{"speed":9},"close_context":true}`}, nil, "invalid_value"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := startSocket(t, Options{}, newSocketFake()).eleven(elevenMultiPath, nil)
			c.say(tc.messages...)
			c.say(`{"close_socket":true}`)
			all, end := c.hear(-1)
			a := all["a"]
			switch {
			case end.Code != 1000:
				t.Errorf("closed with %v", end)
			case tc.said == nil && tc.err == "":
				if a != nil {
					t.Errorf("%v", a)
				}
			case tc.err != "":
				if a == nil || a.final || a.err == nil || a.err.Error != tc.err {
					t.Errorf("%v, want %s", a, tc.err)
				}
			case a == nil || !a.final || !bytes.Equal(a.audio, saidBy(tc.said...)):
				t.Errorf("%v, want %q", a, tc.said)
			}
		})
	}
	c := startSocket(t, Options{}, newSocketFake()).eleven(elevenMultiPath, nil)
	c.say(`{"text":"Bye.","close_socket":true}`)
	if all, end := c.hear(-1); end.Code != 1000 || all["default"] == nil || !all["default"].final || !bytes.Equal(all["default"].audio, saidBy("Bye.")) {
		t.Errorf("%v, %v", end, all)
	}
}

// What clients put into a body or a first message instead of the query means the same, or
// is refused: mp3 in the place of bare samples would be played as noise.
func TestElevenParametersAnywhere(t *testing.T) {
	r := startWith(t, Options{}, newFake())
	for _, tc := range []struct{ query, fields, kind, code string }{
		{"", `"output_format":"pcm_24000"`, "audio/pcm", ""},
		{"?output_format=mp3_44100_128", `"output_format":"ulaw_8000"`, "audio/x-mulaw", ""},
		{"?output_format=pcm_24000", `"output_format":null`, "audio/pcm", ""},
		{"?output_format=pcm_24000", `"output_format":""`, "audio/pcm", ""},
		{"", `"output_format":"flac"`, "", "invalid_value"},
		{"", `"output_format":["pcm_24000"]`, "", "invalid_type"},
		{"", `"enable_ssml_parsing":true`, "", "invalid_value"},
		{"", `"enable_ssml_parsing":false,"enable_logging":true,"optimize_streaming_latency":3`, "audio/mpeg", ""},
		{"", `"optimize_streaming_latency":9`, "", "invalid_value"},
		{"", `"enable_logging":"perhaps"`, "", "invalid_value"},
		{"?voice_settings=%7B%22speed%22%3A2%7D", `"seed":1`, "", "invalid_value"},
	} {
		resp := r.post(elevenPrefix+"ryan"+tc.query, `{"text":"Hello.",`+tc.fields+`}`)
		data := read(t, resp)
		if tc.code != "" {
			if resp.StatusCode != 400 || !bytes.Contains(data, []byte(`"`+tc.code+`"`)) {
				t.Errorf("%s %s: status %d, %.200s", tc.query, tc.fields, resp.StatusCode, data)
			}
		} else if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != tc.kind {
			t.Errorf("%s %s: status %d, %s", tc.query, tc.fields, resp.StatusCode, resp.Header.Get("Content-Type"))
		}
	}
	resp := r.post(elevenPrefix+"ryan", `{"text":"Hello.","sample_rate":8000,"previous_text":"","seed":1,"next_text":null}`)
	if got := resp.Header.Get(headerIgnored); resp.StatusCode != 200 || got != "sample_rate, previous_text" {
		t.Errorf("status %d, ignored %q", resp.StatusCode, got)
	}

	speech := saidBy("Hello.")
	for _, tc := range []struct {
		messages []string
		bytes    int // of audio, if it is spoken
		code     string
	}{
		{[]string{`{"text":" ","output_format":"pcm_48000"}`, `{"text":"Hello. "}`}, 2 * len(speech), ""},
		{[]string{`{"text":" ","output_format":"pcm_48000"}`, `{"text":"Hello. ","output_format":"pcm_48000"}`}, 2 * len(speech), ""},
		{[]string{`{"text":" "}`, `{"text":"Hello. ","output_format":"pcm_48000"}`}, 0, "invalid_value"},
		{[]string{`{"text":" ","inactivity_timeout":180}`}, 0, "invalid_value"},
		{[]string{`{"text":" ","inactivity_timeout":20}`, `{"text":"Hello. "}`}, len(speech), ""},
		{[]string{`{"text":" ","enable_ssml_parsing":true}`}, 0, "invalid_value"},
		{[]string{`{"text":" ","model_id":"gpt-5"}`}, 0, "model_not_found"},
		// 1 is the tempo of those who name none.
		{[]string{`{"text":" "}`, `{"text":"Hello. ","voice_settings":{"stability":0.5,"speed":1.0}}`}, len(speech), ""},
		{[]string{`{"text":" ","voice_settings":{"speed":1}}`, `{"text":"Hello. ","voice_settings":{"stability":0.5}}`}, len(speech), ""},
		{[]string{`{"text":" "}`, `{"text":"Hello. ","voice_settings":{"speed":2}}`}, 0, "invalid_value"},
	} {
		r := startSocket(t, Options{}, newSocketFake())
		c := r.eleven(elevenSinglePath, nil)
		c.say(tc.messages...)
		if tc.code == "" {
			c.say(`{"text":""}`)
		}
		h, _ := c.single()
		if tc.code != "" {
			if h.final || h.err == nil || h.err.Error != tc.code {
				t.Errorf("%s: %v", tc.messages, h)
			}
		} else if !h.final || len(h.audio) != tc.bytes {
			t.Errorf("%s: %v, want %d bytes", tc.messages, h, tc.bytes)
		}
	}
	sockets := startSocket(t, Options{}, newSocketFake())
	c := sockets.eleven(elevenSinglePath+"&seed=1", nil)
	c.say(`{"text":" ","seed":9,"language_code":"en"}`, `{"text":"Hello. "}`, `{"text":""}`)
	if h, _ := c.single(); !h.final {
		t.Error(h)
	}
	if q := sockets.engine.last(); *q.Seed != 9 || q.Language != "english" {
		t.Errorf("request %+v", q)
	}
}

// An empty text keeps a context alive, for as long as the client likes.
func TestElevenKeptAlive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := unsentEleven(t, newSocketFake())
		c.hears(`{"context_id":"a","text":"Hello "}`, `{"context_id":"b","text":"Hello "}`)
		const most = elevenInactivity * time.Second
		for range 8 {
			time.Sleep(most - time.Second)
			c.hears(`{"context_id":"a","text":""}`)
		}
		c.hears(`{"context_id":"a","text":"there. ","flush":true}`, elevenClose)
		synctest.Wait()
		all := c.sends(t, -1)
		if a := all["a"]; a == nil || !a.final || !bytes.Equal(a.audio, saidBy("Hello there.")) {
			t.Errorf("%v", a)
		}
		if b := all["b"]; b == nil || b.final || b.err == nil || b.err.Error != "input_timeout_exceeded" || !bytes.Equal(b.audio, saidBy("Hello")) {
			t.Errorf("the one that was not: %v", b)
		}
	})
}
