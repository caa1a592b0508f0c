package server

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/gorilla/websocket"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/synth"
)

// soundOf is the audio of a text of socketFake.
func soundOf(text string) []byte {
	var b []byte
	for _, sentence := range strings.SplitAfter(text, ".") {
		for at := 0; at < len(sentence); at += 4 {
			b, _ = audio.AppendPCM16(b, fakeSound(sentence[:min(at+4, len(sentence))]))
		}
	}
	return b
}

// cutAnywhere cuts a text into random pieces between characters.
func cutAnywhere(text string, random *rand.Rand) []string {
	var pieces []string
	for runes := []rune(text); len(runes) > 0; {
		n := 1 + random.IntN(min(len(runes), 9))
		pieces, runes = append(pieces, string(runes[:n])), runes[n:]
	}
	return pieces
}

func TestSocketSpeaksBeforeTheTextEnds(t *testing.T) {
	c := startSocket(t, Options{}, newSocketFake()).socket()
	c.text("One. Tw")
	first := c.want(eventAudioStart)
	if first.Text != "One." || first.Scope != scopeSentence || first.Format != "pcm" || first.ContentType != "audio/pcm" || first.SampleRate != fakeRate || first.Estimate <= 0 || *first.Seed != fakeSeed || first.Voice != "ryan" {
		t.Errorf("event %+v", first)
	}
	e, sound, err := c.read()
	if err != nil || !bytes.Equal(sound, soundOf("One.")) {
		t.Fatalf("%d bytes of audio, event %+v, error %v", len(sound), e, err)
	}
	if e := c.want(eventAudioDone); e.Bytes != len(sound) || e.Frames != 1 || e.Text != "One." || e.Finish != "stop" || e.Failed || *e.Seed != fakeSeed {
		t.Errorf("event %+v", e)
	}
	c.text("o.")
	c.say("input.done")
	if e := c.want(eventAudioStart); *e.Sentence != 1 || e.Text != "Two." {
		t.Errorf("event %+v", e)
	}
	for e := c.want; ; {
		if e, _, err := c.read(); err != nil || e.Type == eventAudioDone {
			break
		}
		_ = e
	}
	if e := c.want(eventEnd); e.Sentences != 2 || e.Finish != "stop" {
		t.Errorf("event %+v", e)
	}
}

// However a text is cut, and whatever other utterances there are, the audio is the
// same.
func TestSocketPieces(t *testing.T) {
	const text = "Où est la gare? 你好。 \U0001F600 smile. And a third sentence, which is longer. The end"
	r := startSocket(t, Options{}, newSocketFake())
	random := rand.New(rand.NewPCG(1, 2))
	c := r.socket()
	const utterances = 20
	go func() {
		for range utterances {
			c.text(cutAnywhere(text, random)...)
			c.say("input.done")
		}
	}()
	for i := range utterances {
		h := c.hear(i)
		if !bytes.Equal(h.audio, soundOf(text)) || len(h.starts) != 3 || h.end.Finish != "stop" {
			t.Fatalf("utterance %d: %d bytes, %d sentences", i, len(h.audio), len(h.starts))
		}
	}
}

