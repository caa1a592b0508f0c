package server

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

const speechPath = "/v1/audio/speech"

// oneStep lets so many frames go.
func oneStep(step chan struct{}, frames int) {
	for range frames {
		step <- struct{}{}
	}
}

func TestSpeechLeavesAsItIsProduced(t *testing.T) {
	for _, tc := range []struct {
		format, contentType string
		header              int // bytes before the samples
	}{{"wav", "audio/wav", 44}, {"pcm", "audio/pcm", 0}, {"WAV", "audio/wav", 44}} {
		t.Run(tc.format, func(t *testing.T) {
			engine := newFake()
			engine.script = script{frames: 3, step: make(chan struct{})}
			r := startWith(t, Options{}, engine)
			go oneStep(engine.script.step, 1)
			resp := r.post(speechPath, `{"model":"tts-1","input":"Hello.","voice":"RYAN","response_format":"`+tc.format+`"}`)
			if resp.StatusCode != 200 || resp.ContentLength != -1 {
				t.Fatalf("status %d, length %d", resp.StatusCode, resp.ContentLength)
			}
			first := make([]byte, tc.header+2*fakeFrame)
			if _, err := io.ReadFull(resp.Body, first); err != nil { // before the second frame is let go
				t.Fatal(err)
			}
			go oneStep(engine.script.step, 2)
			if rest := read(t, resp); len(rest) != 2*2*fakeFrame {
				t.Errorf("%d bytes more", len(rest))
			}
			if tc.header > 0 && (binary.LittleEndian.Uint32(first[4:]) != 0xFFFFFFFF || binary.LittleEndian.Uint32(first[40:]) != 0xFFFFFFFF) {
				t.Errorf("sizes in the header are %x and %x", first[4:8], first[40:44])
			}
			for name, want := range map[string]string{
				"Content-Type": tc.contentType, "Cache-Control": "no-store", "X-Accel-Buffering": "no", "X-Content-Type-Options": "nosniff",
				headerSeed: "7", headerVoice: "ryan", headerRate: "24000",
			} {
				if got := resp.Header.Get(name); got != want {
					t.Errorf("header %s is %q, want %q", name, got, want)
				}
			}
			if resp.Header.Get(headerTTFA) == "" || resp.Header.Get("X-Request-Id") == "" {
				t.Errorf("headers %v", resp.Header)
			}
			for name, want := range map[string]string{trailerFinish: "stop", trailerFrames: "3", trailerRTF: "0.500"} {
				if got := resp.Trailer.Get(name); got != want {
					t.Errorf("trailer %s is %q, want %q", name, got, want)
				}
			}
		})
	}
}

// Every format that can be made here: the bytes are of the type that they say.
func TestFormats(t *testing.T) {
	r := start(t, Options{})
	magic := map[string]string{"mp3": "\xff", "opus": "OggS", "aac": "\xff", "flac": "fLaC", "wav": "RIFF", "pcm": "!\x00"}
	for _, format := range formats() {
		resp := r.post(speechPath, `{"input":"Hello.","response_format":"`+format+`"}`)
		data := read(t, resp)
		if resp.StatusCode != 200 || !strings.HasPrefix(string(data), magic[format]) || !strings.HasPrefix(resp.Header.Get("Content-Type"), "audio/") {
			t.Errorf("%s: status %d, type %q, %d bytes: %q", format, resp.StatusCode, resp.Header.Get("Content-Type"), len(data), data[:min(16, len(data))])
		}
	}
	resp := r.post(speechPath, `{"input":"Hello."}`)
	if got := resp.Header.Get("Content-Type"); got != "audio/mpeg" {
		t.Errorf("without a format the type is %q", got)
	}
	read(t, resp)
}

