package server

import (
	"context"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mynah-tts/mynah/internal/text"
	"github.com/mynah-tts/mynah/synth"
)

const (
	fakeRate  = 24000
	fakeFrame = 1920 // samples
)

// script is what one utterance of a fakeEngine does.
type script struct {
	frames  int
	finish  synth.FinishReason // "stop" if empty
	fail    error              // instead of frame failAt
	failAt  int
	stallAt int           // waits for its end before this frame; 0 for never
	step    chan struct{} // if not nil, each frame waits for one
}

// fakeEngine emits frames on command.
type fakeEngine struct {
	info   synth.Info
	script script
	choose func(synth.Request) (script, error) // instead of script and refuse, if not nil
	refuse error                               // of Speak
	warm   error                               // of the utterance that warms up

	mu       sync.Mutex
	requests []synth.Request
	drained  atomic.Bool
	open     atomic.Int64 // streams that were not closed
	frames   atomic.Uint64
}

func newFake() *fakeEngine {
	return &fakeEngine{
		info: synth.Info{
			Name: "/secret/place/Fake-Voice", Kind: synth.CustomVoice, SampleRate: fakeRate, FrameSize: fakeFrame,
			Speakers: []string{"ryan", "vivian"}, Languages: []string{"english"}, Instruct: true, MaxFrames: 1000,
		},
		script: script{frames: 3},
	}
}

func (e *fakeEngine) Info() synth.Info { return e.info }
func (e *fakeEngine) Drain()           { e.drained.Store(true) }
func (e *fakeEngine) Load() synth.Load {
	return synth.Load{Live: int(e.open.Load()), MaxLive: 8, MaxQueue: 64, Frames: e.frames.Load()}
}

// last is the request that Speak saw last.
func (e *fakeEngine) last() synth.Request {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.requests[len(e.requests)-1]
}

func (e *fakeEngine) Speak(ctx context.Context, r synth.Request) (Stream, error) {
	if !text.Speakable(r.Text) {
		return nil, &synth.RequestError{Param: "input", Message: "nothing to say"}
	}
	e.mu.Lock()
	e.requests = append(e.requests, r)
	e.mu.Unlock()
	if r.Text == warmUpText {
		if e.warm != nil {
			return nil, e.warm
		}
		return &fakeStream{engine: e, ctx: ctx, script: script{frames: 1}}, nil
	}
	if e.refuse != nil {
		return nil, e.refuse
	}
	chosen := e.script
	if e.choose != nil {
		var err error
		if chosen, err = e.choose(r); err != nil {
			return nil, err
		}
	}
	e.open.Add(1)
	return &fakeStream{engine: e, ctx: ctx, script: chosen, request: r, counted: true}, nil
}

func (e *fakeEngine) SpeakPieces(ctx context.Context, r synth.Request) (PieceStream, error) {
	s, err := e.Speak(ctx, synth.Request{Text: "pieces", Seed: r.Seed})
	if err != nil {
		return nil, err
	}
	return &fakePieces{s.(*fakeStream)}, nil
}

// fakePieces takes any text.
type fakePieces struct{ *fakeStream }

func (*fakePieces) Flush() error       { return nil }
func (*fakePieces) Write(string) error { return nil }
func (*fakePieces) End() error         { return nil }

type fakeStream struct {
	engine  *fakeEngine
	ctx     context.Context
	script  script
	request synth.Request
	counted bool
	at      int // frames so far, from -1 before Start
	started bool
	over    bool
	closed  atomic.Bool
}

const fakeSeed = 7

func (s *fakeStream) Next() (synth.Event, error) {
	switch {
	case s.over || s.closed.Load():
		return nil, io.EOF
	case s.ctx.Err() != nil:
		return s.done(synth.FinishCancelled), nil
	case !s.started:
		s.started = true
		return synth.Start{Seed: fakeSeed, Voice: "ryan", SampleRate: fakeRate, TextTokens: 5, FrameBound: 100}, nil
	case s.script.fail != nil && s.at == s.script.failAt:
		s.over = true
		return nil, s.script.fail
	case s.at == s.script.frames:
		return s.done(s.script.finish), nil
	case s.script.stallAt > 0 && s.at == s.script.stallAt:
		<-s.ctx.Done()
		return s.done(synth.FinishCancelled), nil
	}
	if s.script.step != nil {
		select {
		case <-s.script.step:
		case <-s.ctx.Done():
			return s.done(synth.FinishCancelled), nil
		}
	}
	pcm := make([]float32, fakeFrame)
	for i := range pcm {
		pcm[i] = float32(s.at+1) / 1000
	}
	s.at++
	s.engine.frames.Add(1)
	return synth.Audio{Frame: s.at - 1, PCM: pcm, Computing: time.Duration(s.at) * 40 * time.Millisecond}, nil
}

func (s *fakeStream) done(reason synth.FinishReason) synth.Event {
	s.over = true
	if reason == "" {
		reason = synth.FinishStop
	}
	audio := time.Duration(s.at) * 80 * time.Millisecond
	return synth.Done{FinishReason: reason, Seed: fakeSeed, Frames: s.at, TextTokens: 5, Samples: s.at * fakeFrame, Audio: audio, Computing: audio / 2, Elapsed: 3 * audio}
}

func (s *fakeStream) Close() error {
	if !s.closed.Swap(true) && s.counted {
		s.engine.open.Add(-1)
	}
	return nil
}