// A pair of escapes may be cut in two: programs that count UTF-16 do that.
func TestSocketHalves(t *testing.T) {
	text := func(raw string) string { return `{"type":"input.text","text":"` + raw + `"}` }
	for _, tc := range []struct {
		name string
		send []string
		want string // what is spoken, if nothing is lost
		lost int
	}{
		{"whole", []string{text(`a \ud83d\ude00 b`)}, "a \U0001F600 b", 0},
		{"between messages", []string{text(`a \ud83d`), text(`\ude00 b`)}, "a \U0001F600 b", 0},
		{"around an empty one", []string{text(`a \ud83d`), text(``), text(`\uDE00 b`)}, "a \U0001F600 b", 0},
		{"twice", []string{text(`a\ud83d`), text(`\ude00\ud83d`), text(`\ude01`)}, "a\U0001F600\U0001F601", 0},
		{"first half alone", []string{text(`a\ud83d`), text(`b`)}, "", 1},
		{"at the end", []string{text(`ab\ud83d`)}, "", 1},
		{"after a backslash", []string{text(`a\\ud83d`), text(`b`)}, `a\ud83db`, 0},
		{"second half alone", []string{text(`a`), text(`\ude00`), text(`b`)}, "", 1},
		{"in the middle", []string{text(`a`), text(`\ud83d x`), text(`b`)}, "", 1},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := startSocket(t, Options{}, newSocketFake()).socket()
			c.say(tc.send...)
			c.say("input.done")
			var sound []byte
			lost := 0
			for {
				e, audio, err := c.read()
				if err != nil {
					t.Fatal(err)
				}
				sound = append(sound, audio...)
				if e.Type == eventProblem {
					lost++
				}
				if e.Type == eventEnd {
					if (e.Finish == "error") != (tc.lost > 0) {
						t.Errorf("finish reason %q", e.Finish)
					}
					break
				}
			}
			if lost != tc.lost || lost == 0 && !bytes.Equal(sound, soundOf(tc.want)) {
				t.Errorf("%d bytes of audio, want %d; %d errors, want %d", len(sound), len(soundOf(tc.want)), lost, tc.lost)
			}
		})
	}
}

func TestSocketFlush(t *testing.T) {
	c := startSocket(t, Options{}, newSocketFake()).socket()
	c.say("input.flush") // nothing to flush is no mistake
	c.text("no full stop")
	c.say("input.flush")
	c.want(eventAudioStart)
	for range 3 {
		if _, audio, err := c.read(); err != nil || len(audio) != 2*fakeFrame {
			t.Fatalf("%d bytes, error %v", len(audio), err)
		}
	}
	if e := c.want(eventAudioDone); e.Text != "no full stop" || e.Frames != 3 {
		t.Errorf("event %+v", e)
	}
	c.text("more.")
	c.say("input.done")
	if e := c.want(eventAudioStart); *e.Sentence != 1 || *e.Utterance != 0 {
		t.Errorf("event %+v", e)
	}
}

// Utterances follow one another while the client is already ahead of them.
func TestSocketUtterancesInOrder(t *testing.T) {
	engine := newSocketFake()
	engine.step = make(chan struct{})
	c := startSocket(t, Options{}, engine).socket()
	texts := []string{"First one. And on.", "Second.", "😄", "Third."}
	for _, text := range texts {
		c.text(text)
		c.say("input.done")
	}
	c.say("input.done")
	close(engine.step)
	for i, text := range texts {
		h := c.hear(i)
		want := soundOf(text)
		if text == "😄" {
			want = nil
			if len(h.problems) != 1 || h.problems[0].Code != "nothing_to_say" || h.problems[0].Fatal || h.end.Finish != "error" {
				t.Errorf("nothing to say: %+v", h)
			}
		}
		if !bytes.Equal(h.audio, want) {
			t.Errorf("utterance %d has %d bytes, want %d", i, len(h.audio), len(want))
		}
	}
	if h := c.hear(len(texts)); h.end.Finish != "stop" || len(h.starts)+len(h.problems) != 0 {
		t.Errorf("an empty utterance: %+v", h)
	}
}

