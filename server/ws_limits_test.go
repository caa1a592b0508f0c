package server

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/gorilla/websocket"
)

// endless is text for minutes of audio.
var endless = strings.Repeat("And on and on it goes. ", 149) + "And on it goes."

func TestSocketMistakes(t *testing.T) {
	r := startSocket(t, Options{Limits: Limits{InputRunes: 100, BodyBytes: 4096}}, newSocketFake())
	for _, tc := range []struct {
		name, message string
		code, param   string
	}{
		{"no JSON", `{"type":`, "invalid_message", ""},
		{"empty", ``, "invalid_message", ""},
		{"list", `[]`, "invalid_message", ""},
		{"twice", `{"type":"input.done","type":"input.done"}`, "invalid_message", ""},
		{"more", `{"type":"input.done"}{}`, "invalid_message", ""},
		{"not UTF-8", "{\"type\":\"input.text\",\"text\":\"\xff\"}", "invalid_message", ""},
		{"no type", `{"text":"a"}`, "missing_field", "type"},
		{"type null", `{"type":null}`, "invalid_type", "type"},
		{"type unknown", `{"type":"input.stop"}`, "unknown_type", "type"},
		{"no text", `{"type":"input.text"}`, "missing_field", "text"},
		{"text null", `{"type":"input.text","text":null}`, "invalid_type", "text"},
		{"text a number", `{"type":"input.text","text":1}`, "invalid_type", "text"},
		{"text a list", `{"type":"input.text","text":["a"]}`, "invalid_type", "text"},
		{"NUL", `{"type":"input.text","text":"a\u0000"}`, "invalid_value", "text"},
		{"too long", `{"type":"input.text","text":"` + strings.Repeat("é", 101) + `"}`, "string_above_max_length", "text"},
		{"no samples", `{"type":"playback.ack"}`, "missing_field", "played_samples"},
		{"negative samples", `{"type":"playback.ack","played_samples":-1}`, "invalid_value", "played_samples"},
		{"half a sample", `{"type":"playback.ack","played_samples":0.5}`, "invalid_value", "played_samples"},
		{"samples as text", `{"type":"playback.ack","played_samples":"1"}`, "invalid_type", "played_samples"},
		{"utterance as text", `{"type":"playback.ack","played_samples":1,"utterance_index":"1"}`, "invalid_type", "utterance_index"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			c := r.socket()
			if err := c.conn.WriteMessage(websocket.TextMessage, []byte(tc.message)); err != nil {
				t.Fatal(err)
			}
			e := c.want(eventProblem)
			if e.Code != tc.code || str(e.Param) != tc.param || e.Fatal || e.Message == "" || strings.ContainsAny(e.Message, "\n\x00") {
				t.Errorf("event %+v", e)
			}
			if e.Utterance != nil { // an utterance was begun by what was refused
				c.say("input.cancel")
				c.hear(*e.Utterance)
			}
			c.text("Still here.")
			c.say("input.done")
			for e, _, err := c.read(); e.Type != eventEnd || e.Finish != "stop"; e, _, err = c.read() {
				if err != nil {
					t.Fatal(err)
				}
			}
		})
	}
	c := r.socket()
	_ = c.conn.WriteMessage(websocket.BinaryMessage, []byte{1, 2})
	c.problem("binary_message", 0)
	c.say("input.done")
	c.want(eventEnd)
	for range 60 { // pieces count together
		c.text("b ")
	}
	c.problem("string_above_max_length", 1)
}

// TestSocketRefusedTextIsNoSuccess: an utterance that lost a piece of its text does not end
// as if all of it had been spoken, and the next one is as ever.
func TestSocketRefusedTextIsNoSuccess(t *testing.T) {
	r := startSocket(t, Options{Limits: Limits{InputRunes: 100}}, newSocketFake())
	for _, bad := range []string{strings.Repeat("a", 101), "nul \x00 here"} {
		c := r.socket()
		c.text("Hello. ")
		c.text(bad)
		c.text("Bye.")
		c.say("input.done")
		for {
			e, _, err := c.read()
			if err != nil {
				t.Fatal(err)
			}
			if e.Type == eventEnd {
				if e.Finish != "error" {
					t.Errorf("%+v of a text that was refused", e)
				}
				break
			}
		}
		c.text("Still here.")
		c.say("input.done")
		c.hear(1)
	}
}