func TestSpeedAndRate(t *testing.T) {
	engine := newFake()
	engine.script = script{frames: 25}
	r := startWith(t, Options{Format: "pcm"}, engine)
	length := func(fields string) int { return len(read(t, r.post(speechPath, `{"input":"Hello."`+fields+`}`))) }
	whole := 2 * 25 * fakeFrame
	if got := length(""); got != whole {
		t.Errorf("%d bytes", got)
	}
	plain, one := read(t, r.post(speechPath, `{"input":"Hello."}`)), read(t, r.post(speechPath, `{"input":"Hello.","speed":1.0}`))
	if !bytes.Equal(plain, one) {
		t.Error("speed 1.0 changes bytes")
	}
	if got := length(`,"sample_rate":48000`); got != 2*whole {
		t.Errorf("48 kHz: %d bytes, want %d", got, 2*whole)
	}
	if got := length(`,"speed":2`); got < whole*45/100 || got > whole*55/100 {
		t.Errorf("speed 2: %d bytes of %d", got, whole)
	}
}

// What fails before the first audio is a proper error, what fails later breaks off.
func TestFailures(t *testing.T) {
	secret := errors.New("talker: /secret/place: NaN")
	t.Run("frame 0", func(t *testing.T) {
		for _, stream := range streamFormats {
			engine := newFake()
			engine.script = script{frames: 9, fail: secret}
			r := startWith(t, Options{}, engine)
			resp := r.post(speechPath, `{"input":"Hello.","stream_format":"`+stream+`"}`)
			if message := wantError(t, resp, 500, "", "internal_error"); strings.Contains(message, "secret") {
				t.Errorf("message %q", message)
			}
		}
	})
	t.Run("frame 50", func(t *testing.T) {
		engine := newFake()
		engine.script = script{frames: 90, fail: secret, failAt: 50}
		r := startWith(t, Options{}, engine)
		resp := r.post(speechPath, `{"input":"Hello.","response_format":"pcm"}`)
		data, err := io.ReadAll(resp.Body)
		if err == nil || len(data) > 50*2*fakeFrame {
			t.Errorf("%d bytes, error %v", len(data), err)
		}
		if resp.Trailer.Get(trailerFinish) != "" || bytes.Contains(data, []byte("error")) {
			t.Errorf("trailer %v", resp.Trailer)
		}
	})
	t.Run("frame 50, events", func(t *testing.T) {
		engine := newFake()
		engine.script = script{frames: 90, fail: secret, failAt: 50}
		r := startWith(t, Options{}, engine)
		events := readEvents(t, r.post(speechPath, `{"input":"Hello.","response_format":"pcm","stream_format":"sse"}`))
		last := events[len(events)-1]
		if len(events) != 51 || last.name != eventError || strings.Contains(last.data, "secret") || !strings.Contains(last.data, `"code":"internal_error"`) {
			t.Errorf("%d events, the last is %v", len(events), last)
		}
	})
}

// In HTTP/1.0, which proxies speak, the end of the connection is the end of a body: a
// failure must not end it in the same way.
func TestFailureOverHTTP10(t *testing.T) {
	engine := newFake()
	r := startWith(t, Options{}, engine)
	for _, broken := range []bool{false, true} {
		engine.script = script{frames: 9}
		if broken {
			engine.script = script{frames: 9, fail: io.ErrUnexpectedEOF, failAt: 5}
		}
		conn := r.dial()
		io.WriteString(conn, strings.Replace(rawSpeech(`{"input":"Hello.","response_format":"pcm"}`), "HTTP/1.1", "HTTP/1.0", 1))
		if _, err := io.ReadAll(conn); (err != nil) != broken {
			t.Errorf("broken %v: error %v", broken, err)
		}
	}
}

type sseEvent struct{ name, data string }

// readEvents reads server-sent events, strictly in the form in which they are sent.
func readEvents(t *testing.T, resp *http.Response) []sseEvent {
	t.Helper()
	if got := resp.Header.Get("Content-Type"); got != "text/event-stream" {
		t.Fatalf("content type %q: %s", got, read(t, resp))
	}
	var events []sseEvent
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		e := sseEvent{name: strings.TrimPrefix(lines.Text(), "event: ")}
		if !lines.Scan() {
			t.Fatal("no data")
		}
		e.data = strings.TrimPrefix(lines.Text(), "data: ")
		if !lines.Scan() || lines.Text() != "" {
			t.Fatalf("no empty line after %q", e)
		}
		events = append(events, e)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return events
}