func TestSocketConfig(t *testing.T) {
	engine := newSocketFake()
	c := startSocket(t, Options{Voices: map[string]string{"alloy": "vivian"}}, engine).socket()
	c.say(`{"type":"session.config","voice":"alloy","language":"english","seed":3,"temperature":0.5,"stream_audio":true,"split_granularity":"none","word_timestamps":false,"model":null,"nonsense":1}`)
	if e := c.want(eventUpdated); e.Voice != "vivian" || !slices.Equal(e.IgnoredNames, []string{"nonsense"}) {
		t.Errorf("event %+v", e)
	}
	say := func(index int, text string) synth.Request {
		c.text(text)
		c.say("input.done")
		c.hear(index)
		return engine.last()
	}
	if r := say(0, "One."); r.Voice != "vivian" || r.Language != "english" || *r.Seed != 3 || *r.Sampling.Temperature != 0.5 || r.Text != "" {
		t.Errorf("request %+v", r)
	}
	c.say(`{"type":"session.config","seed":4}`) // the rest stays
	c.want(eventUpdated)
	if r := say(1, "Two."); r.Voice != "vivian" || *r.Seed != 4 {
		t.Errorf("request %+v", r)
	}
	for _, tc := range []struct{ fields, code, param string }{
		{`"voice":"bob"`, "voice_not_found", "voice"},
		{`"seed":"x"`, "invalid_type", "seed"},
		{`"seed":9,"speed":7`, "invalid_value", "speed"},
		{`"seed":9,"response_format":"ogg"`, "invalid_value", "response_format"},
		{`"stream_format":"sse"`, "invalid_value", "stream_format"},
		{`"word_timestamps":true`, "invalid_value", "word_timestamps"},
		{`"stream_audio":1`, "invalid_type", "stream_audio"},
		{`"split_granularity":"word"`, "invalid_value", "split_granularity"},
		{`"input":"Hello."`, "invalid_value", "input"},
		{`"model":"other"`, "model_not_found", "model"},
		{`"task_type":"Base"`, "invalid_value", "task_type"},
		{`"response_format":"mp3","sample_rate":47999`, "invalid_value", "sample_rate"},
	} {
		c.say(`{"type":"session.config",` + tc.fields + `}`)
		if e := c.problem(tc.code, -1); str(e.Param) != tc.param || e.Fatal {
			t.Errorf("%s: %+v", tc.fields, e)
		}
	}
	if r := say(2, "Three."); r.Voice != "vivian" || *r.Seed != 4 { // nothing has changed
		t.Errorf("request %+v", r)
	}
}

// A configuration is for utterances to come: refused while one takes text, taken while
// one is being spoken.
func TestSocketConfigMeanwhile(t *testing.T) {
	engine := newSocketFake()
	engine.step = make(chan struct{})
	c := startSocket(t, Options{}, engine).socket()
	c.text("One")
	c.say(`{"type":"session.config","seed":4}`)
	c.problem("utterance_in_progress", 0)
	c.text(" word.")
	c.say("input.done", `{"type":"session.config","response_format":"wav"}`)
	for e := c.event(); e.Type != eventUpdated; e = c.event() {
		if e.Type != eventAudioStart || e.Format != "pcm" {
			t.Errorf("event %+v", e)
		}
	}
	close(engine.step)
	c.text("Two.")
	c.say("input.done")
	var sound []byte
	for {
		e, audio, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		sound = append(sound, audio...)
		if e.Type == eventEnd && *e.Utterance == 1 {
			break
		}
	}
	one := soundOf("One word.")
	if !bytes.HasPrefix(sound, one) || !bytes.HasPrefix(sound[len(one):], []byte("RIFF")) || engine.last().Seed != nil {
		t.Errorf("%d bytes, seed %v", len(sound), engine.last().Seed)
	}
}

// Other forms than bare samples have one header and one end for the whole utterance.
func TestSocketFormats(t *testing.T) {
	const text = "First sentence. Second one. Third."
	frames := len(soundOf(text)) / 2 / fakeFrame
	for _, tc := range []struct {
		config, magic string
		rate          int
		bytes         int // 0 for any
	}{
		{`"response_format":"wav"`, "RIFF", 24000, 44 + frames*2*fakeFrame},
		{`"response_format":"flac"`, "fLaC", 24000, 0},
		{`"response_format":"mp3"`, "\xff", 24000, 0},
		{`"sample_rate":48000`, "", 48000, frames * 4 * fakeFrame},
		{`"sample_rate":8000`, "", 8000, frames * 2 * fakeFrame / 3},
		{`"speed":2`, "", 24000, 0},
		{`"response_format":"wav","sample_rate":16000`, "RIFF", 16000, 44 + frames*4*fakeFrame/3},
	} {
		t.Run(tc.config, func(t *testing.T) {
			c := startSocket(t, Options{}, newSocketFake()).socket()
			c.say(`{"type":"session.config",` + tc.config + `}`)
			if e := c.want(eventUpdated); e.SampleRate != tc.rate {
				t.Errorf("event %+v", e)
			}
			c.text(text)
			c.say("input.done")
			h := c.hear(0)
			if len(h.starts) != 1 || h.starts[0].Scope != scopeUtterance || h.starts[0].SampleRate != tc.rate || h.dones[0].Text != text || h.dones[0].Frames != frames {
				t.Errorf("start %+v, done %+v", h.starts, h.dones)
			}
			if !bytes.HasPrefix(h.audio, []byte(tc.magic)) || tc.magic != "" && tc.magic != "\xff" && bytes.Count(h.audio, []byte(tc.magic)) != 1 {
				t.Errorf("begins with %q", h.audio[:min(len(h.audio), 8)])
			}
			if tc.bytes > 0 && len(h.audio) != tc.bytes {
				t.Errorf("%d bytes, want %d", len(h.audio), tc.bytes)
			}
			if tc.magic == "RIFF" && binary.LittleEndian.Uint32(h.audio[24:]) != uint32(tc.rate) {
				t.Errorf("the header says %d Hz", binary.LittleEndian.Uint32(h.audio[24:]))
			}
		})
	}
}

