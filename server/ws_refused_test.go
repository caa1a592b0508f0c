package server

import (
	"bytes"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// TestSocketLostText: a message that was, or may have been, a piece of text and could not be
// taken fails the utterance, with one error, wherever it stands; what comes behind it is not
// spoken as if it were all, and the next utterance is as ever.
func TestSocketLostText(t *testing.T) {
	r := startSocket(t, Options{Limits: Limits{InputRunes: 100}}, newSocketFake())
	for _, bad := range []struct{ name, message, code string }{
		{"text not UTF-8", "{\"type\":\"input.text\",\"text\":\"\xd0\xbf\xd1\"}", "invalid_message"},
		{"text a number", `{"type":"input.text","text":5}`, "invalid_type"},
		{"text null", `{"type":"input.text","text":null}`, "invalid_type"},
		{"no text", `{"type":"input.text"}`, "missing_field"},
		{"half a pair", `{"type":"input.text","text":"\ude00"}`, "invalid_value"},
		{"NUL", `{"type":"input.text","text":"\u0000"}`, "invalid_value"},
		{"too long", `{"type":"input.text","text":"` + strings.Repeat("a", 101) + `"}`, "string_above_max_length"},
		{"cut off", `{"type":"input.text","text":"the`, "invalid_message"},
		{"empty", ``, "invalid_message"},
		{"a list", `["input.text"]`, "invalid_message"},
		{"text twice", `{"type":"input.text","text":"a","text":"b"}`, "invalid_message"},
		{"no type", `{"text":"there"}`, "missing_field"},
		{"type a number", `{"type":1,"text":"there"}`, "invalid_type"},
		{"binary", "", "binary_message"},
	} {
		for _, before := range []string{"", "Hello ", "Hello you. "} {
			t.Run(bad.name+" after "+before, func(t *testing.T) {
				c := r.socket()
				if before != "" {
					c.text(before)
				}
				kind := websocket.TextMessage
				if bad.name == "binary" {
					kind = websocket.BinaryMessage
				}
				_ = c.conn.WriteMessage(kind, []byte(bad.message))
				c.text("there.")
				c.say("input.flush", "input.done")
				h := c.hear(0)
				if len(h.problems) != 1 || h.problems[0].Code != bad.code || h.problems[0].Fatal {
					t.Errorf("problems %+v", h.problems)
				}
				if h.end.Finish != "error" || before != "Hello you. " && len(h.audio) > 0 || len(h.audio) > len(soundOf("Hello you.")) {
					t.Errorf("%d bytes of audio, %+v", len(h.audio), h.end)
				}
				c.text("Still here.")
				c.say("input.done")
				if h := c.hear(1); h.end.Finish != "stop" || !bytes.Equal(h.audio, soundOf("Still here.")) {
					t.Errorf("the next: %+v", h.end)
				}
			})
		}
	}
}

// TestSocketRepeatedMistakes: what can be text behind a failure is left out without a word,
// and what is no message is one more mistake.
func TestSocketRepeatedMistakes(t *testing.T) {
	c := startSocket(t, Options{}, newSocketFake()).socket()
	c.text("\x00")
	c.problem("invalid_value", 0)
	for range maxMistakes {
		c.text("\x00", "a", strings.Repeat("a", 5000))
		c.say("input.flush", `{"type":"input.text","text":"\ud83d"}`)
	}
	for i := range maxMistakes - 2 {
		if i%2 == 0 {
			c.say("{")
			c.problem("invalid_message", 0)
		} else {
			c.say(`{"type":"input.text","text":7}`)
			c.problem("invalid_type", 0)
		}
	}
	c.say("{")
	c.closed(1008, "too_many_errors")
}

// TestSocketOtherMistakes: what is known to be no text loses none.
func TestSocketOtherMistakes(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	for _, tc := range []struct{ message, code string }{
		{`{"type":"input.stop"}`, "unknown_type"},
		{`{"type":"session.config","voice":7}`, "utterance_in_progress"},
		{`{"type":"playback.ack","played_samples":-1}`, "invalid_value"},
	} {
		c := r.socket()
		c.text("Hello ")
		c.say(tc.message)
		c.problem(tc.code, 0)
		c.text("there.")
		c.say("input.done")
		if h := c.hear(0); h.end.Finish != "stop" || !bytes.Equal(h.audio, soundOf("Hello there.")) {
			t.Errorf("%s: %+v", tc.message, h.end)
		}
	}
	c := r.socket()
	c.say(`{"type":"session.config","voice":"nobody"}`)
	c.problem("voice_not_found", -1)
	c.text("Hello there.")
	c.say("input.done")
	if h := c.hear(0); h.end.Finish != "stop" {
		t.Errorf("%+v", h.end)
	}
}

// TestSocketEndsWithHalf: a text that ends with half of a pair has lost something, whatever
// ends it.
func TestSocketEndsWithHalf(t *testing.T) {
	r := startSocket(t, Options{Limits: Limits{TextTimeout: 100 * time.Millisecond}}, newSocketFake())
	half := `{"type":"input.text","text":"Hello you. Hi \ud83d"}`
	for _, end := range []string{"input.done", "session.close", ""} {
		c := r.socket()
		c.say(half)
		if end != "" {
			c.say(end)
		}
		h := c.hear(0)
		if h.end.Finish != "error" || len(h.problems) == 0 || h.problems[len(h.problems)-1].Code != "invalid_value" {
			t.Errorf("%q: %+v, %+v", end, h.end, h.problems)
		}
	}
	for _, end := range []string{"input.done", "session.close"} { // and nothing else
		c := r.socket()
		c.say(`{"type":"input.text","text":"\ud83d"}`, end)
		if h := c.hear(0); h.end.Finish != "error" || len(h.problems) != 1 {
			t.Errorf("%q: %+v, %+v", end, h.end, h.problems)
		}
	}
}

// TestSocketFailedIsIdle: a client that does not end the text of an utterance that failed
// is one that does nothing.
func TestSocketFailedIsIdle(t *testing.T) {
	r := startSocket(t, Options{Limits: Limits{IdleTimeout: time.Second}}, newSocketFake())
	c := r.socket()
	c.say(`{"type":"input.text"}`)
	c.problem("missing_field", 0)
	c.closed(1008, "idle_timeout")
}

// ends are how many utterances ended by error, and how many were cancelled.
func (r *running) ends() string {
	r.t.Helper()
	return r.metric(`mynah_utterances_total{reason="error"}`) + " " + r.metric(`mynah_utterances_total{reason="cancelled"}`)
}

// TestRefusedTextIsCounted: an utterance that fails because of its text counts as one that
// failed, once, and the log has the cause, begun or not, in every protocol that takes text in
// pieces.
func TestRefusedTextIsCounted(t *testing.T) {
	long := strings.Repeat("a", 5000)
	for _, tc := range []struct {
		name, code string
		talk       func(t *testing.T, r *running)
	}{
		{"WebSocket", "string_above_max_length", func(t *testing.T, r *running) {
			c := r.socket()
			c.text("Hello there. ", long)
			c.say("input.done")
			c.hear(0)
		}},
		{"WebSocket, at once", "string_above_max_length", func(t *testing.T, r *running) {
			c := r.socket()
			c.text(long)
			c.problem("string_above_max_length", 0) // and no input.done
		}},
		{"WebSocket, then cancelled", "string_above_max_length", func(t *testing.T, r *running) {
			c := r.socket()
			c.text("Hello there. ", long)
			c.say("input.cancel")
			if h := c.hear(0); h.end.Finish != "cancelled" {
				t.Errorf("%+v", h.end)
			}
		}},
		{"WebSocket, nothing", "nothing_to_say", func(t *testing.T, r *running) {
			c := r.socket()
			c.text("…")
			c.say("input.done")
			c.hear(0)
		}},
		{"WebSocket, unreadable", "invalid_message", func(t *testing.T, r *running) {
			c := r.socket()
			c.text("Hello there. ")
			c.want(eventAudioStart)
			_ = c.conn.WriteMessage(websocket.TextMessage, []byte{'{'})
		}},
		{"WebSocket, message too large", "message_too_large", func(t *testing.T, r *running) {
			c := r.socket()
			c.text("Hello there. ")
			c.want(eventAudioStart)
			c.text(strings.Repeat("a", 30000))
			c.closed(1009, "message_too_large")
		}},
		{"ElevenLabs", "string_above_max_length", func(t *testing.T, r *running) {
			c := r.eleven(elevenSinglePath, nil)
			c.text("", "Hello there. ", long)
			c.single()
		}},
		{"ElevenLabs, at once", "string_above_max_length", func(t *testing.T, r *running) {
			c := r.eleven(elevenMultiPath, nil)
			c.text("a", long)
			c.hear(1)
		}},
		{"ElevenLabs, unreadable", "invalid_message", func(t *testing.T, r *running) {
			c := r.eleven(elevenMultiPath, nil)
			c.text("a", "Hello there. ")
			_, _, _ = c.conn.ReadMessage()
			c.say("{")
			c.hear(-1)
		}},
		{"Wyoming", "string_above_max_length", func(t *testing.T, r *running) {
			h := dialHome(t, startWyoming(t, r))
			h.say("synthesize-start", `synthesize-chunk {"text":"Hello there. "}`, `synthesize-chunk {"text":"`+long+`"}`)
			h.hear("error")
		}},
		{"Wyoming, at once", "string_above_max_length", func(t *testing.T, r *running) {
			h := dialHome(t, startWyoming(t, r))
			h.say(`synthesize {"text":"` + long + `"}`)
			h.hear("error")
		}},
		{"Wyoming, nothing", "nothing_to_say", func(t *testing.T, r *running) {
			h := dialHome(t, startWyoming(t, r))
			h.say(`synthesize {"text":"…"}`)
			h.hear("error")
		}},
		{"Wyoming, unreadable", "invalid_message", func(t *testing.T, r *running) {
			h := dialHome(t, startWyoming(t, r))
			h.say("synthesize-start", `synthesize-chunk {"text":"Hello there. "}`)
			fmt.Fprint(h.conn, "{\"type\":\"synthesize-chunk\",\"data\":{\"text\":\"\xd0\"}}\n")
			h.hear("error")
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			var log syncBuffer
			engine := newSocketFake()
			engine.delay = time.Millisecond
			r := startSocket(t, Options{Limits: Limits{BodyBytes: 20000}, Log: slog.New(slog.NewTextHandler(&log, nil))}, engine)
			tc.talk(t, r)
			defer func() {
				if t.Failed() {
					t.Log(r.ends(), log.String())
				}
			}()
			eventually(t, "it is counted", func() bool { return r.ends() != "0 0" && strings.Contains(log.String(), "msg=utterance") })
			if got := r.ends(); got != "1 0" {
				t.Errorf("failed and cancelled: %s", got)
			}
			for line := range strings.Lines(log.String()) {
				if strings.Contains(line, "msg=utterance") && (!strings.Contains(line, tc.code) || strings.Contains(line, "went away") || strings.Contains(line, "finish=") && !strings.Contains(line, "finish=error")) {
					t.Errorf("%s", line)
				}
			}
			eventually(t, "streams are closed", func() bool { return engine.open.Load() == 0 })
		})
	}
}
