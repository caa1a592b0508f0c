package profile

import (
	"bytes"
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// somewhatOff is a parity with figures of all kinds.
func somewhatOff() *Parity {
	var tally Tally
	tally.Add([]float32{3, 2, 1, 0, -1, -2}, []float32{2, 3, 1, 0, -1, 0.5})
	var sound SoundTally
	sound.Add([]float32{0.5, -0.5}, []float32{0.5, -0.4995})
	q := &Parity{Frames: 1, Talker: tally.Agreement(0), Residual: tally.Agreement(AllGroups), EndToEnd: tally.Agreement(AllGroups), Codec: sound.Sound()}
	for group := 1; group <= 2; group++ {
		q.Groups, q.EndToEndGroups = append(q.Groups, tally.Agreement(group)), append(q.EndToEndGroups, tally.Agreement(group))
	}
	return q
}

// TestTally compares with the definitions, on random logits.
func TestTally(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	var tally Tally
	const n, size = 20, 50
	first, shared, kl, worst := 0, 0, 0.0, 0.0
	for range n {
		want, got := make([]float32, size), make([]float32, size)
		for i := range want {
			want[i] = float32(rng.NormFloat64() * 3)
			got[i] = want[i] + float32(rng.NormFloat64())
			worst = max(worst, math.Abs(float64(want[i])-float64(got[i])))
		}
		tally.Add(want, got)
		a, b := ranked(want), ranked(got)
		if a[0] == b[0] {
			first++
		}
		for _, id := range a {
			if slices.Contains(b, id) {
				shared++
			}
		}
		p, q := softmax(want), softmax(got)
		for i := range p {
			kl += p[i] * math.Log(p[i]/q[i])
		}
	}
	a := tally.Agreement(3)
	if a.Group != 3 || a.Choices != n || a.Top1 != float64(first)/n || a.Top5 != float64(shared)/(5*n) || math.Abs(a.KL-kl/n) > 1e-9 || a.Worst != worst {
		t.Errorf("%+v, want top-1 %d, top-5 %d of %d, KL %g, worst %g", a, first, shared, n, kl/n, worst)
	}
	var twice Tally
	twice.Join(&tally)
	twice.Join(&tally)
	if b := twice.Agreement(3); b.Choices != 2*n || b.Top1 != a.Top1 || b.Top5 != a.Top5 || b.KL != a.KL || b.Worst != a.Worst {
		t.Errorf("joined with itself: %+v, want %+v", b, a)
	}
}

func ranked(logits []float32) []int {
	ids := make([]int, len(logits))
	for i := range ids {
		ids[i] = i
	}
	slices.SortStableFunc(ids, func(a, b int) int { return int(math.Copysign(1, float64(logits[b]-logits[a]))) })
	return ids[:top]
}

func softmax(logits []float32) []float64 {
	p, sum := make([]float64, len(logits)), 0.0
	for i, x := range logits {
		p[i] = math.Exp(float64(x))
		sum += p[i]
	}
	for i := range p {
		p[i] /= sum
	}
	return p
}

// TestTallyExact: equal logits agree in everything, also few and equal ones.
func TestTallyExact(t *testing.T) {
	for _, logits := range [][]float32{{1}, {2, 2, 2}, {0, 0, 0, 0, 0, 0, 0}, {-90, 80, 1e4, -1e4, 3, 4, 5, 6}} {
		var tally Tally
		tally.Add(logits, slices.Clone(logits))
		if a := tally.Agreement(0); a != (Agreement{Choices: 1, Top1: 1, Top5: 1}) {
			t.Errorf("%v: %+v", logits, a)
		}
	}
	if a := (&Tally{}).Agreement(1); a != (Agreement{Group: 1}) {
		t.Errorf("an empty tally: %+v", a)
	}
}

func TestSound(t *testing.T) {
	var s SoundTally
	if got := s.Sound(); got.Exact || got.SNR != nil {
		t.Errorf("nothing: %+v", got)
	}
	s.Add([]float32{0.5, -0.5}, []float32{0.5, -0.5})
	if got := s.Sound(); !got.Exact || got.SNR != nil || got.Frames != 1 || got.Worst != 0 {
		t.Errorf("equal samples: %+v", got)
	}
	s.Add([]float32{0.5, 0.5}, []float32{0.51, 0.49}) // noise 0.0002 of 1
	if got := s.Sound(); got.Exact || got.SNR == nil || math.Abs(*got.SNR-36.99) > 0.01 || math.Abs(got.Worst-0.01) > 1e-6 {
		t.Errorf("%+v", got)
	}
	var silent SoundTally
	silent.Add([]float32{0}, []float32{0.1})
	if got := silent.Sound(); got.SNR != nil || got.Exact {
		t.Errorf("against silence: %+v", got)
	}
}

// TestParityForms reads parity in every form.
func TestParityForms(t *testing.T) {
	r := New(100)
	record(r, 1, 2)
	p := r.Report(run())
	p.Parity = somewhatOff()
	var table, data bytes.Buffer
	if err := p.Text(&table); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		"\nparity with float32 over 1 frame of the same inputs\n", "top-1", "\ncode 0  ", "\nresidual codes  ", "\n  code 2  ", "\nresidual codes, end to end ",
		"   0.0 %   80.0 %", "2.5000\n", "\ncodec: SNR 63.0 dB, largest difference of a sample 0.0005",
	} {
		if !strings.Contains(table.String(), want) {
			t.Errorf("the table lacks %q:\n%s", want, table.String())
		}
	}
	if err := p.JSON(&data); err != nil {
		t.Fatal(err)
	}
	var back Report
	if err := json.Unmarshal(data.Bytes(), &back); err != nil {
		t.Fatal(err)
	}
	if got := back.Parity; got == nil || got.Talker != p.Parity.Talker || len(got.Groups) != 2 || *got.Codec.SNR != *p.Parity.Codec.SNR {
		t.Errorf("read back %+v", got)
	}
	var exact SoundTally
	exact.Add([]float32{1}, []float32{1})
	p.Parity.Codec = exact.Sound()
	data.Reset()
	if err := p.JSON(&data); err != nil { // there is no infinity in JSON
		t.Fatal(err)
	}
	if !strings.Contains(data.String(), `"snr_db": null`) || !strings.Contains(data.String(), `"exact": true`) {
		t.Errorf("equal samples in JSON: %s", data.String())
	}
}
