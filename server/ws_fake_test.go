package server

import (
	"context"
	"encoding/json"
	"errors"
	"hash/fnv"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"github.com/mynah-tts/mynah/synth"
)

const socketPath = "/v1/audio/speech/stream"

// socketFake is an engine whose audio depends on the text alone: each sentence, up to
// a full stop, has a frame for every four of its bytes, whose samples are made of what
// it has said so far.
type socketFake struct {
	*fakeEngine
	step   chan struct{} // if not nil, each frame waits for one
	fail   error         // instead of frame failAt
	failAt int
	most   int // frames, after which it ends by length; 0 for no bound
	delay  time.Duration
}

func newSocketFake() *socketFake { return &socketFake{fakeEngine: newFake()} }

func (e *socketFake) SpeakPieces(ctx context.Context, r synth.Request) (PieceStream, error) {
	e.mu.Lock()
	e.requests = append(e.requests, r)
	e.mu.Unlock()
	if e.refuse != nil {
		return nil, e.refuse
	}
	e.open.Add(1)
	s := &pieceFake{engine: e, ctx: ctx}
	s.changed.L = &s.mu
	s.detach = context.AfterFunc(ctx, s.changed.Broadcast)
	return s, nil
}

type pieceFake struct {
	engine *socketFake
	ctx    context.Context
	detach func() bool

	mu      sync.Mutex
	changed sync.Cond
	text    string // not yet spoken
	flushed int    // bytes of text that a flush has ended
	ended   bool
	closed  bool

	started, over bool
	said          string // of the sentence under way
	left          int    // bytes of the sentence under way
	sentence      string // that is to be ended
	index, frames int
}

func (s *pieceFake) Write(piece string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.text += piece
	s.changed.Broadcast()
	return nil
}

func (s *pieceFake) Flush() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flushed = len(s.text)
	s.changed.Broadcast()
	return nil
}

func (s *pieceFake) End() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	s.changed.Broadcast()
	return nil
}

func (s *pieceFake) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.detach()
	if !s.closed {
		s.closed = true
		s.engine.open.Add(-1)
		s.changed.Broadcast()
	}
	return nil
}

// cut returns the next sentence, as far as it is known to end.
func (s *pieceFake) cut() (sentence string, ok bool) {
	end := strings.Index(s.text, ".") + 1
	if end == 0 && s.flushed > 0 {
		end = s.flushed
	}
	if end == 0 && s.ended {
		end = len(s.text)
	}
	if end == 0 {
		return "", false
	}
	sentence, s.text, s.flushed = s.text[:end], s.text[end:], max(0, s.flushed-end)
	return sentence, true
}

func (s *pieceFake) Next() (synth.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.over || s.closed {
		return nil, io.EOF
	}
	if !s.started {
		s.started = true
		return synth.Start{Seed: fakeSeed, Voice: "ryan", SampleRate: fakeRate}, nil
	}
	for s.left == 0 && s.ctx.Err() == nil {
		if said := s.said; said != "" {
			s.said, s.sentence = "", ""
			s.index++
			return synth.SegmentDone{Index: s.index - 1, Text: strings.TrimSpace(said), Frames: (len(said) + 3) / 4, FinishReason: synth.FinishStop}, nil
		}
		sentence, ok := s.cut()
		if ok && strings.TrimSpace(sentence) != "" {
			s.sentence, s.left = sentence, len(sentence)
			return synth.Segment{Index: s.index, Text: strings.TrimSpace(sentence), Frame: s.frames}, nil
		}
		if !ok && s.ended {
			return s.done(synth.FinishStop), nil
		}
		if !ok {
			s.changed.Wait()
		}
	}
	return s.frame()
}

func (s *pieceFake) frame() (synth.Event, error) {
	if s.engine.step != nil && s.ctx.Err() == nil {
		s.mu.Unlock()
		select {
		case <-s.engine.step:
		case <-s.ctx.Done():
		}
		s.mu.Lock()
	}
	switch {
	case s.ctx.Err() != nil:
		return s.done(synth.FinishCancelled), nil
	case s.engine.fail != nil && s.frames == s.engine.failAt:
		s.over = true
		return nil, s.engine.fail
	case s.engine.most > 0 && s.frames == s.engine.most:
		return s.done(synth.FinishLength), nil
	}
	time.Sleep(s.engine.delay)
	n := min(4, s.left)
	at := len(s.sentence) - s.left
	s.said += s.sentence[at : at+n]
	s.left -= n
	pcm := fakeSound(s.said)
	s.frames++
	s.engine.frames.Add(1)
	return synth.Audio{Frame: s.frames - 1, PCM: pcm, Codes: []int32{1}, Computing: time.Duration(s.frames) * 40 * time.Millisecond}, nil
}

