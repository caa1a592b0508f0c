package synth

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/profile"
)

// notes is a tracer that writes down what it was shown.
type notes struct {
	calls  []string
	rows   int
	codes  []int32
	pcm    []float32
	logits []float32 // of the last choice
	heard  []float32 // the last row
}

func (n *notes) note(format string, args ...any) {
	n.calls = append(n.calls, fmt.Sprintf(format, args...))
}

func (n *notes) Begin(rows []float32, reference []int32) {
	n.rows = len(rows)
	n.note("begin %d", len(reference))
}

func (n *notes) Hear(row []float32) {
	n.heard = slices.Clone(row)
	n.note("hear %d", len(row))
}

func (n *notes) Choose(logits, hidden []float32) {
	n.logits = slices.Clone(logits)
	n.note("choose %d %d", len(logits), len(hidden))
}

func (n *notes) Residual(group int, logits []float32) { n.note("residual %d %d", group, len(logits)) }

func (n *notes) Frame(codes []int32, pcm []float32) {
	n.codes, n.pcm = append(n.codes, codes...), append(n.pcm, pcm...)
	n.note("frame")
}

// TestTracer checks what a tracer is shown and in which order, and that it changes
// nothing. Others speak meanwhile and are not shown.
func TestTracer(t *testing.T) {
	m := tiny(t, Base, 2)
	c := m.cfg.Talker
	frame := make([]int32, c.Groups)
	r := words(m)
	r.Reference.Codes, r.Reference.Text = [][]int32{frame, frame}, "What was said."
	wantCodes, wantPCM, _ := say(t, m, r)

	other, err := m.Speak(t.Context(), words(m))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	n := &notes{}
	s, err := m.SpeakTraced(context.Background(), r, n)
	if err != nil {
		t.Fatal(err)
	}
	codes, pcm, done := collect(t, s)
	if done.Frames != r.MaxFrames {
		t.Fatalf("%d frames only: the test is void", done.Frames)
	}
	equalPCM(t, "traced", pcm, wantPCM)
	equalPCM(t, "shown", n.pcm, wantPCM)
	if !equalCodes(codes, wantCodes) || !equalCodes(n.codes, wantCodes) {
		t.Error("other codes")
	}
	choose := fmt.Sprintf("choose %d %d", c.Vocab, c.Hidden)
	want := []string{fmt.Sprintf("begin %d", 2*c.Groups)}
	for range r.MaxFrames {
		want = append(want, choose)
		for group := 1; group < c.Groups; group++ {
			want = append(want, fmt.Sprintf("residual %d %d", group, c.Predictor.Vocab))
		}
		want = append(want, "frame", fmt.Sprintf("hear %d", c.Hidden))
	}
	want = append(want, choose) // whether the end comes next
	if !slices.Equal(n.calls, want) {
		t.Errorf("calls %q, want %q", n.calls, want)
	}
	collect(t, other) // then the engine is idle
	if m.ps.Tap != nil {
		t.Error("the predictor is traced on")
	}
	// Rows and logits belong together: another state that hears them gives the same.
	state := m.talker.NewState(100)
	var rows []float32
	second := &rowKeeper{rows: &rows}
	if s, err = m.SpeakTraced(context.Background(), r, second); err != nil {
		t.Fatal(err)
	}
	collect(t, s)
	m.talker.Extend(m.work, m.ts, state, rows, nil)
	m.talker.Logits(m.work, state)
	equalPCM(t, "logits", state.Logits, n.logits)
	if want := len(rows) - r.MaxFrames*c.Hidden; n.rows != want {
		t.Errorf("%d values of prompt rows, want %d", n.rows, want)
	}
}

// rowKeeper keeps all rows that the talker hears.
type rowKeeper struct {
	notes
	rows *[]float32
}

func (k *rowKeeper) Begin(rows []float32, _ []int32) { *k.rows = slices.Clone(rows) }
func (k *rowKeeper) Hear(row []float32)              { *k.rows = append(*k.rows, row...) }

// TestTracerSegments: each segment begins anew.
func TestTracerSegments(t *testing.T) {
	m := tiny(t, CustomVoice, 2)
	n := &notes{}
	s, err := m.SpeakTraced(t.Context(), Request{Text: strings.Repeat("Some words. ", 3), Seed: new(int64(1)), MaxFrames: 60, SegmentRunes: 1}, n)
	if err != nil {
		t.Fatal(err)
	}
	_, _, done := collect(t, s)
	begins := 0
	for _, call := range n.calls {
		if call == "begin 0" {
			begins++
		}
	}
	if begins != done.Segments || begins < 2 {
		t.Errorf("%d beginnings, %d segments", begins, done.Segments)
	}
	if _, err := m.SpeakTraced(t.Context(), Request{Text: "..."}, n); err == nil {
		t.Error("nothing to say was traced")
	}
}

// TestTracerOffAllocatesNothing guards what the frame loop asks about a tracer.
func TestTracerOffAllocatesNothing(t *testing.T) {
	m := tiny(t, CustomVoice, 1)
	u := begun(t, m, words(m))
	batch := []*utterance{u, u}
	if n := testing.AllocsPerRun(100, func() {
		u.traceBegin()
		u.traceRow(u.prompt.Pad)
		u.traceChoice()
		end := m.engine.traceResidual(batch)
		end()
		u.traceFrame()
	}); n != 0 {
		t.Errorf("a frame without a tracer allocates %v times", n)
	}
}

// BenchmarkRecorder is a frame of the built-in voice with the recorder off and on, by
// turns, and what it costs.
func BenchmarkRecorder(b *testing.B) {
	type side struct {
		m     *Model
		u     *utterance
		batch []*utterance
		spent time.Duration
	}
	var sides [2]side
	for i, r := range []*profile.Recorder{nil, profile.New(1 << 16)} {
		m, err := OpenBuiltin(Options{Profile: r, MaxLive: 1})
		if err != nil {
			b.Fatal(err)
		}
		b.Cleanup(func() { m.Close() })
		sides[i] = side{m: m, batch: make([]*utterance, 1)}
	}
	n := 0
	for b.Loop() {
		for i := range sides {
			s := &sides[(i+n)%2]
			if s.u == nil || s.u.made > 40 {
				s.u = benchUtterance(b, s.m)
			}
			s.batch[0] = s.u
			begun := time.Now()
			s.m.engine.step(s.batch)
			s.spent += time.Since(begun)
			for len(s.u.s.queue) > 0 {
				s.u.s.Next()
			}
		}
		n++
	}
	off, on := sides[0].spent.Seconds(), sides[1].spent.Seconds()
	b.ReportMetric(off/float64(n)*1e6, "µs/off")
	b.ReportMetric(on/float64(n)*1e6, "µs/on")
	b.ReportMetric(100*(on/off-1), "%cost")
}