// With non_streaming_mode a text is spoken when it is there, as the HTTP API does it.
func TestSocketWholeText(t *testing.T) {
	engine := newSocketFake()
	c := startSocket(t, Options{}, engine).socket()
	c.say(`{"type":"session.config","non_streaming_mode":true}`)
	c.want(eventUpdated)
	c.text("One. ", "Two.")
	c.say("input.flush", "input.done")
	h := c.hear(0)
	if r := engine.last(); r.Text != "One. Two." || r.Layout != synth.LayoutWhole || len(h.audio) != 3*2*fakeFrame || len(h.starts) != 1 {
		t.Errorf("request %+v, %d bytes", r, len(h.audio))
	}
}

func TestSocketEngineErrors(t *testing.T) {
	for _, tc := range []struct {
		name, code string
		refuse     error
		fail       error
		retry      bool
		frames     int
	}{
		{"busy", "queue_full", synth.ErrBusy, nil, true, 0},
		{"draining", "shutting_down", synth.ErrDraining, nil, false, 0},
		{"request", "invalid_value", &synth.RequestError{Param: "language", Message: "klingon"}, nil, false, 0},
		{"in mid-stream", "internal_error", nil, errors.New("secret place"), false, 2},
	} {
		t.Run(tc.name, func(t *testing.T) {
			engine := newSocketFake()
			engine.refuse, engine.fail, engine.failAt = tc.refuse, tc.fail, tc.frames
			c := startSocket(t, Options{}, engine).socket()
			c.text("Hello there.")
			sound := 0
			var e socketEvent
			for e.Type != eventProblem {
				var audio []byte
				var err error
				if e, audio, err = c.read(); err != nil {
					t.Fatal(err)
				}
				sound += len(audio)
			}
			if e.Code != tc.code || e.Fatal || *e.Utterance != 0 || (e.RetryAfter > 0) != tc.retry || strings.Contains(e.Message, "secret") || sound != tc.frames*2*fakeFrame {
				t.Errorf("after %d bytes: %+v", sound, e)
			}
			if tc.frames > 0 {
				if e := c.want(eventAudioDone); e.Finish != "error" || !e.Failed || e.Bytes != sound {
					t.Errorf("event %+v", e)
				}
			}
			c.text(" And what follows is left out.") // it is no new utterance
			c.say("input.done")
			if e := c.want(eventEnd); e.Finish != "error" || *e.Utterance != 0 {
				t.Errorf("event %+v", e)
			}
			engine.refuse, engine.fail = nil, nil
			c.text("Again.")
			c.say("input.done")
			if h := c.hear(1); !bytes.Equal(h.audio, soundOf("Again.")) || h.end.Finish != "stop" {
				t.Errorf("%d bytes", len(h.audio))
			}
		})
	}
}

// A cut utterance says so, also if its text has not ended.
func TestSocketLength(t *testing.T) {
	engine := newSocketFake()
	engine.most = 2
	c := startSocket(t, Options{}, engine).socket()
	c.text("A sentence that is too long for that.")
	c.want(eventAudioStart)
	c.read()
	c.read()
	if e := c.want(eventAudioDone); e.Finish != "length" || e.Frames != 2 {
		t.Errorf("event %+v", e)
	}
	c.text(" More.")
	c.say("input.done")
	if e := c.want(eventEnd); e.Finish != "length" {
		t.Errorf("event %+v", e)
	}
}