func TestSocketTooManyMistakes(t *testing.T) {
	c := startSocket(t, Options{}, newSocketFake()).socket()
	for range maxMistakes - 1 {
		c.say("nonsense")
		c.problem("unknown_type", -1)
	}
	c.text("A success forgives.")
	c.say("input.done")
	c.hear(0)
	for range maxMistakes - 1 {
		c.say("nonsense")
		c.problem("unknown_type", -1)
	}
	c.say("input.done") // nothing was spoken: no success
	c.hear(1)
	c.say("nonsense")
	events := c.closed(1008, "too_many_errors")
	if last := events[len(events)-1]; last.Code != "too_many_errors" || !last.Fatal {
		t.Errorf("events %+v", events)
	}
}

func TestSocketMessageTooLarge(t *testing.T) {
	r := startSocket(t, Options{Limits: Limits{BodyBytes: 10_000}}, newSocketFake())
	c := r.socket()
	go c.conn.WriteMessage(websocket.TextMessage, make([]byte, 3<<20))
	if events := c.closed(1009, "message_too_large"); len(events) != 1 || !events[0].Fatal {
		t.Errorf("events %+v", events)
	}
	c = r.socket()
	go func() { // in fragments
		w, err := c.conn.NextWriter(websocket.TextMessage)
		for range 1000 {
			if err == nil {
				_, err = w.Write(make([]byte, 100))
			}
			if f, ok := w.(interface{ Flush() error }); ok && err == nil {
				err = f.Flush()
			}
		}
	}()
	c.closed(1009, "message_too_large")
}

func TestSocketTooManyUtterances(t *testing.T) {
	const most = 5
	engine := newSocketFake()
	engine.step = make(chan struct{})
	c := startSocket(t, Options{Limits: Limits{Utterances: most}}, engine).socket()
	for range most {
		c.text("One.")
		c.say("input.done")
	}
	c.want(eventAudioStart)
	c.text("One too many. ", "It is left out, ", "with one error.")
	c.problem("too_many_utterances", -1)
	c.say("input.done")
	close(engine.step)
	for ended := 0; ended < most; {
		e, _, err := c.read()
		if err != nil || e.Type == eventProblem {
			t.Fatalf("event %+v, error %v", e, err)
		}
		if e.Type == eventEnd {
			ended++
		}
	}
	c.text("Another.")
	c.say("input.done")
	c.hear(most)
}

// An utterance does not hold its place for text that does not come.
func TestSocketTextTimeout(t *testing.T) {
	engine := newSocketFake()
	c := startSocket(t, Options{Limits: Limits{TextTimeout: 50 * time.Millisecond}}, engine).socket()
	c.text("no full stop")
	c.problem("text_timeout", 0)
	if h := c.hear(0); len(h.audio) != 3*2*fakeFrame || h.end.Finish != "stop" {
		t.Errorf("%d bytes, %+v", len(h.audio), h.end)
	}
	c.text("Another.")
	c.say("input.done")
	c.hear(1)
}

func TestSocketIdle(t *testing.T) {
	const idle = time.Second
	engine := newSocketFake()
	engine.step = make(chan struct{})
	c := startSocket(t, Options{Limits: Limits{IdleTimeout: idle}}, engine).socket()
	c.text("One.")
	c.say("input.done")
	time.Sleep(2 * idle) // being spoken is not idle
	engine.step <- struct{}{}
	c.hear(0)
	events := c.closed(1008, "idle_timeout")
	if len(events) != 1 || events[0].Code != "idle_timeout" || !events[0].Fatal {
		t.Errorf("events %+v", events)
	}
}

// A connection on which nothing moves, not even answers to pings, is closed.
func TestSocketSilence(t *testing.T) {
	const silence = time.Second
	r := startSocket(t, Options{Limits: Limits{PingInterval: silence / 20, SilenceTimeout: silence}}, newSocketFake())
	c := r.socket()
	begun := time.Now()
	var pings atomic.Int32
	c.conn.SetPingHandler(func(string) error {
		pings.Add(1)
		return c.conn.WriteControl(websocket.PongMessage, nil, time.Now().Add(time.Second))
	})
	closed := make(chan error, 1)
	go func() {
		for {
			if _, _, err := c.conn.ReadMessage(); err != nil {
				closed <- err
				return
			}
		}
	}()
	quiet := r.socket()
	quiet.conn.SetPingHandler(func(string) error { return nil })
	quiet.closed(1008, "ping_timeout")
	eventually(t, "five pings come", func() bool { return pings.Load() >= 5 })
	time.Sleep(time.Until(begun.Add(2 * silence)))
	select {
	case err := <-closed:
		t.Errorf("closed although it answers: %v", err)
	default:
	}
	eventually(t, "it is the only one left", func() bool { return r.metric("mynah_websockets") == "1" })
}

