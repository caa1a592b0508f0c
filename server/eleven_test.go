package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mynah-tts/mynah/synth"
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

func TestElevenMulti(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	c := r.eleven(elevenMultiPath, nil)
	c.say(`{"text":" ","context_id":"a","voice_settings":{"stability":0.5}}`)
	c.text("a", "Alpha ")
	c.say(`{"text":"Beta. ","context_id":"b","flush":true}`, `{"text":"","context_id":"b"}`, `{"text":"no name. "}`)
	c.say(`{"text":"one. ","context_id":"a"}`, `{"context_id":"a","flush":true}`, `{"context_id":"a","close_context":true}`, `{"context_id":"nobody","close_context":true}`)
	all, _ := c.hear(1)
	if a := all["a"]; a == nil || !a.final || !bytes.Equal(a.audio, saidBy("Alpha one.")) {
		t.Fatalf("%v", all)
	}
	// The same name is another context, and keep-alives of one that is over open none.
	c.say(`{"text":"","context_id":"c"}`, `{"text":"Again. ","context_id":"a","flush":true}`, `{"close_socket":true}`, `{"text":"late","context_id":"d"}`)
	rest, end := c.hear(-1)
	if end.Code != 1000 || len(rest) != 3 || !rest["a"].final || !rest["b"].final || !rest["default"].final {
		t.Fatalf("%v, %v", end, rest)
	}
	if !bytes.Equal(rest["a"].audio, saidBy("Again.")) {
		t.Errorf("%d bytes", len(rest["a"].audio))
	}
	for name, text := range map[string]string{"b": "Beta.", "default": "no name."} {
		audio := rest[name].audio
		if before := all[name]; before != nil {
			audio = append(before.audio, audio...)
		}
		if !bytes.Equal(audio, saidBy(text)) {
			t.Errorf("%s: %d bytes", name, len(audio))
		}
	}
	eventually(t, "streams are closed", func() bool { return r.engine.open.Load() == 0 })
}

// Contexts speak at the same time: one that waits for its text holds up none.
func TestElevenContextsAreApart(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	c := r.eleven(elevenMultiPath, nil)
	c.text("slow", "This one ")
	c.text("quick", "Done. ")
	c.say(`{"context_id":"quick","flush":true}`, `{"context_id":"quick","close_context":true}`)
	if all, _ := c.hear(1); all["quick"] == nil || !all["quick"].final || all["slow"] != nil {
		t.Fatalf("%v", all)
	}
	c.say(`{"context_id":"slow","text":"too. ","flush":true}`, `{"close_socket":true}`)
	if all, end := c.hear(-1); end.Code != 1000 || !all["slow"].final || !bytes.Equal(all["slow"].audio, saidBy("This one too.")) {
		t.Fatalf("%v, %v", end, all)
	}
}

// A context that is closed before its text was flushed, or twice, says no more. Its name
// is free at once.
func TestElevenBargeIn(t *testing.T) {
	for name, closing := range map[string][]string{
		"unflushed": {`{"context_id":"a","close_context":true}`},
		"twice":     {`{"context_id":"a","flush":true}`, `{"context_id":"a","close_context":true}`, `{"context_id":"a","close_context":true}`},
	} {
		t.Run(name, func(t *testing.T) {
			engine := newSocketFake()
			engine.step = make(chan struct{})
			r := startSocket(t, Options{}, engine)
			c := r.eleven(elevenMultiPath, nil)
			c.text("a", "A very long sentence that is interrupted. ")
			engine.step <- struct{}{}
			engine.step <- struct{}{}
			c.say(closing...)
			c.say(`{"context_id":"a","text":"New. ","flush":true}`, `{"close_socket":true}`)
			first, _ := c.hear(1)
			if a := first["a"]; a == nil || a.final || a.err == nil || a.err.Error != "context_closed" || len(a.audio) > 2*2*fakeFrame {
				t.Fatalf("%v", first["a"])
			}
			close(engine.step)
			if rest, end := c.hear(-1); end.Code != 1000 || !rest["a"].final || !bytes.Equal(rest["a"].audio, saidBy("New.")) {
				t.Fatalf("%v, %v", end, rest)
			}
		})
	}
}

