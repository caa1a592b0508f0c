package synth

import (
	"context"
	"math"

	"github.com/mynah-tts/mynah/internal/cpu"
	"github.com/mynah-tts/mynah/internal/packed"
	"github.com/mynah-tts/mynah/internal/profile"
)

// What a model speaks beside its twin after it was packed. None of it is among the texts
// that int4 codes are chosen by.
var parityTexts = []string{
	"The boats came back to the harbour before the rain, and nobody had seen them leave.",
	"Please bring twelve chairs, two lamps and the old table from the room upstairs.",
}

const (
	parityFrames = 12 // of each text
	paritySeed   = 42
)

// measureParity has a model that was just packed, and was not opened, speak beside its
// float32 twin. It returns nil if it says nothing at all.
func (m *Model) measureParity(ctx context.Context, dir string, p Precision) (*profile.Parity, error) {
	threads, _ := cpu.Threads()
	twin, err := OpenTwin(dir, "", threads)
	if err != nil {
		return nil, err
	}
	defer twin.Close()
	opts := Options{Precision: p, Threads: threads, MaxLive: 1}
	if err := opts.check(); err != nil {
		return nil, err
	}
	err = m.prepare(opts)
	defer m.team.Close()
	if err != nil {
		return nil, err
	}
	m.engine = newEngine(m, opts)
	defer m.engine.close()
	m.info = m.describe(dir, threads)
	for _, text := range parityTexts {
		r := Request{Text: text, Seed: new(int64(paritySeed)), MaxFrames: parityFrames}
		if m.cfg.Kind == Base {
			r.Reference = &Reference{XVector: make([]float32, m.cfg.Talker.Hidden)}
		}
		if err := m.compareWith(ctx, twin, r); err != nil {
			return nil, err
		}
	}
	if twin.frames == 0 && twin.err == nil {
		return nil, nil
	}
	return twin.Parity()
}

// compareWith speaks a request to its end with a tracer of the twin's.
func (m *Model) compareWith(ctx context.Context, t *Twin, r Request) error {
	s, err := m.SpeakTraced(ctx, r, t.Tracer())
	if err != nil {
		return err
	}
	defer s.Close()
	for event, err := range s.Events() {
		if err != nil {
			return err
		}
		if done, ok := event.(Done); ok && done.FinishReason == FinishCancelled {
			return ctx.Err()
		}
	}
	return nil
}

// parityHeader is what a packed file says of parity.
func parityHeader(p *profile.Parity) packed.Parity {
	if p == nil {
		return packed.Parity{}
	}
	h := packed.Parity{
		Frames: int(p.Frames), Code0Top1: p.Talker.Top1, Code0KL: p.Talker.KL,
		ResidualTop1: p.Residual.Top1, ResidualKL: p.Residual.KL,
	}
	switch {
	case p.Codec.Exact:
		h.CodecSNR = math.Inf(1)
	case p.Codec.SNR != nil:
		h.CodecSNR = *p.Codec.SNR
	}
	return h
}