// Pings are answered in the midst of audio, and a flood of them does no harm.
func TestSocketPingFlood(t *testing.T) {
	engine := newSocketFake()
	r := startSocket(t, Options{}, engine)
	c := r.socket()
	pongs := 0
	c.conn.SetPongHandler(func(string) error { pongs++; return nil })
	var pinging sync.WaitGroup
	pinging.Go(func() {
		for range 2000 {
			if c.conn.WriteControl(websocket.PingMessage, []byte("are you there"), time.Now().Add(time.Second)) != nil {
				return
			}
		}
	})
	c.text(endless)
	c.say("input.done")
	if h := c.hear(0); len(h.audio) != len(soundOf(endless)) {
		t.Errorf("%d bytes", len(h.audio))
	}
	pinging.Wait()
	if pongs == 0 {
		t.Error("no answer")
	}
	// The answers to a client that does not read them take no memory.
	for range 5000 {
		if err := c.conn.WriteControl(websocket.PingMessage, make([]byte, 125), time.Now().Add(10*time.Second)); err != nil {
			t.Fatal(err)
		}
	}
	c.text("Still there.")
	c.say("input.done")
	if h := c.hear(1); !bytes.Equal(h.audio, soundOf("Still there.")) {
		t.Errorf("%d bytes", len(h.audio))
	}
}

// A client that never reads has a bounded amount of audio computed for it, and is given
// up when a write has had its time.
func TestSocketNeverReads(t *testing.T) {
	engine := newSocketFake()
	const pending = 64 << 10
	r := startSocket(t, Options{Limits: Limits{WriteTimeout: 300 * time.Millisecond, PendingBytes: pending, InputRunes: 100_000}}, engine)
	c := r.socket()
	_ = c.tcp().SetReadBuffer(32 << 10)
	c.text(strings.Repeat(endless, 10))
	c.say("input.done")
	eventually(t, "it is counted", func() bool { return r.metric(`mynah_slow_clients_total{reason="write_timeout"}`) == "1" })
	eventually(t, "it is closed", func() bool { return engine.open.Load() == 0 && r.metric("mynah_websockets") == "0" })
	if made := int(engine.frames.Load()) * 2 * fakeFrame; made > 10*pending {
		t.Errorf("%d bytes of audio were computed", made)
	}
}

// One that reads slower than it hears holds a place of others.
func TestSocketLags(t *testing.T) {
	const ahead = 400 * time.Millisecond
	engine := newSocketFake()
	r := startSocket(t, Options{Limits: Limits{LagTimeout: time.Millisecond, ListenAhead: ahead, PendingBytes: 4096, InputRunes: 100_000}}, engine)
	c := r.socket()
	c.say(`{"type":"playback.ack","played_samples":0}`)
	// Nothing is heard: some audio may be ahead, and for as long may be waited.
	began := time.Now() // before the first sentence, at which the server begins
	c.text(strings.Repeat(endless, 2))
	c.say("input.done")
	c.closed(1008, "slow_client: lag")
	if took := time.Since(began); took < ahead {
		t.Errorf("closed after %v", took)
	}
	eventually(t, "it is counted", func() bool { return r.metric(`mynah_slow_clients_total{reason="lag"}`) == "1" })
}

// One that hears at half the tempo has twice the time.
func TestSocketLagsByTempo(t *testing.T) {
	const audio, lag, bit = time.Hour, 30 * time.Minute, time.Minute
	s := newServer(t, Options{Limits: Limits{LagTimeout: lag}})
	for speed, heard := range map[float64]time.Duration{0: audio, 1: audio, 0.5: 2 * audio, 2: audio / 2} {
		// deliver offers audio to a client that has heard nothing.
		deliver := func(blocked, most time.Duration) error {
			c := newSocket(s, newFake(), nil, nil)
			c.acks.Store(true)
			ctx, cancel := context.WithTimeout(context.Background(), most)
			defer cancel()
			u := &turn{socket: &c, form: encoding{format: formatPCM, speed: speed}, ctx: ctx, heard: make(chan struct{}, 1), blocked: blocked}
			u.audio.Store(int64(audio))
			return u.deliver(websocket.BinaryMessage, []byte{0, 0})
		}
		if err := deliver(heard+lag-bit, 50*time.Millisecond); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("speed %g, less than the lag behind, it was not waited for: %v", speed, err)
		}
		if reason, slow := asSlow(deliver(heard+lag+bit, 10*time.Second)); !slow || reason != slowLag {
			t.Errorf("speed %g, more than the lag behind, it was waited for", speed)
		}
	}
}