// A context that failed takes the rest of its text in vain, and others go on.
func TestElevenContextFails(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	c := r.eleven(elevenMultiPath, nil)
	c.text("good", "Fine. ")
	c.text("bad", "a\x00 ", "and more. ")
	all, _ := c.hear(1)
	if bad := all["bad"]; bad == nil || bad.final || bad.err == nil || bad.err.Error != "invalid_value" || len(bad.audio) > 0 {
		t.Fatalf("%v", all)
	}
	c.text("bad", "and the end. ")
	c.say(`{"context_id":"bad","close_context":true}`, `{"context_id":"bad","text":"New. ","flush":true}`, `{"close_socket":true}`)
	rest, end := c.hear(-1)
	if end.Code != 1000 || !rest["good"].final || !rest["bad"].final || !bytes.Equal(rest["bad"].audio, saidBy("New.")) {
		t.Fatalf("%v, %v", end, rest)
	}
}

func TestElevenTooManyContexts(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	c := r.eleven(elevenMultiPath, nil)
	for i := range 20 { // closed ones do not count
		name := fmt.Sprint("past", i)
		c.say(`{"context_id":"`+name+`","text":" "}`, `{"context_id":"`+name+`","close_context":true}`)
	}
	if all, _ := c.hear(20); len(all) != 20 {
		t.Fatalf("%v", all)
	}
	for i := range elevenContexts + 1 {
		c.text(fmt.Sprint(i), " ")
	}
	all, end := c.hear(-1)
	if end.Code != 1008 || end.Text != "max_active_conversations" || len(all) != 1 || all[""].err == nil {
		t.Fatalf("%v, %v", end, all)
	}
}

// A text that does not go on is spoken as far as it came, and is no success.
func TestElevenInactivity(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	single := r.eleven(elevenSinglePath+"&inactivity_timeout=2", nil)
	single.text("", "Hello ")
	multi := r.eleven(elevenMultiPath+"&inactivity_timeout=2", nil)
	multi.text("a", "Hello ")
	silent := r.eleven(elevenSinglePath+"&inactivity_timeout=1", nil)
	if h, end := silent.single(); h.err == nil || h.err.Error != "input_timeout_exceeded" || end.Code != 1008 {
		t.Errorf("%+v, %v", h.err, end)
	}
	if h, end := single.single(); h.final || h.err == nil || h.err.Error != "input_timeout_exceeded" || end.Code != 1008 || !bytes.Equal(h.audio, saidBy("Hello")) {
		t.Errorf("%+v, %v", h.err, end)
	}
	if all, _ := multi.hear(1); all["a"].final || all["a"].err == nil || all["a"].err.Error != "input_timeout_exceeded" || !bytes.Equal(all["a"].audio, saidBy("Hello")) {
		t.Errorf("%v", all["a"])
	}
	multi.text("a", "New. ") // which is another context
	multi.say(`{"close_socket":true}`)
	if all, end := multi.hear(-1); end.Code != 1000 || !all["a"].final {
		t.Errorf("%v, %v", end, all["a"])
	}
}