// TestSocketRTF: the RTF of what lies in a bracket is the engine's, which does not count its
// waits for text and for the client.
func TestSocketRTF(t *testing.T) {
	c := startSocket(t, Options{}, newSocketFake()).socket()
	for _, config := range []string{`{"type":"session.config"}`, `{"type":"session.config","speed":2}`} {
		c.say(config)
		c.want(eventUpdated)
		for _, piece := range []string{"One. ", "Two", " and three. ", "Four."} {
			c.text(piece)
		}
		c.say("input.done")
		for {
			e, _, err := c.read()
			if err != nil {
				t.Fatal(err)
			}
			if e.Type == eventAudioDone && e.RTF != 0.5 {
				t.Errorf("sentence %d: RTF %g", *e.Sentence, e.RTF)
			}
			if e.Type == eventEnd {
				break
			}
		}
	}
}

func TestSocketUpgrade(t *testing.T) {
	r := startSocket(t, Options{Keys: []string{"sk-good"}}, newSocketFake())
	dial := func(query string, header http.Header) (*websocket.Conn, *http.Response, error) {
		conn, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(r.url, "http")+socketPath+query, header)
		if err == nil {
			t.Cleanup(func() { conn.Close() })
		}
		return conn, resp, err
	}
	if _, resp, err := dial("", nil); err == nil || resp.StatusCode != 401 {
		t.Errorf("without a key: %v", resp)
	}
	if _, _, err := dial("?api_key=sk-good", nil); err != nil {
		t.Errorf("key in the query: %v", err)
	}
	if _, resp, err := dial("?api_key=sk-good", http.Header{"Origin": {"https://evil.example"}}); err == nil || resp.StatusCode != 403 {
		t.Errorf("foreign page: %v", resp)
	}
	conn, resp, err := dial("", http.Header{"Sec-Websocket-Protocol": {"openai-insecure-api-key.sk-good, realtime"}})
	if err != nil || conn.Subprotocol() != "realtime" || strings.Contains(resp.Header.Get("Sec-Websocket-Protocol"), "sk-good") || resp.Header.Get("X-Request-Id") == "" {
		t.Errorf("key in a subprotocol: %v, %v", err, resp)
	}
	for _, header := range [][]string{nil, {"Upgrade", "websocket"}, {"Upgrade", "websocket", "Connection", "Upgrade"}, {"Upgrade", "websocket", "Connection", "Upgrade", "Sec-Websocket-Version", "12"}} {
		req := r.request("GET", socketPath, "")
		req.Header.Set("Authorization", "Bearer sk-good")
		for i := 0; i < len(header); i += 2 {
			req.Header.Set(header[i], header[i+1])
		}
		wantError(t, r.do(req), 400, "", "websocket_expected")
	}
	wantError(t, r.post(socketPath, ""), 405, "", "method_not_allowed")
}

func TestSocketPlaces(t *testing.T) {
	r := startSocket(t, Options{Limits: Limits{WebSockets: 2}}, newSocketFake())
	a, b := r.socket(), r.socket()
	_, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(r.url, "http")+socketPath, nil)
	if err == nil || resp.StatusCode != 503 || resp.Header.Get("Retry-After") == "" {
		t.Fatalf("error %v, %v", err, resp)
	}
	a.say("session.close")
	a.closed(1000, "session_closed")
	eventually(t, "the place is free", func() bool { return r.metric("mynah_websockets") == "1" })
	r.socket()
	b.say("session.close")
	b.closed(1000, "session_closed")
}

func TestEstimate(t *testing.T) {
	for _, tc := range []struct {
		text  string
		speed float64
		ms    int64
	}{{"", 0, 400}, {"Hi", 1, 400}, {strings.Repeat("a", 100), 0, 6500}, {strings.Repeat("a", 100), 2, 3250}, {strings.Repeat("你", 10), 1, 2000}} {
		if got := estimate(tc.text, tc.speed).Milliseconds(); got != tc.ms {
			t.Errorf("%q at speed %g: %d ms, want %d", tc.text, tc.speed, got, tc.ms)
		}
	}
}
