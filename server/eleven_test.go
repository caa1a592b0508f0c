package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mynah-tts/mynah/synth"
)

func TestElevenSingle(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	c := r.eleven(elevenSinglePath+"&model_id=eleven_flash_v2_5&language_code=en-US&seed=9&auto_mode=true&sync_alignment=true&enable_logging=false", nil)
	c.say(`{"text":" ","voice_settings":{"stability":0.5,"similarity_boost":0.8,"use_speaker_boost":true},"generation_config":{"chunk_length_schedule":[120,160]},"try_trigger_generation":true}`)
	c.text("", "Hello ", " there. ", " ", "You ")
	c.say(`{"text":"too ","try_trigger_generation":true,"unheard_of":1}`, `{"text":"","voice_settings":null}`)
	h, end := c.single()
	if !h.final || end.Code != 1000 || !bytes.Equal(h.audio, saidBy("Hello there.", " You too")) {
		t.Errorf("final %v, %d bytes, want %d, %v", h.final, len(h.audio), len(saidBy("Hello there.", " You too")), end)
	}
	if q := r.engine.last(); q.Voice != "ryan" || q.Language != "english" || *q.Seed != 9 {
		t.Errorf("request %+v", q)
	}
	eventually(t, "streams are closed", func() bool { return r.engine.open.Load() == 0 })
}

