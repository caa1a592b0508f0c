package synth

import (
	"fmt"
	"math"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// agreement is how far logits of a precision are from those in float32.
type agreement struct {
	n, top1 int
	top5    float64 // sum of the shares of the five largest that are the same
	kl      float64 // sum of KL(float32 || precision), in nats
	worst   float64 // largest difference of a logit
}

// add compares two sets of logits.
func (a *agreement) add(want, got []float32) {
	a.n++
	w, g := likeliest(want, 5), likeliest(got, 5)
	if w[0] == g[0] {
		a.top1++
	}
	for _, id := range w {
		if slices.Contains(g, id) {
			a.top5 += 1.0 / 5
		}
	}
	p, q := logProbabilities(want), logProbabilities(got)
	for i := range p {
		a.kl += math.Exp(p[i]) * (p[i] - q[i])
		a.worst = max(a.worst, math.Abs(float64(want[i]-got[i])))
	}
}

func (a *agreement) String() string {
	n := float64(a.n)
	return fmt.Sprintf("top-1 %.1f %%, top-5 %.1f %%, KL %.4f, largest difference %.2f", 100*float64(a.top1)/n, 100*a.top5/n, a.kl/n, a.worst)
}

// TestPrecisionAgreement states how well each packed precision agrees with float32 on
// the built-in voice, under teacher forcing with the reference's codes, and holds floors
// and a bound of the divergence. docs/performance.md has the figures.
func TestPrecisionAgreement(t *testing.T) {
	var spec struct {
		Cases []struct {
			Name         string `json:"name"`
			Text         string `json:"text"`
			NonStreaming bool   `json:"non_streaming_mode"`
		} `json:"cases"`
	}
	paritytest.ReadJSON(t, paritytest.Voice(t, "english.json"), &spec)
	golden := paritytest.Open(t, filepath.Dir(paritytest.Voice(t, "english.json")), "english.safetensors")
	float32s := openBuiltin(t, Float32Precision)
	for _, c := range []struct {
		p                      Precision
		floor0, floorResiduals float64 // of top-1 agreement
		most0                  float64 // of the KL divergence of code 0
	}{
		{Precision{Talker: "bf16", Predictor: "int8"}, 0.95, 0.9, 0.001},
		{Precision{Talker: "int4-a16", Predictor: "int4"}, 0.77, 0.72, 0.09},
		{Precision{Talker: "int4-a8", Predictor: "int8"}, 0.77, 0.82, 0.09},
	} {
		m := openBuiltin(t, c.p)
		var code0, residual agreement
		for _, u := range spec.Cases {
			r := Request{Text: u.Text, Language: "english", Layout: LayoutStreaming}
			if u.NonStreaming {
				r.Layout = LayoutWhole
			}
			frames := golden.I32(t, u.Name+"/codes")
			want0, wantResidual := teacherForced(t, float32s, r, frames)
			got0, gotResidual := teacherForced(t, m, r, frames)
			for i := range want0 {
				code0.add(choices(m, want0[i]), choices(m, got0[i]))
			}
			for i := range wantResidual {
				residual.add(wantResidual[i], gotResidual[i])
			}
		}
		t.Logf("talker %s, %d frames: %v", c.p.Talker, code0.n, &code0)
		t.Logf("predictor %s, %d codes: %v", c.p.Predictor, residual.n, &residual)
		if share := float64(code0.top1) / float64(code0.n); share < c.floor0 {
			t.Errorf("talker %s: %.3f of code 0 agree, wanted %.2f", c.p.Talker, share, c.floor0)
		}
		if kl := code0.kl / float64(code0.n); !(kl < c.most0) {
			t.Errorf("talker %s: KL divergence %.4f, wanted below %.4f", c.p.Talker, kl, c.most0)
		}
		if share := float64(residual.top1) / float64(residual.n); share < c.floorResiduals {
			t.Errorf("talker %s, predictor %s: %.3f of the residual codes agree, wanted %.2f", c.p.Talker, c.p.Predictor, share, c.floorResiduals)
		}
	}
}

// openBuiltin opens the built-in voice at a precision.
func openBuiltin(t *testing.T, p Precision) *Model {
	t.Helper()
	m, err := OpenBuiltin(Options{Threads: 2, Precision: p})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}