// A server that shuts down finishes what came, and calls a text that had not ended none.
func TestElevenDrain(t *testing.T) {
	engine := newSocketFake()
	engine.step = make(chan struct{})
	r := startSocket(t, Options{}, engine)
	idle := r.eleven(elevenMultiPath, nil)
	c := r.eleven(elevenMultiPath, nil)
	c.text("ended", "All of it. ")
	c.say(`{"context_id":"ended","flush":true}`, `{"context_id":"ended","close_context":true}`)
	c.text("open", "Not all. ")
	eventually(t, "both speak", func() bool { return engine.open.Load() == 2 })
	done := make(chan error)
	go func() { done <- r.Shutdown(context.Background()) }()
	if all, end := idle.hear(-1); end.Code != 1001 || end.Text != "shutting_down" || len(all) != 1 {
		t.Errorf("%v, %v", end, all)
	}
	c.text("open", "Too late. ") // while it drains
	close(engine.step)
	all, end := c.hear(-1)
	if end.Code != 1001 || !all["ended"].final || !bytes.Equal(all["ended"].audio, saidBy("All of it.")) {
		t.Errorf("%v, %v", end, all["ended"])
	}
	if open := all["open"]; open.final || open.err == nil || open.err.Error != "shutting_down" || !bytes.Equal(open.audio, saidBy("Not all.")) {
		t.Errorf("%v", all["open"])
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// A client that vanishes takes its contexts along; one that does not read is given up.
func TestElevenRudeClients(t *testing.T) {
	engine := newSocketFake()
	r := startSocket(t, Options{Limits: Limits{WriteTimeout: 200 * time.Millisecond, LagTimeout: 300 * time.Millisecond, PendingBytes: 64 << 10}}, engine)
	engine.delay = time.Millisecond
	for i := range 4 {
		c := r.eleven(elevenMultiPath, nil)
		for _, name := range []string{"a", "b", "c"} {
			c.text(name, strings.Repeat("a", 4000)+". ")
		}
		if i%2 == 0 {
			c.conn.NetConn().Close()
		}
	}
	eventually(t, "all are over", func() bool { return r.metric("mynah_websockets") == "0" && engine.open.Load() == 0 })
	c := r.eleven(elevenMultiPath, nil)
	if err := c.conn.WriteMessage(websocket.BinaryMessage, []byte{1}); err != nil {
		t.Fatal(err)
	}
	if _, end := c.hear(-1); end.Code != 1008 || end.Text != "binary_message" {
		t.Error(end)
	}
	c = r.eleven(elevenMultiPath, nil)
	_ = c.conn.WriteMessage(websocket.TextMessage, bytes.Repeat([]byte{'a'}, 10<<20))
	if _, end := c.hear(-1); end.Code != 1009 {
		t.Error(end)
	}
	if resp := r.get(elevenSinglePath); resp.StatusCode != 400 {
		t.Error(resp.StatusCode)
	}
}

func TestElevenHTTP(t *testing.T) {
	r := startWith(t, Options{}, newFake())
	for _, tc := range []struct {
		path, kind string
		size       int
	}{
		{"?output_format=pcm_24000", "audio/pcm", 3 * 2 * fakeFrame},
		{"/stream?output_format=pcm_48000", "audio/pcm", 2 * 3 * 2 * fakeFrame},
		{"?output_format=ulaw_8000&enable_logging=true&optimize_streaming_latency=3", "audio/x-mulaw", fakeFrame},
		{"?output_format=alaw_8000", "audio/x-alaw", fakeFrame},
		{"?output_format=wav_24000", "audio/wav", 44 + 3*2*fakeFrame},
		{"", "audio/mpeg", 0},
		{"/stream?output_format=mp3_22050_32", "audio/mpeg", 0},
	} {
		resp := r.post("/v1/text-to-speech/Ryan"+tc.path, `{"text":"Hello.","model_id":"eleven_multilingual_v2","voice_settings":{"speed":1,"style":0},"seed":7,"previous_text":null,"unknown":1}`)
		data := read(t, resp)
		if resp.StatusCode != 200 || resp.Header.Get("Content-Type") != tc.kind || tc.size != 0 && len(data) != tc.size || len(data) < 100 {
			t.Errorf("%s: status %d, %s, %d bytes, want %d: %.200q", tc.path, resp.StatusCode, resp.Header.Get("Content-Type"), len(data), tc.size, data)
		}
		if got := resp.Trailer.Get(trailerFinish); got != "stop" {
			t.Errorf("%s: finish reason %q", tc.path, got)
		}
	}
	if q := r.engine.last(); q.Voice != "ryan" || *q.Seed != 7 || q.Text != "Hello." {
		t.Errorf("request %+v", q)
	}
	for _, tc := range []struct {
		path, body string
		status     int
		code       string
	}{
		{"nobody", `{"text":"a"}`, 404, "voice_not_found"},
		{"nobody/stream", `{"text":"a"}`, 404, "voice_not_found"},
		{"ryan?output_format=flac", `{"text":"a"}`, 400, "invalid_value"},
		{"ryan?output_format=pcm_8000&output_format=pcm_16000", `{"text":"a"}`, 400, "invalid_value"},
		{"ryan", `{}`, 400, "missing_field"},
		{"ryan", `{"text":null}`, 400, "invalid_type"},
		{"ryan", `{"text":" "}`, 400, "invalid_value"},
		{"ryan", `{"text":"a","model_id":"x"}`, 404, "model_not_found"},
		{"ryan", `{"text":"a","language_code":"xx"}`, 400, "invalid_value"},
		{"ryan", `{"text":"` + strings.Repeat("a", 5000) + `"}`, 400, "string_above_max_length"},
		{"ryan/with-timestamps", `{"text":"a"}`, 404, "unknown_path"},
	} {
		resp := r.post(elevenPrefix+tc.path, tc.body)
		var body struct {
			Detail struct{ Status, Message string }
			Error  struct{ Code string }
		}
		if err := json.Unmarshal(read(t, resp), &body); err != nil {
			t.Fatal(err)
		}
		if resp.StatusCode != tc.status || body.Detail.Status != tc.code || body.Error.Code != tc.code || body.Detail.Message == "" {
			t.Errorf("%s %.40s: %d %+v", tc.path, tc.body, resp.StatusCode, body)
		}
	}
}

// Clients of ElevenLabs' API look at no trailers: audio that was cut must not end as if it
// were complete, in HTTP/1.0 neither.
func TestElevenHTTPCutAudioBreaksOff(t *testing.T) {
	engine := newFake()
	r := startWith(t, Options{}, engine)
	for _, finish := range []synth.FinishReason{synth.FinishStop, synth.FinishLength} {
		engine.script = script{frames: 3, finish: finish}
		cut := finish == synth.FinishLength
		resp := r.post(elevenPrefix+"ryan?output_format=pcm_24000", `{"text":"Hello."}`)
		data, err := io.ReadAll(resp.Body)
		if resp.StatusCode != 200 || (err != nil) != cut || !cut && len(data) != 3*2*fakeFrame || (resp.Trailer.Get(trailerFinish) == "") != cut {
			t.Errorf("%s: status %d, %d bytes, error %v, trailers %v", finish, resp.StatusCode, len(data), err, resp.Trailer)
		}
		conn := r.dial()
		ask := strings.Replace(rawSpeech(`{"text":"Hello."}`), "POST "+speechPath+" HTTP/1.1", "POST "+elevenPrefix+"ryan?output_format=pcm_24000 HTTP/1.0", 1)
		io.WriteString(conn, ask)
		data, err = io.ReadAll(conn)
		if (err != nil) != cut || !cut && bytes.Contains(data, []byte(trailerFinish+": ")) {
			t.Errorf("%s, HTTP/1.0: %d bytes, error %v: %.400q", finish, len(data), err, data)
		}
	}
	if got := r.metric(`mynah_utterances_total{reason="length"}`); got != "2" {
		t.Errorf("%s utterances were cut", got)
	}
}

func TestElevenVoices(t *testing.T) {
	r := start(t, Options{Voices: map[string]string{"rachel": "vivian"}})
	for path, want := range map[string]string{
		"/v1/voices": "ryan vivian rachel", "/v2/voices?page_size=100": "ryan vivian rachel", "/v2/voices?search=RA": "rachel",
	} {
		var body struct {
			Voices []struct {
				VoiceID string `json:"voice_id"`
				Name    string
			}
			Total int  `json:"total_count"`
			More  bool `json:"has_more"`
		}
		if err := json.Unmarshal(read(t, r.get(path)), &body); err != nil {
			t.Fatal(err)
		}
		var names []string
		for _, v := range body.Voices {
			names = append(names, v.VoiceID)
		}
		if got := strings.Join(names, " "); got != want || body.Total != len(names) || body.More {
			t.Errorf("%s: %s, %+v", path, got, body)
		}
	}
	if resp := r.get("/v1/voices/Vivian"); resp.StatusCode != 200 || !strings.Contains(string(read(t, resp)), `"voice_id":"vivian"`) {
		t.Error(resp.StatusCode)
	}
	if resp := r.get("/v1/voices/nobody"); resp.StatusCode != 404 || !strings.Contains(string(read(t, resp)), `"detail":{"status":"voice_not_found"`) {
		t.Error(resp.StatusCode)
	}
}