// A text in whatever pieces is the same speech as the whole.
func TestElevenPieces(t *testing.T) {
	model, err := synth.OpenBuiltin(synth.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	s := newServer(t, Options{})
	if err := s.Use(context.Background(), FromModel(model)); err != nil {
		t.Fatal(err)
	}
	r := run(t, s, nil)
	const text = "Hello there, good morning. It is “half” past nine 😄, you know."
	want := read(t, r.post(speechPath, fmt.Sprintf(`{"input":%q,"response_format":"pcm","seed":5,"non_streaming_mode":false}`, text)))
	random := rand.New(rand.NewPCG(1, 2))
	for range 4 {
		c := r.eleven(strings.ReplaceAll(elevenSinglePath, "ryan", "default")+"&seed=5", nil)
		c.say(`{"text":" "}`)
		words := strings.SplitAfter(text, " ")
		for len(words) > 0 {
			n := 1 + random.IntN(min(4, len(words)))
			c.text("", strings.TrimRight(strings.Join(words[:n], ""), " ")+" ")
			words = words[n:]
			if random.IntN(2) == 0 {
				c.text("", " ") // keeps it alive
			}
		}
		c.text("", "")
		if h, end := c.single(); !h.final || !bytes.Equal(h.audio, want) || end.Code != 1000 {
			t.Errorf("%d bytes, want %d, %v", len(h.audio), len(want), end)
		}
	}
	// Halves of a pair of surrogates in two messages, as JavaScript cuts.
	c := r.eleven(strings.ReplaceAll(elevenSinglePath, "ryan", "default")+"&seed=5", nil)
	at := strings.Index(text, "😄")
	c.text("", text[:at])
	c.say(`{"text":"\ud83d"}`, `{"text":"\ude04"}`)
	c.text("", text[at+len("😄"):], "")
	if h, _ := c.single(); !h.final || !bytes.Equal(h.audio, want) {
		t.Errorf("in halves: %d bytes, want %d", len(h.audio), len(want))
	}
}

// Whatever keeps a text from being spoken whole is told, and isFinal never.
func TestElevenFailures(t *testing.T) {
	boom := errors.New("boom")
	for _, tc := range []struct {
		name     string
		path     string
		engine   func(e *socketFake)
		messages []string
		code     int
		reason   string
		audio    bool
	}{
		{"engine", "", func(e *socketFake) { e.fail, e.failAt = boom, 2 }, []string{`{"text":"Hello there."}`, `{"text":""}`}, 1011, "internal_error", true},
		{"length", "", func(e *socketFake) { e.most = 2 }, []string{`{"text":"Hello there."}`, `{"text":""}`}, 1011, "audio_truncated", true},
		{"queue", "", func(e *socketFake) { e.refuse = synth.ErrBusy }, []string{`{"text":"Hello there."}`, `{"text":""}`}, 1008, "queue_full", false},
		{"voice", "/v1/text-to-speech/nobody/stream-input", nil, nil, 1008, "voice_not_found", false},
		{"model", elevenSinglePath + "&model_id=gpt-5", nil, nil, 1008, "model_not_found", false},
		{"format", "/v1/text-to-speech/ryan/stream-input?output_format=pcm_11025", nil, nil, 1008, "invalid_value", false},
		{"language", elevenSinglePath + "&language_code=xx", nil, nil, 1008, "invalid_value", false},
		{"ssml", elevenSinglePath + "&enable_ssml_parsing=true", nil, nil, 1008, "invalid_value", false},
		{"seed", elevenSinglePath + "&seed=-1", nil, nil, 1008, "invalid_value", false},
		{"inactivity", elevenSinglePath + "&inactivity_timeout=181", nil, nil, 1008, "invalid_value", false},
		{"no JSON", "", nil, []string{`{"text":"Hello `}, 1008, "invalid_message", false},
		{"no JSON behind text", "", nil, []string{`{"text":"Hello "}`, `{"text":`, `{"text":"there."}`, `{"text":""}`}, 1008, "invalid_message", false},
		{"not UTF-8 behind text", "", nil, []string{`{"text":"Hello "}`, "{\"text\":\"\xd0\xbf\xd1\"}", `{"text":"there."}`, `{"text":""}`}, 1008, "invalid_message", false},
		{"a number behind text", "", nil, []string{`{"text":"Hello "}`, `{"text":5}`, `{"text":"there."}`, `{"text":""}`}, 1008, "invalid_type", false},
		{"not UTF-8 in a context", elevenMultiPath, nil, []string{`{"text":"Hello "}`, "{\"text\":\"\xd0\xbf\xd1\"}", `{"text":"there."}`, `{"close_socket":true}`}, 1008, "invalid_message", false},
		{"a list", "", nil, []string{`[]`}, 1008, "invalid_message", false},
		{"a number", "", nil, []string{`{"text":7}`}, 1008, "invalid_type", false},
		{"flag", "", nil, []string{`{"text":"a","flush":1}`}, 1008, "invalid_type", false},
		{"setting", "", nil, []string{`{"text":" ","voice_settings":{"stability":2}}`}, 1008, "invalid_value", false},
		{"settings", "", nil, []string{`{"text":" ","voice_settings":[]}`}, 1008, "invalid_type", false},
		{"speed", "", nil, []string{`{"text":" ","voice_settings":{"speed":1.1}}`, `{"text":"a ","voice_settings":{"speed":0.9}}`}, 1008, "invalid_value", false},
		{"schedule", "", nil, []string{`{"text":" ","generation_config":{"chunk_length_schedule":"x"}}`}, 1008, "invalid_type", false},
		{"dictionary", "", nil, []string{`{"text":" ","pronunciation_dictionary_locators":[{"pronunciation_dictionary_id":"a"}]}`}, 1008, "invalid_value", false},
		{"long", "", nil, []string{`{"text":"` + strings.Repeat("a", 5000) + `"}`}, 1008, "string_above_max_length", false},
		{"NUL", "", nil, []string{`{"text":"a\u0000"}`}, 1008, "invalid_value", false},
		{"half", "", nil, []string{`{"text":"a \ud83d"}`, `{"text":""}`}, 1008, "invalid_value", false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			engine := newSocketFake()
			if tc.engine != nil {
				tc.engine(engine)
			}
			r := startSocket(t, Options{}, engine)
			path := tc.path
			if path == "" {
				path = elevenSinglePath
			}
			c := r.eleven(path, nil)
			for _, m := range tc.messages {
				_ = c.conn.WriteMessage(websocket.TextMessage, []byte(m))
			}
			h, end := c.single()
			if h.final || h.err == nil || h.err.Error != tc.reason || h.err.Code != tc.code || end.Code != tc.code || end.Text != tc.reason {
				t.Errorf("final %v, error %+v, end %v", h.final, h.err, end)
			}
			if (len(h.audio) > 0) != tc.audio {
				t.Errorf("%d bytes of audio", len(h.audio))
			}
			if h.err != nil && (strings.Contains(h.err.Message, "\n") || strings.Contains(h.err.Message, "boom")) {
				t.Errorf("message %q", h.err.Message)
			}
			eventually(t, "streams are closed", func() bool { return engine.open.Load() == 0 })
		})
	}
}