func TestEvents(t *testing.T) {
	r := start(t, Options{})
	events := readEvents(t, r.post(speechPath, `{"input":"Hello.","response_format":"pcm","stream_format":"SSE"}`))
	if len(events) != 4 {
		t.Fatalf("%d events: %v", len(events), events)
	}
	var pcm []byte
	for _, e := range events[:3] {
		var delta struct {
			Type  string
			Audio []byte
		}
		if err := json.Unmarshal([]byte(e.data), &delta); err != nil || e.name != "speech.audio.delta" || delta.Type != e.name || len(delta.Audio)%2 != 0 {
			t.Errorf("event %v: %v", e, err)
		}
		pcm = append(pcm, delta.Audio...)
	}
	if want := read(t, r.post(speechPath, `{"input":"Hello.","response_format":"pcm"}`)); !bytes.Equal(pcm, want) {
		t.Error("events carry other audio than the bare form")
	}
	want := `{"type":"speech.audio.done","usage":{"input_tokens":5,"output_tokens":3,"total_tokens":8},"finish_reason":"stop","frames":3,"seed":7,"ttfa_ms":`
	if e := events[3]; e.name != "speech.audio.done" || !strings.HasPrefix(e.data, want) {
		t.Errorf("event %v, want %s", e, want)
	}
}

func TestCutAudioSaysSo(t *testing.T) {
	engine := newFake()
	engine.script = script{frames: 3, finish: synth.FinishLength}
	r := startWith(t, Options{}, engine)
	resp := r.post(speechPath, `{"input":"Hello.","max_new_tokens":3}`)
	read(t, resp)
	if got := resp.Trailer.Get(trailerFinish); got != "length" {
		t.Errorf("trailer %q", got)
	}
	events := readEvents(t, r.post(speechPath, `{"input":"Hello.","stream_format":"sse"}`))
	if last := events[len(events)-1]; !strings.Contains(last.data, `"finish_reason":"length"`) {
		t.Errorf("event %v", last)
	}
}

// A client that goes away ends its utterance, whatever that is doing.
func TestClientGoesAway(t *testing.T) {
	for _, tc := range []struct {
		name   string
		script script
		leave  func(t *testing.T, c *net.TCPConn)
	}{
		{"reset while frames come", script{frames: 1 << 30}, func(t *testing.T, c *net.TCPConn) { _ = c.SetLinger(0); c.Close() }},
		{"closed while it waits", script{frames: 9, stallAt: 2}, func(t *testing.T, c *net.TCPConn) { c.Close() }},
		{"half closed", script{frames: 9, stallAt: 2}, func(t *testing.T, c *net.TCPConn) { _ = c.CloseWrite() }},
	} {
		t.Run(tc.name, func(t *testing.T) {
			engine := newFake()
			engine.script = tc.script
			r := startWith(t, Options{}, engine)
			conn := r.dial()
			defer conn.Close()
			io.WriteString(conn, rawSpeech(`{"input":"Hello.","response_format":"pcm"}`))
			if _, err := io.ReadFull(conn, make([]byte, 2*fakeFrame)); err != nil {
				t.Fatal(err)
			}
			tc.leave(t, conn)
			eventually(t, "the stream is closed", func() bool { return engine.open.Load() == 0 })
			eventually(t, "it is counted", func() bool { return r.metric(`mynah_utterances_total{reason="cancelled"}`) == "1" })
		})
	}
}

// rawSpeech is a request as bytes.
func rawSpeech(body string) string {
	var b bytes.Buffer
	req, _ := http.NewRequest("POST", "http://localhost"+speechPath, strings.NewReader(body))
	req.Header.Set("Content-Type", "application/json")
	_ = req.Write(&b)
	return b.String()
}

