package page

import (
	"context"
	"io"
	"math"
	"strings"
	"sync"
	"time"
	"unicode"

	"github.com/mynah-tts/mynah/server"
	"github.com/mynah-tts/mynah/synth"
)

const (
	sampleRate = 24000
	frameSize  = 1920
	frameTime  = 80 * time.Millisecond
)

// engine speaks in tones: each letter lasts 65 ms, each frame takes a set time.
type engine struct {
	kind synth.Kind

	mu      sync.Mutex
	frame   time.Duration // that one frame takes to be made
	refuse  error
	fail    int // frames after which it fails; 0 for never
	spoken  []synth.Request
	texts   []string // of ended or cancelled streams
	live    int
	stopped int // streams that were cancelled
}

func (e *engine) set(change func()) {
	e.mu.Lock()
	defer e.mu.Unlock()
	change()
}

// alive is how many streams are open.
func (e *engine) alive() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.live
}

func (e *engine) Info() synth.Info {
	return synth.Info{
		Name: "tones", Kind: e.kind, SampleRate: sampleRate, FrameSize: frameSize,
		Speakers: []string{"low", "high"}, Languages: []string{"english", "german"}, Instruct: true, MaxFrames: 100000,
	}
}

func (e *engine) Drain()           {}
func (e *engine) Load() synth.Load { return synth.Load{MaxLive: 8, MaxQueue: 64} }

func (e *engine) Speak(ctx context.Context, r synth.Request) (server.Stream, error) {
	s, err := e.SpeakPieces(ctx, r)
	if err != nil {
		return nil, err
	}
	_ = s.Write(r.Text)
	_ = s.End()
	return s, nil
}

func (e *engine) SpeakPieces(ctx context.Context, r synth.Request) (server.PieceStream, error) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.refuse != nil {
		return nil, e.refuse
	}
	e.spoken = append(e.spoken, r)
	e.live++
	seed := int64(7)
	if r.Seed != nil && *r.Seed >= 0 {
		seed = *r.Seed
	}
	s := &stream{engine: e, ctx: ctx, request: r, seed: seed, began: time.Now()}
	s.changed.L = &s.mu
	context.AfterFunc(ctx, s.changed.Broadcast)
	return s, nil
}

// stream says each sentence once it ends.
type stream struct {
	engine  *engine
	ctx     context.Context
	request synth.Request
	seed    int64
	began   time.Time

	mu      sync.Mutex
	changed sync.Cond
	text    string
	said    int // bytes of text
	end     bool
	flush   int
	closed  bool

	started  bool
	over     bool
	left     int // frames of the sentence under way
	sentence string
	index    int
	frames   int
	phase    float64
	next     time.Time
}

func (s *stream) Write(piece string) error { return s.tell(func() { s.text += piece }) }
func (s *stream) Flush() error             { return s.tell(func() { s.flush = len(s.text) }) }
func (s *stream) End() error               { return s.tell(func() { s.end = true; s.flush = len(s.text) }) }

func (s *stream) tell(change func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	change()
	s.changed.Broadcast()
	return nil
}

func (s *stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return nil
	}
	s.closed = true
	s.engine.set(func() {
		s.engine.live--
		s.engine.texts = append(s.engine.texts, s.text)
		if s.ctx.Err() != nil {
			s.engine.stopped++
		}
	})
	return nil
}

// cut takes the next sentence. The first words are spoken as soon as they are there.
func (s *stream) cut() string {
	rest := s.text[s.said:]
	n := strings.IndexAny(rest, ".!?") + 1
	if n == 0 && s.flush > s.said {
		n = s.flush - s.said
	}
	s.said += n
	return rest[:n]
}

func (s *stream) Next() (synth.Event, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.over:
		return nil, io.EOF
	case !s.started:
		s.started, s.next = true, time.Now()
		voice := s.request.Voice
		if voice == "" {
			voice = "low"
		}
		return synth.Start{Seed: s.seed, Voice: voice, SampleRate: sampleRate}, nil
	}
	for s.left == 0 && s.ctx.Err() == nil {
		if s.sentence != "" {
			text := s.sentence
			s.sentence = ""
			s.index++
			return synth.SegmentDone{Index: s.index - 1, Text: text, FinishReason: synth.FinishStop}, nil
		}
		if sentence := strings.TrimSpace(s.cut()); strings.ContainsFunc(sentence, unicode.IsLetter) {
			s.sentence = sentence
			s.left = max(5, int(float64(len([]rune(sentence)))*0.065/frameTime.Seconds()))
			s.next = time.Now()
			return synth.Segment{Index: s.index, Text: sentence, Frame: s.frames}, nil
		}
		if s.end && s.said == len(s.text) {
			return s.done(synth.FinishStop), nil
		}
		if s.said == len(s.text) || s.flush <= s.said {
			s.changed.Wait()
		}
	}
	if s.ctx.Err() != nil {
		return s.done(synth.FinishCancelled), nil
	}
	return s.make()
}

func (s *stream) make() (synth.Event, error) {
	e := s.engine
	e.mu.Lock()
	each, fail := e.frame, e.fail
	e.mu.Unlock()
	s.next = s.next.Add(each)
	select {
	case <-time.After(time.Until(s.next)):
	case <-s.ctx.Done():
		return s.done(synth.FinishCancelled), nil
	}
	if fail > 0 && s.frames == fail {
		s.over = true
		return nil, io.ErrUnexpectedEOF
	}
	pcm := make([]float32, frameSize)
	pitch := 150.0
	if s.request.Voice == "high" {
		pitch = 260
	}
	for i := range pcm {
		at := float64(s.frames*frameSize+i) / sampleRate
		s.phase += 2 * math.Pi * pitch * (1 + 0.1*math.Sin(at*3)) / sampleRate
		loud := 0.12 + 0.5*math.Abs(math.Sin(at*7.3)*math.Sin(at*1.9+0.4))
		pcm[i] = float32(loud * (math.Sin(s.phase) + 0.4*math.Sin(2*s.phase) + 0.2*math.Sin(3*s.phase)) / 1.6)
	}
	s.frames++
	s.left--
	return synth.Audio{Frame: s.frames - 1, PCM: pcm, Codes: make([]int32, 16), Computing: time.Since(s.began)}, nil
}

func (s *stream) done(reason synth.FinishReason) synth.Event {
	s.over = true
	return synth.Done{
		FinishReason: reason, Seed: s.seed, Segments: s.index, Frames: s.frames, Samples: s.frames * frameSize,
		Computing: time.Since(s.began), Elapsed: time.Since(s.began), Audio: time.Duration(s.frames) * frameTime,
	}
}