func TestElevenNothingToSay(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	for _, text := range []string{"", " ", "… ", "😄"} {
		c := r.eleven(elevenSinglePath, nil)
		c.say(`{"text":" "}`)
		if text != "" {
			c.text("", text)
		}
		c.text("", "")
		if h, end := c.single(); !h.final || len(h.audio) != 0 || end.Code != 1000 {
			t.Errorf("%q: final %v, %d bytes, %v", text, h.final, len(h.audio), end)
		}
	}
}

// Keys are shown in the header, the query or the first message.
// Who has shown no key reads nothing of voices, also of one that there is not.
func TestElevenKeysComeFirst(t *testing.T) {
	r := startSocket(t, Options{Keys: []string{"sk-good"}}, newSocketFake())
	const keyless, admitted = `{"text":" "}`, `{"text":" ","xi_api_key":"sk-good"}`
	for _, tc := range []struct{ path, first, code string }{
		{"nobody/stream-input", keyless, "invalid_api_key"},
		{"nobody/stream-input", admitted, "voice_not_found"},
		{"nobody/stream-input?xi-api-key=sk-good", "", "voice_not_found"},
		{"nobody/multi-stream-input", keyless, "invalid_api_key"},
		{"nobody/multi-stream-input", admitted, "voice_not_found"},
		{"ryan/stream-input?language_code=xx", keyless, "invalid_api_key"},
		{"ryan/stream-input?inactivity_timeout=0", admitted, "invalid_value"},
	} {
		c := r.eleven(elevenPrefix+tc.path, nil)
		if tc.first != "" {
			c.say(tc.first)
		}
		h, end := c.single()
		if h.err == nil || h.err.Error != tc.code || end.Text != tc.code || strings.Contains(h.err.Message, "vivian") != (tc.code == "voice_not_found") {
			t.Errorf("%s %s: %v, %v", tc.path, tc.first, h, end)
		}
	}
}

func TestElevenKeys(t *testing.T) {
	patient := startSocket(t, Options{Keys: []string{"sk-good"}}, newSocketFake())
	hurried := startSocket(t, Options{Keys: []string{"sk-good"}, Limits: Limits{HeaderTimeout: time.Second}}, newSocketFake())
	for _, tc := range []struct {
		name, query, first string
		header             http.Header
		status, code       int // of a refusal before the upgrade, or after
	}{
		{"xi header", "", `{"text":" "}`, http.Header{"Xi-Api-Key": {"sk-good"}}, 0, 0},
		{"bearer", "", `{"text":" "}`, http.Header{"Authorization": {"Bearer sk-good"}}, 0, 0},
		{"query", "&xi-api-key=sk-good", `{"text":" "}`, nil, 0, 0},
		{"authorization in the query", "&authorization=Bearer%20sk-good", `{"text":" "}`, nil, 0, 0},
		{"first message", "", `{"text":" ","xi_api_key":"sk-good"}`, nil, 0, 0},
		{"with hyphens", "", `{"text":" ","xi-api-key":"sk-good"}`, nil, 0, 0},
		{"authorization", "", `{"text":" ","authorization":"Bearer sk-good"}`, nil, 0, 0},
		{"wrong header", "", "", http.Header{"Xi-Api-Key": {"sk-bad"}}, 401, 0},
		{"wrong message", "", `{"text":"a","xi_api_key":"sk-bad"}`, nil, 0, 1008},
		{"none", "", `{"text":" "}`, nil, 0, 1008},
		{"no number", "", `{"text":" ","xi_api_key":7}`, nil, 0, 1008},
		{"silence", "", "", nil, 0, 1008},
		{"much", "", `{"text":"` + strings.Repeat("a", 100_000) + `"}`, nil, 0, 1009},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := patient
			if tc.name == "silence" { // which is waited out
				r = hurried
			}
			conn, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(r.url, "http")+elevenSinglePath+tc.query, tc.header)
			if tc.status != 0 {
				if err == nil || resp.StatusCode != tc.status {
					t.Fatalf("%v, %v", err, resp)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			c := &elevenTalk{t, conn}
			if tc.first != "" {
				c.say(tc.first)
			}
			if tc.code == 0 {
				c.text("", "Hello.", "")
			}
			h, end := c.single()
			if tc.code == 0 && !h.final || tc.code != 0 && (h.final || end.Code != tc.code || len(h.audio) > 0) {
				t.Errorf("final %v, error %+v, %v", h.final, h.err, end)
			}
		})
	}
}
