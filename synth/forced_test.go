package synth

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/predictor"
)

// given feeds given codes to a predictor, whatever its logits.
type given struct{ codes []int32 }

func (g given) Pick(_ []float32, group int) (int, error) { return int(g.codes[group]), nil }

// begun returns an utterance that has come to its first frame. It is the test's own: the
// engine, which must be idle, does not know it.
func begun(t testing.TB, m *Model, r Request) *utterance {
	t.Helper()
	p, err := m.planWhole(r)
	if err != nil {
		t.Fatal(err)
	}
	u := &utterance{e: m.engine, m: m, s: newStream(context.Background(), m.engine, p), plan: p, script: p.script}
	for u.phase < phaseFrames {
		if err := u.prepare(time.Second); err != nil {
			t.Fatal(err)
		}
	}
	u.listen()
	return u
}

// teacherForced runs a model over given frames [n, groups] and returns the logits of
// code 0 [n][vocab] and of the residual codes [n*(groups-1)][vocab].
func teacherForced(t *testing.T, m *Model, r Request, frames []int32) (code0, residual [][]float32) {
	t.Helper()
	u := begun(t, m, r)
	m.ps.Tap = func(_, _ int, logits []float32) { residual = append(residual, slices.Clone(logits)) }
	defer func() { m.ps.Tap = nil }()
	groups, p := m.cfg.Talker.Groups, u.place
	for from := 0; from < len(frames); from += groups {
		code0 = append(code0, slices.Clone(p.talker.Logits))
		codes := frames[from : from+groups]
		copy(p.codes, codes)
		m.talker.Code(p.embed, int(codes[0]))
		frame := predictor.Frame{Hidden: p.talker.Hidden, Embed: p.embed, Pick: given{codes}, Codes: p.codes}
		m.pred.Run(m.work, m.ps, []predictor.Frame{frame})
		u.made++
		m.engine.hear([]*utterance{u})
	}
	return code0, residual
}

// code0Forced is teacherForced for code 0 alone.
func code0Forced(t *testing.T, m *Model, r Request, frames []int32) [][]float32 {
	t.Helper()
	code0, _ := teacherForced(t, m, r, frames)
	return code0
}

// choices returns the logits that code 0 is chosen from: codes and the end token.
func choices(m *Model, logits []float32) []float32 {
	return append(slices.Clone(logits[:m.cfg.Talker.Codes()]), logits[m.cfg.Talker.CodecEOS])
}

// likeliest returns the ids of the n largest logits, the largest first.
func likeliest(logits []float32, n int) []int {
	ids := make([]int, len(logits))
	for i := range ids {
		ids[i] = i
	}
	slices.SortStableFunc(ids, func(a, b int) int { return cmp.Compare(logits[b], logits[a]) })
	return ids[:n]
}

// logProbabilities is the logarithm of softmax.
func logProbabilities(logits []float32) []float64 {
	most, sum := float64(slices.Max(logits)), 0.0
	for _, x := range logits {
		sum += math.Exp(float64(x) - most)
	}
	p := make([]float64, len(logits))
	for i, x := range logits {
		p[i] = float64(x) - most - math.Log(sum)
	}
	return p
}