func (r *running) dial() *net.TCPConn {
	r.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { conn.Close() })
	return conn.(*net.TCPConn)
}

// metric is the value of a line of /metrics, "" if there is none.
func (r *running) metric(name string) string {
	r.t.Helper()
	for line := range strings.Lines(string(read(r.t, r.get("/metrics")))) {
		if value, ok := strings.CutPrefix(line, name+" "); ok {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

// A client that never reads is given up when a write has had its time.
func TestClientThatNeverReads(t *testing.T) {
	engine := newFake()
	engine.script = script{frames: 1 << 30}
	r := startWith(t, Options{Limits: Limits{WriteTimeout: 100 * time.Millisecond}}, engine)
	conn := r.dial()
	_ = conn.SetReadBuffer(4096)
	io.WriteString(conn, rawSpeech(`{"input":"Hello.","response_format":"pcm"}`))
	eventually(t, "the stream is closed", func() bool { return engine.frames.Load() > 0 && engine.open.Load() == 0 })
	eventually(t, "it is counted", func() bool { return r.metric(`mynah_slow_clients_total{reason="write_timeout"}`) == "1" })
}

// A client that reads, but slower than it hears, is given up as well. What it hears is as
// long as its tempo makes it.
func TestClientThatLags(t *testing.T) {
	const audio, lag, bit = time.Hour, 30 * time.Minute, time.Minute
	for speed, heard := range map[float64]time.Duration{0: audio, 1: audio, 0.5: 2 * audio, 0.25: 4 * audio, 2: audio / 2} {
		s := newServer(t, Options{Limits: Limits{LagTimeout: lag}})
		w := newResponse(discard{}, time.Minute)
		a := &answer{w: w, utterance: utterance{server: s}, encoding: encoding{format: "pcm", speed: speed}}
		a.send = a.sendBytes
		a.utterance.audio.Store(int64(audio))
		w.blocked = heard + lag - bit
		if _, err := a.Write([]byte{0, 0}); err != nil {
			t.Errorf("speed %g, less than the lag behind: %v", speed, err)
		}
		w.blocked = heard + lag + bit
		var slow *slowError
		if _, err := a.Write([]byte{0, 0}); !errors.As(err, &slow) || slow.reason != slowLag || !errors.Is(err, errClientGone) {
			t.Errorf("speed %g, more than the lag behind: %v", speed, err)
		}
	}
}

// discard is a ResponseWriter that takes everything.
type discard struct{}

func (discard) Header() http.Header         { return http.Header{} }
func (discard) Write(p []byte) (int, error) { return len(p), nil }
func (discard) WriteHeader(int)             {}
func (discard) Flush()                      {}

func TestQueueIsFull(t *testing.T) {
	engine := newFake()
	engine.refuse = synth.ErrBusy
	r := startWith(t, Options{}, engine)
	resp := r.post(speechPath, `{"input":"Hello."}`)
	wantError(t, resp, 429, "", "queue_full")
	if got := resp.Header.Get("Retry-After"); got != "2" {
		t.Errorf("Retry-After %q", got)
	}
}

func TestHTTP2(t *testing.T) {
	engine := newFake()
	r := startHTTP2(t, Options{}, engine)
	resp := r.post(speechPath, `{"input":"Hello.","response_format":"pcm"}`)
	if data := read(t, resp); resp.ProtoMajor != 2 || len(data) != 3*2*fakeFrame || resp.Trailer.Get(trailerFinish) != "stop" {
		t.Errorf("protocol %s, %d bytes, trailer %v", resp.Proto, len(data), resp.Trailer)
	}
	engine.script = script{frames: 9, fail: io.ErrUnexpectedEOF, failAt: 5}
	resp = r.post(speechPath, `{"input":"Hello.","response_format":"pcm"}`)
	if _, err := io.ReadAll(resp.Body); err == nil {
		t.Error("a failure looks complete")
	}
}
