package server

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/wyoming"
	"github.com/mynah-tts/mynah/synth"
)

// home is a client of the Wyoming protocol.
type home struct {
	t    testing.TB
	conn net.Conn
	in   *bufio.Reader
}

// homeEvent is an event as a client gets it.
type homeEvent struct {
	Type    string
	Data    map[string]any
	Payload []byte
}

// startWyoming serves the Wyoming protocol, and returns where.
func startWyoming(t *testing.T, r *running) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	served := make(chan error, 1)
	go func() { served <- r.ServeWyoming(l) }()
	t.Cleanup(func() {
		ctx, cancel := context.WithCancel(context.Background())
		cancel()
		_ = r.Shutdown(ctx)
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	return l.Addr().String()
}

func dialHome(t testing.TB, addr string) *home {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	return &home{t, conn, bufio.NewReader(conn)}
}

// say sends events: a type, and data in JSON behind a space.
func (h *home) say(events ...string) {
	h.t.Helper()
	for _, e := range events {
		kind, data, _ := strings.Cut(e, " ")
		var v any
		if data != "" {
			v = json.RawMessage(data)
		}
		if _, err := h.conn.Write(wyoming.Append(nil, kind, v, nil)); err != nil {
			h.t.Fatal(err)
		}
	}
}

func (h *home) read() (e homeEvent, err error) {
	line, err := h.in.ReadBytes('\n')
	if err != nil {
		return e, err
	}
	var head struct {
		Type          string
		DataLength    int `json:"data_length"`
		PayloadLength int `json:"payload_length"`
	}
	if err := json.Unmarshal(line, &head); err != nil {
		return e, err
	}
	e.Type = head.Type
	data := make([]byte, head.DataLength)
	if _, err := io.ReadFull(h.in, data); err != nil {
		return e, err
	}
	if len(data) > 0 {
		if err := json.Unmarshal(data, &e.Data); err != nil {
			return e, err
		}
	}
	e.Payload = make([]byte, head.PayloadLength)
	_, err = io.ReadFull(h.in, e.Payload)
	return e, err
}

// hear reads until an event of a type, or the end. It returns the types of all events but
// chunks, and the audio.
func (h *home) hear(last string) (types string, audio []byte, end homeEvent) {
	h.t.Helper()
	var all []string
	for {
		e, err := h.read()
		if err == io.EOF {
			return strings.Join(all, " "), audio, homeEvent{Type: "EOF"}
		}
		if err != nil {
			h.t.Fatalf("after %v: %v", all, err)
		}
		if e.Type == wyoming.TypeAudioStart || e.Type == wyoming.TypeAudioChunk {
			if e.Data["rate"] != 24000.0 || e.Data["width"] != 2.0 || e.Data["channels"] != 1.0 || int64(e.Data["timestamp"].(float64)) != int64(len(audio)/2*1000/24000) {
				h.t.Fatalf("%s %v", e.Type, e.Data)
			}
		}
		if e.Type == wyoming.TypeAudioChunk {
			if len(e.Payload)%2 != 0 || len(e.Payload) == 0 {
				h.t.Fatalf("%d bytes", len(e.Payload))
			}
			audio = append(audio, e.Payload...)
			continue
		}
		all = append(all, e.Type)
		if e.Type == last {
			return strings.Join(all, " "), audio, e
		}
	}
}

func TestWyomingDescribe(t *testing.T) {
	r := start(t, Options{Version: "1.2.3", Voices: map[string]string{"alloy": "ryan"}})
	h := dialHome(t, startWyoming(t, r))
	h.say("describe", "transcribe", `ping {"text":"x"}`, `select-program {"name":"mynah"}`, `ping {"text":null}`)
	_, _, e := h.hear("info")
	program := e.Data["tts"].([]any)[0].(map[string]any)
	var names []string
	for _, v := range program["voices"].([]any) {
		voice := v.(map[string]any)
		names = append(names, fmt.Sprint(voice["name"], voice["languages"], voice["installed"], voice["version"]))
	}
	if program["name"] != "mynah" || program["supports_synthesize_streaming"] != true || strings.Join(names, " ") != "ryan[en] true1.2.3 vivian[en] true1.2.3 alloy[en] true1.2.3" {
		t.Errorf("%v: %v", names, program)
	}
	for _, name := range []string{"asr", "handle", "intent", "wake", "mic", "snd"} {
		if list, ok := e.Data[name].([]any); !ok || len(list) != 0 {
			t.Errorf("%s is %v", name, e.Data[name])
		}
	}
	for _, want := range []any{"x", nil} {
		if _, _, e := h.hear("pong"); e.Data["text"] != want {
			t.Errorf("%v, want %v", e.Data, want)
		}
	}
}

// A text at once is spoken as by HTTP; several on one connection in order.
func TestWyomingSynthesize(t *testing.T) {
	r := start(t, Options{})
	h := dialHome(t, startWyoming(t, r))
	h.say(`synthesize {"text":"Hello.","voice":{"name":"Vivian","language":"xx","speaker":"a"},"text_format":"text","context":{}}`, `synthesize {"text":"Again.","voice":{"language":"en-GB"}}`)
	for range 2 {
		types, audio, e := h.hear("audio-stop")
		if types != "audio-start audio-stop" || len(audio) != 3*2*fakeFrame || e.Data["timestamp"] != 240.0 {
			t.Errorf("%s, %d bytes, %v", types, len(audio), e)
		}
	}
	r.engine.mu.Lock()
	first, second := r.engine.requests[1], r.engine.requests[2]
	r.engine.mu.Unlock()
	if first.Voice != "vivian" || first.Language != "" || first.Text != "Hello." || second.Voice != "" || second.Language != "english" {
		t.Errorf("%+v\n%+v", first, second)
	}
	if got := r.metric("mynah_wyoming_connections"); got != "1" {
		t.Errorf("%s connections", got)
	}
}

// Text in pieces is spoken as it comes; the whole text that follows is not spoken again.
func TestWyomingPieces(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	h := dialHome(t, startWyoming(t, r))
	h.say(`synthesize-start {"voice":{"name":"ryan"}}`, `synthesize-chunk {"text":"Hel"}`, `synthesize-chunk {"text":"lo the"}`, `synthesize-chunk {"text":""}`, `synthesize-chunk {"text":"re. You"}`)
	e, err := h.read()
	if err != nil || e.Type != "audio-start" { // before the text has ended
		t.Fatal(e, err)
	}
	h.say(`synthesize {"text":"Hello there. You"}`, "synthesize-stop")
	types, audio, _ := h.hear("synthesize-stopped")
	if types != "audio-stop synthesize-stopped" || !bytes.Equal(audio, saidBy("Hello there.", " You")) {
		t.Errorf("%s, %d bytes, want %d", types, len(audio), len(saidBy("Hello there.", " You")))
	}
	// A client that sends no pieces after all is heard nevertheless, and one without text
	// is answered.
	h.say("synthesize-start", `synthesize {"text":"Whole."}`, "synthesize-stop", "synthesize-start {}", `synthesize-chunk {"text":" "}`, "synthesize-stop")
	if types, audio, _ := h.hear("synthesize-stopped"); types != "audio-start audio-stop synthesize-stopped" || !bytes.Equal(audio, saidBy("Whole.")) {
		t.Errorf("%s, %d bytes", types, len(audio))
	}
	if types, audio, _ := h.hear("synthesize-stopped"); types != "synthesize-stopped" || len(audio) != 0 {
		t.Errorf("%s, %d bytes", types, len(audio))
	}
}

// The bytes over Wyoming are those over HTTP, in pieces or not.
func TestWyomingEqualsHTTP(t *testing.T) {
	model, err := synth.OpenBuiltin(synth.Options{Threads: 1})
	if err != nil {
		t.Fatal(err)
	}
	defer model.Close()
	s := newServer(t, Options{})
	if err := s.Use(context.Background(), seeded{FromModel(model)}); err != nil {
		t.Fatal(err)
	}
	r := run(t, s, nil)
	h := dialHome(t, startWyoming(t, r))
	for _, tc := range []struct {
		whole  string
		events []string
		last   string
	}{
		{"true", []string{`synthesize {"text":"Hello there, good morning."}`}, "audio-stop"},
		{"false", []string{"synthesize-start", `synthesize-chunk {"text":"Hello the"}`, `synthesize-chunk {"text":"re, good morning."}`, `synthesize {"text":"Hello there, good morning."}`, "synthesize-stop"}, "synthesize-stopped"},
	} {
		want := read(t, r.post(speechPath, `{"input":"Hello there, good morning.","response_format":"pcm","non_streaming_mode":`+tc.whole+`}`))
		h.say(tc.events...)
		if _, audio, _ := h.hear(tc.last); !bytes.Equal(audio, want) || len(want) == 0 {
			t.Errorf("%v: %d bytes, want %d", tc.events, len(audio), len(want))
		}
	}
}

// seeded is an engine that always says the same.
type seeded struct{ Engine }

var theSeed = int64(5)

func (e seeded) Speak(ctx context.Context, r synth.Request) (Stream, error) {
	r.Seed = &theSeed
	return e.Engine.Speak(ctx, r)
}

func (e seeded) SpeakPieces(ctx context.Context, r synth.Request) (PieceStream, error) {
	r.Seed = &theSeed
	return e.Engine.SpeakPieces(ctx, r)
}

// Every failure is an error event, after which the connection ends: never an audio-stop,
// never a synthesize-stopped.
func TestWyomingFailures(t *testing.T) {
	long := strings.Repeat("a", 5000)
	for _, tc := range []struct {
		name   string
		engine func(e *socketFake)
		events []string
		code   string
	}{
		{"voice", nil, []string{`synthesize {"text":"a","voice":{"name":"nobody"}}`}, "voice_not_found"},
		{"language", nil, []string{`synthesize {"text":"a","voice":{"language":"xx"}}`}, "invalid_value"},
		{"ssml", nil, []string{`synthesize-start {"text_format":"ssml"}`}, "invalid_value"},
		{"no text", nil, []string{`synthesize {}`}, "missing_field"},
		{"type", nil, []string{`synthesize {"text":7}`}, "invalid_body"},
		{"nothing to say", nil, []string{`synthesize {"text":"…"}`}, "nothing_to_say"},
		{"empty", nil, []string{`synthesize {"text":""}`}, "nothing_to_say"},
		{"marks in pieces", nil, []string{`synthesize-start`, `synthesize-chunk {"text":"…"}`, `synthesize-stop`}, "nothing_to_say"},
		{"long", nil, []string{`synthesize {"text":"` + long + `"}`}, "string_above_max_length"},
		{"long in pieces", nil, []string{`synthesize-start`, `synthesize-chunk {"text":"` + long + `"}`}, "string_above_max_length"},
		{"long besides pieces", nil, []string{`synthesize-start`, `synthesize {"text":"` + long + `"}`}, "string_above_max_length"},
		{"NUL", nil, []string{`synthesize-start`, `synthesize-chunk {"text":"\u0000"}`}, "invalid_value"},
		{"chunk without text", nil, []string{`synthesize-start`, `synthesize-chunk {"text":"Hello "}`, `synthesize-chunk {}`, `synthesize-stop`}, "missing_field"},
		{"chunk of a number", nil, []string{`synthesize-start`, `synthesize-chunk {"text":"Hello "}`, `synthesize-chunk {"text":5}`, `synthesize-stop`}, "invalid_body"},
		{"half", nil, []string{`synthesize {"text":"a\ud83d"}`}, "invalid_value"},
		{"chunk first", nil, []string{`synthesize-chunk {"text":"a"}`}, "invalid_body"},
		{"stop first", nil, []string{`synthesize-stop`}, "invalid_body"},
		{"start twice", nil, []string{`synthesize-start`, `synthesize-start`}, "invalid_body"},
		{"engine", func(e *socketFake) { e.fail, e.failAt = errors.New("boom"), 2 }, []string{`synthesize-start`, `synthesize-chunk {"text":"Hello there, you."}`, `synthesize-stop`}, "internal_error"},
		{"length", func(e *socketFake) { e.most = 2 }, []string{`synthesize-start`, `synthesize-chunk {"text":"Hello there, you."}`, `synthesize-stop`}, "audio_truncated"},
		{"queue", func(e *socketFake) { e.refuse = synth.ErrBusy }, []string{`synthesize {"text":"a"}`}, "queue_full"},
		{"text that ends", nil, []string{`synthesize-start`, `synthesize-chunk {"text":"Hello"}`}, "text_timeout"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			engine := newSocketFake()
			if tc.engine != nil {
				tc.engine(engine)
			}
			var limits Limits
			if tc.code == "text_timeout" {
				limits.TextTimeout = time.Second
			}
			r := startSocket(t, Options{Limits: limits}, engine)
			h := dialHome(t, startWyoming(t, r))
			h.say(tc.events...)
			types, _, e := h.hear("error")
			if e.Data["code"] != tc.code || e.Data["text"] == "" || strings.Contains(types, "stop") || strings.Contains(fmt.Sprint(e.Data["text"]), "boom") {
				t.Errorf("%s: %v", types, e)
			}
			if types, _, e := h.hear("nothing"); e.Type != "EOF" || types != "" {
				t.Errorf("after the error: %s", types)
			}
			h.conn.Close()
			eventually(t, "the connection is gone", func() bool { return r.metric("mynah_wyoming_connections") == "0" && engine.open.Load() == 0 })
		})
	}
}

