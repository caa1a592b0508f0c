package synth

import (
	"fmt"
	"os"
	"slices"
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
	open := func() (*Model, error) { return OpenBuiltin(Options{Precision: precision}) }
	if dir := os.Getenv("MYNAH_BENCH_MODEL"); dir != "" {
		open = func() (*Model, error) { return Open(dir, Options{Precision: precision}) }
	}
	m, err := open()
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { m.Close() })
	return m
}

// benchUtterance brings an utterance behind its first frames.
func benchUtterance(b *testing.B, m *Model) *utterance {
	b.Helper()
	u := begun(b, m, Request{
		Text: "The boats came back to the harbour before the rain, and nobody had seen them leave.", Seed: new(int64(42)),
	})
	for range 3 {
		m.engine.step([]*utterance{u})
	}
	return u
}

// BenchmarkTalkerStep is one decode step of the talker, logits included.
func BenchmarkTalkerStep(b *testing.B) {
	m := benchModel(b)
	row := make([]float32, m.cfg.Talker.Hidden)
	m.prompts.FrameInput(row, benchUtterance(b, m).place.codes)
	states, x := []*talker.State{m.talker.NewState(64)}, slices.Clone(row)
	b.ReportAllocs()
	for b.Loop() {
		if states[0].Positions() == states[0].Limit() {
			states[0].Reset()
		}
		copy(x, row)
		m.talker.Step(m.work, m.ts, states, x)
	}
}

// BenchmarkPredictorFrame is all residual steps of one frame of so many streams.
func BenchmarkPredictorFrame(b *testing.B) {
	m := benchModel(b)
	for _, streams := range []int{1, 8} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			us := make([]*utterance, streams)
			for i := range us {
				us[i] = benchUtterance(b, m)
			}
			b.ReportAllocs()
			for b.Loop() {
				m.engine.fillCodes(us)
			}
		})
	}
}

// BenchmarkCodecFrame is the decoding of one frame.
func BenchmarkCodecFrame(b *testing.B) {
	m := benchModel(b)
	u := benchUtterance(b, m)
	b.ReportAllocs()
	for b.Loop() {
		if err := m.codec.Decode(m.work, m.cs, u.place.codec, u.place.pcm, u.place.codes); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkPrefill is a prompt of 256 positions.
func BenchmarkPrefill(b *testing.B) {
	const rows = 256
	m := benchModel(b)
	prompt, h := make([]float32, rows*m.cfg.Talker.Hidden), m.cfg.Talker.Hidden
	m.prompts.FrameInput(prompt[:h], benchUtterance(b, m).place.codes)
	for i := range prompt {
		prompt[i] = prompt[i%h]
	}
	state := m.talker.NewState(rows)
	b.ReportAllocs()
	for b.Loop() {
		state.Reset()
		m.talker.Extend(m.work, m.ts, state, prompt, nil)
	}
	b.ReportMetric(float64(rows)*float64(b.N)/b.Elapsed().Seconds(), "positions/s")
}
