package synth

import (
	"context"
	"fmt"
	"io"
	"iter"
	"time"

	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/internal/profile"
	"github.com/mynah-tts/mynah/predictor"
	"github.com/mynah-tts/mynah/sampler"
	"github.com/mynah-tts/mynah/talker"
	"github.com/mynah-tts/mynah/talker/prompt"
)

// Stream is one utterance being spoken. It computes when asked for the next event,
// a frame at a time; streams of one model take turns. A Stream is for one goroutine.
type Stream struct {
	m       *Model
	ctx     context.Context
	plan    *plan
	started time.Time
	number  int // of the stream in a profile
	done    Done
	phase   phase
	err     error // what Next returns once the stream is over

	prompt   *prompt.Prompt
	state    *talker.State
	sound    *codec.State
	pick     *sampler.Talker
	states   [1]*talker.State   // state, as a batch
	frame    [1]predictor.Frame // the frame being made, as a batch
	residual *sampler.Residual
	row      []float32 // [hidden], the talker's next input
	text     []float32 // [hidden], one projected text token
	embed    []float32 // [hidden], of code 0
	codes    []int32   // [groups] of the last frame
	pcm      []float32 // [frame size]
}

// phase is where a stream stands.
type phase int

const (
	phaseStart  phase = iota // nothing computed yet
	phasePrompt              // Start was told, the prompt comes next
	phaseFrames              // the prompt is computed
	phaseOver                // Done was told, or an error
)

func (m *Model) newStream(ctx context.Context, p *plan) *Stream {
	h := m.cfg.Talker.Hidden
	s := &Stream{
		m: m, ctx: ctx, plan: p,
		pick:     sampler.NewTalker(p.talker, m.cfg.Talker.Vocab, m.cfg.Talker.CodecEOS),
		residual: sampler.NewResidual(p.residual, m.cfg.Talker.Predictor.Vocab, p.noise),
		row:      make([]float32, h), text: make([]float32, h), embed: make([]float32, h),
		codes: make([]int32, m.cfg.Talker.Groups), pcm: make([]float32, m.codec.Hop()),
		done: Done{Seed: p.seed},
	}
	return s
}

// Events yields the stream's events until its end. An error is the last thing it
// yields; a cancelled stream ends with Done and FinishCancelled.
func (s *Stream) Events() iter.Seq2[Event, error] {
	return func(yield func(Event, error) bool) {
		for {
			event, err := s.Next()
			if err == io.EOF {
				return
			}
			if !yield(event, err) || err != nil {
				return
			}
		}
	}
}

// Next returns the next event. After Done it returns io.EOF, after an error that
// error again.
func (s *Stream) Next() (Event, error) {
	if s.phase == phaseOver {
		return nil, s.err
	}
	event, err := s.next()
	switch err {
	case nil:
	case errEnd:
		event, err = s.finish(FinishStop), nil
	case errBound:
		event, err = s.finish(FinishLength), nil
	case errCancelled:
		event, err = s.finish(FinishCancelled), nil
	default:
		s.phase, s.err = phaseOver, err
	}
	return event, err
}

// Close ends the stream; it need not have come to its end.
func (s *Stream) Close() error {
	if s.phase != phaseOver {
		s.phase, s.err = phaseOver, io.EOF
	}
	s.state, s.sound, s.prompt = nil, nil, nil
	return nil
}

// finish closes the books.
func (s *Stream) finish(reason FinishReason) Done {
	s.phase, s.err = phaseOver, io.EOF
	d := &s.done
	d.FinishReason = reason
	d.Elapsed = time.Since(s.started)
	d.Samples = d.Frames * s.m.codec.Hop()
	d.Audio = time.Duration(d.Samples) * time.Second / time.Duration(s.m.codec.SampleRate())
	return *d
}

// next computes under the model's lock.
func (s *Stream) next() (Event, error) {
	s.m.mu.Lock()
	defer s.m.mu.Unlock()
	switch {
	case s.m.closed:
		return nil, ErrClosed
	case s.cancelled():
		return nil, errCancelled
	case s.phase == phaseStart:
		return s.start()
	case s.phase == phasePrompt:
		if err := s.prefill(); err != nil {
			return nil, err
		}
	}
	if err := s.step(); err != nil {
		return nil, err
	}
	if s.done.TTFA == 0 {
		s.done.TTFA = time.Since(s.started)
	}
	return Audio{Frame: s.done.Frames - 1, PCM: s.pcm, Codes: s.codes}, nil
}

func (s *Stream) cancelled() bool { return s.ctx.Err() != nil }

// start assembles the prompt.
func (s *Stream) start() (Event, error) {
	s.number = s.m.prof.Stream()
	s.m.prof.Begin(s.number, 0)
	var err error
	if s.prompt, err = s.m.prompts.Build(s.m.work, s.m.ts, s.plan.request); err != nil {
		return nil, err
	}
	s.m.prof.Lap(profile.Prompt)
	rows := len(s.prompt.Rows) / s.m.cfg.Talker.Hidden
	s.state = s.m.talker.NewState(rows + s.plan.frameBound)
	s.sound = s.m.codec.NewState(referenceFrames)
	s.phase = phasePrompt
	return Start{
		Seed: s.plan.seed, Voice: s.plan.voice, SampleRate: s.m.codec.SampleRate(), FrameBound: s.plan.frameBound,
		TextTokens: len(s.plan.request.Text), PromptRows: rows,
	}, nil
}

// prefill computes the prompt and brings the codec past the reference, if there is
// one: the voice goes on as if it had spoken that.
func (s *Stream) prefill() error {
	s.m.prof.Begin(s.number, 0)
	s.m.talker.Extend(s.m.work, s.m.ts, s.state, s.afterPrefix(), s.cancelled)
	if s.cancelled() {
		return errCancelled
	}
	s.m.talker.Logits(s.m.work, s.state)
	s.m.prof.Lap(profile.Prefill)
	if err := s.hearReference(); err != nil {
		return err
	}
	s.phase = phaseFrames
	return nil
}

// afterPrefix brings the talker past the rows before the text, from the cache if they
// are there, and returns the others.
func (s *Stream) afterPrefix() (rest []float32) {
	at := s.prompt.Prefix * s.m.cfg.Talker.Hidden
	rows, rest := s.prompt.Rows[:at], s.prompt.Rows[at:]
	key := prefixKey(rows)
	if p := s.m.prefixes.get(key); p != nil {
		s.state.Load(p)
		return rest
	}
	s.m.talker.Extend(s.m.work, s.m.ts, s.state, rows, s.cancelled)
	if !s.cancelled() {
		s.m.prefixes.put(key, s.state.Prefix())
	}
	return rest
}

func (s *Stream) hearReference() error {
	if len(s.plan.request.RefCodes) == 0 {
		return nil
	}
	groups, hop := s.m.cfg.Talker.Groups, s.m.codec.Hop()
	unheard := make([]float32, referenceFrames*hop)
	for codes := s.plan.request.RefCodes; len(codes) > 0; {
		n := min(referenceFrames, len(codes)/groups)
		if s.cancelled() {
			return errCancelled
		}
		if err := s.m.codec.Decode(s.m.work, s.m.cs, s.sound, unheard[:n*hop], codes[:n*groups]); err != nil {
			return fmt.Errorf("synth: reference: %w", err)
		}
		codes = codes[n*groups:]
	}
	s.m.prof.Lap(profile.Reference)
	return nil
}