// Events that nobody reads are bounded as well.
func TestSocketEventFlood(t *testing.T) {
	r := startSocket(t, Options{Limits: Limits{PendingBytes: 1, WriteTimeout: time.Minute}}, newSocketFake())
	c := r.socket()
	_ = c.conn.SetWriteDeadline(time.Now().Add(20 * time.Second))
	for i := 0; i < 1_000_000; i++ {
		if c.conn.WriteMessage(websocket.TextMessage, []byte(`{"type":"input.cancel"}`)) != nil {
			break
		}
		if i%1000 == 0 && r.metric(`mynah_slow_clients_total{reason="pending_bytes"}`) == "1" {
			break
		}
	}
	eventually(t, "it is counted", func() bool { return r.metric(`mynah_slow_clients_total{reason="pending_bytes"}`) == "1" })
}

// A client that tells what it has played is never sent much more.
func TestSocketPlayback(t *testing.T) {
	engine := newSocketFake()
	r := startSocket(t, Options{}, engine)
	c := r.socket()
	ack := func(samples, index int) {
		c.say(fmt.Sprintf(`{"type":"playback.ack","played_samples":%d,"utterance_index":%d}`, samples, index))
	}
	ack(0, 0)
	c.text(endless)
	c.say("input.done")
	ahead := int(DefaultListenAhead / (80 * time.Millisecond)) // frames
	frames := 0
	for frames < ahead {
		_, audio, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		frames += len(audio) / 2 / fakeFrame
	}
	time.Sleep(50 * time.Millisecond)
	if made := int(engine.frames.Load()); made > ahead+2 {
		t.Errorf("%d frames were made, %d may be ahead", made, ahead)
	}
	ack(100*fakeFrame, 1) // of another utterance
	ack(10*fakeFrame, 0)
	for frames < ahead+10 {
		_, audio, err := c.read()
		if err != nil {
			t.Fatal(err)
		}
		frames += len(audio) / 2 / fakeFrame
	}
	time.Sleep(50 * time.Millisecond)
	if made := int(engine.frames.Load()); made > ahead+12 {
		t.Errorf("%d frames were made, %d may be ahead", made, ahead+10)
	}
	c.say(`{"type":"playback.ack","played_samples":9223372036854775807}`)
	for e, _, err := c.read(); e.Type != eventEnd; e, _, err = c.read() {
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Bytes that are no WebSocket at all.
func TestSocketGarbage(t *testing.T) {
	r := startSocket(t, Options{}, newSocketFake())
	for _, garbage := range []string{"", "GET ", strings.Repeat("\x81\xfe\xff\xff", 100), "\x88\x80\x00\x00\x00\x00", "\x89\xff"} {
		conn, err := net.Dial("tcp", strings.TrimPrefix(r.url, "http://"))
		if err != nil {
			t.Fatal(err)
		}
		io.WriteString(conn, "GET "+socketPath+" HTTP/1.1\r\nHost: localhost\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\r\n")
		head := make([]byte, 12)
		if _, err := io.ReadFull(conn, head); err != nil || string(head) != "HTTP/1.1 101" {
			t.Fatalf("%q, %v", head, err)
		}
		io.WriteString(conn, garbage)
		_ = conn.(*net.TCPConn).CloseWrite()
		io.Copy(io.Discard, conn)
		conn.Close()
	}
	eventually(t, "sessions are over", func() bool { return r.metric("mynah_websockets") == "0" })
}

// The log has a line for each utterance and one for the connection, without what was
// said or any key, unless text is asked for.
func TestSocketLog(t *testing.T) {
	for _, withText := range []bool{false, true} {
		var log syncBuffer
		r := startSocket(t, Options{Keys: []string{"sk-good"}, Log: slog.New(slog.NewJSONHandler(&log, nil)), LogText: withText}, newSocketFake())
		conn, _, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(r.url, "http")+socketPath+"?api_key=sk-good", nil)
		if err != nil {
			t.Fatal(err)
		}
		c := &talk{t, conn}
		c.want(eventCreated)
		c.text("Private words.")
		c.say("input.done")
		c.hear(0)
		c.text("...")
		c.say("input.done", `{"type":"private\nmatter"}`, "session.close")
		c.closed(1000, "session_closed")
		conn.Close()
		eventually(t, "the connection is logged", func() bool { return strings.Contains(log.String(), `"reason":"session_closed"`) })
		got := log.String()
		if n := strings.Count(got, `"msg":"utterance"`); n != 2 || !strings.Contains(got, `"finish":"stop"`) || !strings.Contains(got, `"status":101`) {
			t.Errorf("%d utterances in %s", n, got)
		}
		if strings.Contains(got, "Private words") != withText || strings.Contains(got, "matter") || strings.Contains(got, "sk-good") {
			t.Errorf("text %v: %s", withText, got)
		}
	}
}

// syncBuffer is a buffer that several goroutines use.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(p)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}
