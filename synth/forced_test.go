package synth

import (
	"cmp"
	"context"
	"math"
	"slices"
	"testing"

	"github.com/mynah-tts/mynah/predictor"
)

// given feeds given codes to a predictor, whatever its logits.
type given struct{ codes []int32 }

func (g given) Pick(_ []float32, group int) (int, error) { return int(g.codes[group]), nil }

// teacherForced runs a model over given frames [n, groups] and returns the logits of
// code 0 [n][vocab] and of the residual codes [n*(groups-1)][vocab].
func teacherForced(t *testing.T, m *Model, r Request, frames []int32) (code0, residual [][]float32) {
	t.Helper()
	s, err := m.Speak(context.Background(), r)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	if _, err := s.Next(); err != nil { // Start: the prompt is assembled
		t.Fatal(err)
	}
	if err := s.prefill(); err != nil {
		t.Fatal(err)
	}
	m.ps.Tap = func(_, _ int, logits []float32) { residual = append(residual, slices.Clone(logits)) }
	defer func() { m.ps.Tap = nil }()
	groups := m.cfg.Talker.Groups
	for from := 0; from < len(frames); from += groups {
		code0 = append(code0, slices.Clone(s.state.Logits))
		codes := frames[from : from+groups]
		copy(s.codes, codes)
		m.talker.Code(s.embed, int(codes[0]))
		s.frame[0] = predictor.Frame{Hidden: s.state.Hidden, Embed: s.embed, Pick: given{codes}, Codes: s.codes}
		m.pred.Run(m.work, m.ps, s.frame[:])
		s.done.Frames++
		if err := s.hear(); err != nil {
			t.Fatal(err)
		}
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