// fakeSound is a frame that stands for a text.
func fakeSound(said string) []float32 {
	h := fnv.New32a()
	io.WriteString(h, said)
	pcm := make([]float32, fakeFrame)
	for i := range pcm {
		pcm[i] = float32(int32(h.Sum32()%60000)-30000) / 32768
	}
	return pcm
}

func (s *pieceFake) done(reason synth.FinishReason) synth.Event {
	s.over = true
	audio := time.Duration(s.frames) * 80 * time.Millisecond
	return synth.Done{FinishReason: reason, Seed: fakeSeed, Frames: s.frames, Samples: s.frames * fakeFrame, Audio: audio, Computing: audio / 2, Elapsed: 3 * audio}
}

// startSocket runs a server whose utterances are those of a socketFake.
func startSocket(t *testing.T, opts Options, engine *socketFake) *running {
	t.Helper()
	s := newServer(t, opts)
	if err := s.Use(context.Background(), engine); err != nil {
		t.Fatal(err)
	}
	return run(t, s, engine.fakeEngine)
}

// talk is a client.
type talk struct {
	t    testing.TB
	conn *websocket.Conn
}

// socketEvent is any event.
type socketEvent struct {
	Type         string   `json:"type"`
	SessionID    string   `json:"session_id"`
	Utterance    *int     `json:"utterance_index"`
	Sentence     *int     `json:"sentence_index"`
	Text         string   `json:"sentence_text"`
	Scope        string   `json:"scope"`
	Format       string   `json:"format"`
	ContentType  string   `json:"content_type"`
	SampleRate   int      `json:"sample_rate"`
	Estimate     int64    `json:"estimated_ms"`
	Voice        string   `json:"voice"`
	Seed         *int64   `json:"seed"`
	Bytes        int      `json:"total_bytes"`
	Frames       int      `json:"frames"`
	TTFA         int64    `json:"ttfa_ms"`
	RTF          float64  `json:"rtf"`
	Finish       string   `json:"finish_reason"`
	Failed       bool     `json:"error"`
	Sentences    int      `json:"total_sentences"`
	Code         string   `json:"code"`
	Message      string   `json:"message"`
	Param        *string  `json:"param"`
	Fatal        bool     `json:"fatal"`
	RetryAfter   int64    `json:"retry_after_ms"`
	IgnoredNames []string `json:"ignored_fields"`
}

// socket connects and reads session.created.
func (r *running) socket() *talk {
	r.t.Helper()
	c := r.rawSocket(nil)
	if e := c.event(); e.Type != eventCreated || *e.Utterance != 0 || e.SampleRate != fakeRate && r.engine != nil || e.Format != "pcm" || !strings.HasPrefix(e.SessionID, "sess_") {
		r.t.Fatalf("first event %+v", e)
	}
	return c
}

func (r *running) rawSocket(header http.Header) *talk {
	r.t.Helper()
	conn, resp, err := websocket.DefaultDialer.Dial("ws"+strings.TrimPrefix(r.url, "http")+socketPath, header)
	if err != nil {
		r.t.Fatalf("%v, %v", err, resp)
	}
	r.t.Cleanup(func() { conn.Close() })
	return &talk{r.t, conn}
}

// say sends messages: JSON, or types without any field.
func (c *talk) say(messages ...string) {
	c.t.Helper()
	for _, m := range messages {
		if !strings.HasPrefix(m, "{") {
			m = `{"type":"` + m + `"}`
		}
		if err := c.conn.WriteMessage(websocket.TextMessage, []byte(m)); err != nil {
			c.t.Fatal(err)
		}
	}
}

// text sends pieces of text.
func (c *talk) text(pieces ...string) {
	c.t.Helper()
	for _, p := range pieces {
		m, _ := json.Marshal(map[string]string{"type": "input.text", "text": p})
		c.say(string(m))
	}
}