// What is no event ends a connection, and takes no memory for what it announces.
func TestWyomingGarbage(t *testing.T) {
	patient := start(t, Options{})
	addr := startWyoming(t, patient)
	for name, data := range map[string]string{
		"HTTP":        "POST / HTTP/1.1\r\nHost: localhost\r\n\r\n{\"type\":\"describe\"}\n",
		"much":        "{\"type\":\"a\",\"data_length\":4000000000}\n",
		"binary":      "\x00\xff\n",
		"ten million": strings.Repeat("a", 10<<20),
	} {
		h := dialHome(t, addr)
		go h.conn.Write([]byte(data))
		if _, _, e := h.hear("error"); e.Data["code"] != "invalid_message" {
			t.Errorf("%s: %v", name, e)
		}
		h.conn.Close()
	}
	hurried := start(t, Options{Limits: Limits{IdleTimeout: 300 * time.Millisecond, BodyTimeout: 200 * time.Millisecond}})
	addr = startWyoming(t, hurried)
	for name, data := range map[string]string{"nothing": "", "half a line": "{\"type\":", "half of its data": "{\"type\":\"ping\",\"data_length\":100}\n{"} {
		h := dialHome(t, addr)
		_, _ = h.conn.Write([]byte(data))
		if types, _, e := h.hear("nothing"); e.Type != "EOF" || types != "" {
			t.Errorf("%s: %s %v", name, types, e)
		}
	}
	for _, r := range []*running{patient, hurried} {
		eventually(t, "all are gone", func() bool { return r.metric("mynah_wyoming_connections") == "0" })
	}
}

// A client that vanishes, and one that does not read, take their utterances along.
func TestWyomingRudeClients(t *testing.T) {
	engine := newSocketFake()
	r := startSocket(t, Options{Limits: Limits{WriteTimeout: 300 * time.Millisecond}}, engine)
	addr := startWyoming(t, r)
	for i := range 6 {
		h := dialHome(t, addr)
		// The system's buffers hold megabytes: less than all of this audio, however it sizes them.
		_ = h.conn.(*net.TCPConn).SetReadBuffer(1 << 14)
		h.say("synthesize-start")
		for range 400 {
			h.say(`synthesize-chunk {"text":"` + strings.Repeat("many words ", 9) + `. "}`)
		}
		if _, err := h.read(); err != nil {
			t.Fatal(err)
		}
		switch i % 3 {
		case 0:
			h.conn.Close()
		case 1:
			_ = h.conn.(*net.TCPConn).SetLinger(0)
			h.conn.Close()
		} // the others read no more
	}
	eventually(t, "all are gone", func() bool { return r.metric("mynah_wyoming_connections") == "0" && engine.open.Load() == 0 })
}
