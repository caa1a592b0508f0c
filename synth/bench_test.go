package synth

import (
	"context"
	"os"
	"testing"

	"github.com/mynah-tts/mynah/talker"
)

// benchModel opens the checkpoint that MYNAH_BENCH_MODEL names (tools/fullsize writes
// one), or the built-in voice, at the precision that MYNAH_BENCH_PRECISION names.
func benchModel(b *testing.B) *Model {
	b.Helper()
	precision, err := NamedPrecision(os.Getenv("MYNAH_BENCH_PRECISION"))
	if err != nil {
		b.Fatal(err)
	}
	m, err := OpenBuiltin(Options{Precision: precision})
	if dir := os.Getenv("MYNAH_BENCH_MODEL"); dir != "" {
		m, err = Open(dir, Options{Precision: precision})
	}
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Close() })
	return m
}

// benchStream brings a stream behind its first frames.
func benchStream(b *testing.B, m *Model) *Stream {
	b.Helper()
	s, err := m.Speak(context.Background(), Request{
		Text: "The boats came back to the harbour before the rain, and nobody had seen them leave.", Seed: new(int64(42)),
	})
	if err != nil {
		b.Fatal(err)
	}
	for range 4 {
		if _, err := s.Next(); err != nil {
			b.Fatal(err)
		}
	}
	return s
}

// BenchmarkTalkerStep is one decode step of the talker, logits included.
func BenchmarkTalkerStep(b *testing.B) {
	m := benchModel(b)
	s := benchStream(b, m)
	states := []*talker.State{m.talker.NewState(64)}
	b.ReportAllocs()
	for b.Loop() {
		if states[0].Positions() == states[0].Limit() {
			states[0].Reset()
		}
		m.talker.Step(m.work, m.ts, states, s.row)
	}
}

// BenchmarkPredictorFrame is all residual steps of one frame.
func BenchmarkPredictorFrame(b *testing.B) {
	m := benchModel(b)
	s := benchStream(b, m)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.fillCodes(1); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkCodecFrame is the decoding of one frame.
func BenchmarkCodecFrame(b *testing.B) {
	m := benchModel(b)
	s := benchStream(b, m)
	b.ReportAllocs()
	for b.Loop() {
		if err := m.codec.Decode(m.work, m.cs, s.sound, s.pcm, s.codes); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPrefill is a prompt of 256 positions.
func BenchmarkPrefill(b *testing.B) {
	const rows = 256
	m := benchModel(b)
	s := benchStream(b, m)
	prompt := make([]float32, rows*m.cfg.Talker.Hidden)
	for i := range prompt {
		prompt[i] = s.row[i%len(s.row)]
	}
	state := m.talker.NewState(rows)
	b.ReportAllocs()
	for b.Loop() {
		state.Reset()
		m.talker.Extend(m.work, m.ts, state, prompt, nil)
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "positions/s")
}