// read reads one message: audio, or an event.
func (c *talk) read() (e socketEvent, audio []byte, err error) {
	_ = c.conn.SetReadDeadline(time.Now().Add(2 * time.Minute))
	kind, data, err := c.conn.ReadMessage()
	if err != nil {
		return e, nil, err
	}
	if kind == websocket.BinaryMessage {
		return e, data, nil
	}
	return e, nil, json.Unmarshal(data, &e)
}

// event reads the next message, which is an event.
func (c *talk) event() socketEvent {
	c.t.Helper()
	e, audio, err := c.read()
	if err != nil || audio != nil {
		c.t.Fatalf("wanted an event, got %d bytes of audio, error %v", len(audio), err)
	}
	return e
}

// want reads the next message, which is an event of a type.
func (c *talk) want(kind string) socketEvent {
	c.t.Helper()
	e := c.event()
	if e.Type != kind {
		c.t.Fatalf("wanted %s, got %+v", kind, e)
	}
	return e
}

// problem reads the next message, which is an error.
func (c *talk) problem(code string, utterance int) socketEvent {
	c.t.Helper()
	e := c.want(eventProblem)
	at := -1
	if e.Utterance != nil {
		at = *e.Utterance
	}
	if e.Code != code || at != utterance || e.Message == "" || strings.Contains(e.Message, "\n") {
		c.t.Fatalf("wanted the error %s of utterance %d, got %+v of %d", code, utterance, e, at)
	}
	return e
}

// heard is an utterance as its client gets it.
type heard struct {
	starts, dones []socketEvent
	problems      []socketEvent
	audio         []byte
	end           socketEvent
}

// hear reads an utterance to its end, and checks that its events enclose its audio.
func (c *talk) hear(index int) heard {
	c.t.Helper()
	var h heard
	bytes, open := 0, false
	for {
		e, audio, err := c.read()
		switch {
		case err != nil:
			c.t.Fatalf("utterance %d, after %d events: %v", index, len(h.starts)+len(h.dones), err)
		case audio != nil && !open:
			c.t.Fatalf("%d bytes of audio outside", len(audio))
		case audio != nil:
			h.audio = append(h.audio, audio...)
			bytes += len(audio)
			continue
		case e.Utterance == nil || *e.Utterance != index:
			c.t.Fatalf("utterance %d: event %+v", index, e)
		}
		switch e.Type {
		case eventAudioStart:
			if open || *e.Sentence != len(h.starts) {
				c.t.Fatalf("sentence %d of utterance %d: event %+v", len(h.starts), index, e)
			}
			h.starts, bytes, open = append(h.starts, e), 0, true
		case eventAudioDone:
			if open != (e.Sentence != nil) || open && *e.Sentence != len(h.starts)-1 || e.Bytes != bytes && open || !open && e.Bytes != 0 {
				c.t.Fatalf("after %d bytes of sentence %d of utterance %d: event %+v", bytes, len(h.starts)-1, index, e)
			}
			h.dones, open = append(h.dones, e), false
		case eventProblem:
			h.problems = append(h.problems, e)
		case eventEnd:
			h.end = e
			if open || e.Sentences != len(h.starts) {
				c.t.Fatalf("end of utterance %d with %d sentences, open %v: %+v", index, len(h.starts), open, e)
			}
			return h
		default:
			c.t.Fatalf("event %+v", e)
		}
	}
}

// closed reads to the end of the connection and checks why.
func (c *talk) closed(code int, reason string) []socketEvent {
	c.t.Helper()
	var events []socketEvent
	for {
		e, _, err := c.read()
		var end *websocket.CloseError
		switch {
		case errors.As(err, &end):
			if end.Code != code || end.Text != reason {
				c.t.Fatalf("closed with %d %q, want %d %q", end.Code, end.Text, code, reason)
			}
			return events
		case err != nil:
			c.t.Fatalf("closed with %v, want %d %q", err, code, reason)
		case e.Type != "":
			events = append(events, e)
		}
	}
}

// tcp is the connection below.
func (c *talk) tcp() *net.TCPConn { return c.conn.NetConn().(*net.TCPConn) }
