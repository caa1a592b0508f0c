package sampler

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

var negInf = float32(math.Inf(-1))

// randomLogits returns [n] normal logits; with ties, rounded so that many are equal.
func randomLogits(r *rand.Rand, n int, ties bool) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(r.NormFloat64() * 3)
		if ties {
			x[i] = float32(math.Round(float64(x[i])))
		}
	}
	return x
}

// sequence runs frames of random logits through both samplers with one generator.
func sequence(t *testing.T, seed, segment uint64) []int {
	t.Helper()
	const vocab, codes, eos, groups = 1280, 200, 300, 4
	r := rand.New(rand.NewPCG(3, 4))
	g := NewGenerator(seed, segment)
	talker, residual := NewTalker(usual, vocab, eos), NewResidual(usual, codes, g)
	var ids []int
	for range 50 {
		id, err := talker.Pick(randomLogits(r, vocab, false), g)
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, id)
		for group := 1; group < groups; group++ {
			if id, err = residual.Pick(randomLogits(r, codes, false), group); err != nil {
				t.Fatal(err)
			}
			ids = append(ids, id)
		}
	}
	return ids
}

func TestSeedDecides(t *testing.T) {
	first := sequence(t, 7, 0)
	if again := sequence(t, 7, 0); !slices.Equal(first, again) {
		t.Errorf("one seed gave %v and %v", first, again)
	}
	if slices.Equal(first, sequence(t, 8, 0)) {
		t.Error("seeds 7 and 8 gave the same ids")
	}
	if slices.Equal(first, sequence(t, 7, 1)) {
		t.Error("segments 0 and 1 gave the same ids")
	}
}

func TestDistribution(t *testing.T) {
	logits := []float32{1, 0.5, 2, -1, 0, 1.5, negInf, 0.2}
	const draws = 50000
	for _, p := range []Params{
		{DoSample: true, Temperature: 1, TopP: 1, RepetitionPenalty: 1},
		{DoSample: true, Temperature: 2.5, TopP: 1, RepetitionPenalty: 1},
		{DoSample: true, Temperature: 0.8, TopK: 4, TopP: 1, RepetitionPenalty: 1},
		{DoSample: true, Temperature: 1.2, TopP: 0.8, RepetitionPenalty: 1},
	} {
		s := NewResidual(p, len(logits), NewGenerator(11, 0))
		count := make([]int, len(logits))
		for range draws {
			id, err := s.Pick(logits, 1)
			if err != nil {
				t.Fatal(err)
			}
			count[id]++
		}
		probs := make([]float32, len(logits))
		s.Probs(probs)
		chi, kept := 0.0, 0
		for id, n := range count {
			want := float64(probs[id]) * draws
			if want == 0 {
				if n != 0 {
					t.Errorf("%+v: id %d was dropped and drawn %d times", p, id, n)
				}
				continue
			}
			kept++
			chi += (float64(n) - want) * (float64(n) - want) / want
		}
		if kept < 2 {
			t.Errorf("%+v: %d ids survived, the test wants more", p, kept)
		}
		if chi > 24.3 { // 7 degrees of freedom, 0.1 %; fewer when ids were dropped
			t.Errorf("%+v: chi-square %.1f, counts %v, probabilities %v", p, chi, count, probs)
		}
	}
}

func TestGreedy(t *testing.T) {
	const vocab, eos = 1030, 5
	for _, p := range []Params{
		{DoSample: false, Temperature: 0.9, TopK: 1, TopP: 0.1, RepetitionPenalty: 1},
		{DoSample: true, Temperature: 0, TopK: 50, TopP: 1, RepetitionPenalty: 1},
	} {
		logits := make([]float32, vocab)
		logits[2], logits[4], logits[5] = 3, 3, 9
		s := NewTalker(p, vocab, eos)
		for i, want := range []int{2, 2, 5} { // ties: the lowest id; the end token from the third on
			if id, err := s.Pick(logits, nil); err != nil || id != want {
				t.Errorf("%+v: token %d is %d (%v), wanted %d", p, i, id, err, want)
			}
		}
		r := NewResidual(p, vocab, nil)
		if id, err := r.Pick(logits, 1); err != nil || id != 5 {
			t.Errorf("%+v: residual %d (%v), wanted 5", p, id, err)
		}
	}
}

func TestTalkerControlIDs(t *testing.T) {
	greedy := Params{TopP: 1, RepetitionPenalty: 1}
	tests := []struct {
		name       string
		vocab, eos int
		favourites []int // ids with large logits, the largest first
		want       []int // per token; -1 is an error
	}{
		{"codes and control ids", 1280, 358, []int{1279, 256, 358, 255}, []int{255, 255, 358}},
		{"end token among the codes", 1280, 100, []int{300, 100, 7}, []int{7, 7, 100}},
		{"one code", 1025, 1024, []int{1, 1024}, []int{0, 0, 1024}},
		{"no codes", 1024, 1000, []int{3}, []int{-1}},
		{"small vocabulary", 10, 4, []int{3}, []int{-1}},
		{"vocabulary of one", 1, 0, nil, []int{-1}},
	}
	for _, test := range tests {
		logits := make([]float32, test.vocab)
		for i, id := range test.favourites {
			logits[id] = float32(10 - i)
		}
		s := NewTalker(greedy, test.vocab, test.eos)
		for i, want := range test.want {
			id, err := s.Pick(logits, nil)
			if want < 0 {
				if err == nil {
					t.Errorf("%s: token %d is %d, wanted an error", test.name, i, id)
				}
			} else if err != nil || id != want {
				t.Errorf("%s: token %d is %d (%v), wanted %d", test.name, i, id, err, want)
			}
		}
	}
	// Whatever the draw, no control id comes out.
	r := rand.New(rand.NewPCG(5, 6))
	g := NewGenerator(1, 0)
	s := NewTalker(Params{DoSample: true, Temperature: 100, TopP: 1, RepetitionPenalty: 1}, 1280, 358)
	for i := range 3000 {
		id, err := s.Pick(randomLogits(r, 1280, false), g)
		if err != nil {
			t.Fatal(err)
		}
		if id >= 256 && id != 358 {
			t.Fatalf("token %d is the control id %d", i, id)
		}
		if id == 358 && i < minTokens {
			t.Fatalf("token %d is the end token", i)
		}
	}
}

func TestTalkerForgetsAtReset(t *testing.T) {
	p := usual
	p.RepetitionPenalty = 2
	logits := randomLogits(rand.New(rand.NewPCG(7, 8)), 1280, false)
	used, fresh := NewTalker(p, 1280, 358), NewTalker(p, 1280, 358)
	for range 40 {
		if _, err := used.Pick(logits, NewGenerator(2, 0)); err != nil {
			t.Fatal(err)
		}
	}
	used.Reset(p)
	a, b := NewGenerator(4, 0), NewGenerator(4, 0)
	scoresA, scoresB := make([]float32, 1280), make([]float32, 1280)
	for i := range 40 {
		idA, errA := used.Pick(logits, a)
		idB, errB := fresh.Pick(logits, b)
		used.Scores(scoresA)
		fresh.Scores(scoresB)
		if errA != nil || errB != nil || idA != idB || !slices.Equal(scoresA, scoresB) {
			t.Fatalf("token %d: %d (%v) after Reset, %d (%v) from a new sampler", i, idA, errA, idB, errB)
		}
	}
}

func TestBadLogits(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	tests := []struct {
		name   string
		change func([]float32) []float32
		says   string
	}{
		{"NaN", func(x []float32) []float32 { x[17] = nan; return x }, "id 17 is NaN"},
		{"NaN at a control id", func(x []float32) []float32 { x[1200] = nan; return x }, "id 1200 is NaN"},
		{"+Inf", func(x []float32) []float32 { x[3] = inf; return x }, "id 3 is +Inf"},
		{"all -Inf", func(x []float32) []float32 {
			for i := range x {
				x[i] = negInf
			}
			return x
		}, "every logit is -Inf"},
		{"short", func(x []float32) []float32 { return x[:1279] }, "1279 logits, wanted 1280"},
		{"long", func(x []float32) []float32 { return append(x, 0) }, "1281 logits, wanted 1280"},
		{"none", func(x []float32) []float32 { return nil }, "0 logits, wanted 1280"},
	}
	for _, test := range tests {
		for _, p := range []Params{usual, {TopP: 1, RepetitionPenalty: 1}} {
			g := NewGenerator(1, 0)
			talker, residual := NewTalker(p, 1280, 358), NewResidual(p, 1280, g)
			_, err := talker.Pick(test.change(make([]float32, 1280)), g)
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "talker token 0") {
				t.Errorf("%s: talker error %v, wanted %q", test.name, err, test.says)
			}
			_, err = residual.Pick(test.change(make([]float32, 1280)), 9)
			if err == nil || !strings.Contains(err.Error(), test.says) || !strings.Contains(err.Error(), "residual group 9") {
				t.Errorf("%s: residual error %v, wanted %q", test.name, err, test.says)
			}
			if g.Exp() != NewGenerator(1, 0).Exp() {
				t.Errorf("%s: a failed pick took noise", test.name)
			}
		}
	}
}

// Only the end token is left, and it may not come yet: the error a checkpoint with a
// broken head would meet.
func TestNothingButTheEnd(t *testing.T) {
	logits := make([]float32, 1280)
	for i := range logits {
		logits[i] = negInf
	}
	logits[358] = 1
	s := NewTalker(usual, 1280, 358)
	g := NewGenerator(1, 0)
	if _, err := s.Pick(logits, g); err == nil {
		t.Error("a blocked end token was chosen")
	}
	s.remember(1)
	s.remember(2)
	if id, err := s.Pick(logits, g); err != nil || id != 358 {
		t.Errorf("chose %d (%v), wanted the end token 358", id, err)
	}
}

func TestExtremeValues(t *testing.T) {
	logits := []float32{-9, 3, 2.9999, 3, -1000, 0.5}
	tests := []struct {
		name   string
		change func(*Params)
		want   []int // ids that can come out
	}{
		{"smallest temperature", func(p *Params) { p.Temperature = math.SmallestNonzeroFloat32 }, []int{1, 3}},
		{"temperature 1e-30", func(p *Params) { p.Temperature = 1e-30 }, []int{1, 3}},
		{"temperature 1e-8", func(p *Params) { p.Temperature = 1e-8 }, []int{1, 3}},
		{"largest temperature", func(p *Params) { p.Temperature = math.MaxFloat32 }, []int{0, 1, 2, 3, 4, 5}},
		{"top_k 1 keeps ties", func(p *Params) { p.TopK = 1 }, []int{1, 3}},
		{"largest top_k", func(p *Params) { p.TopK = math.MaxInt; p.Temperature = 1e30 }, []int{0, 1, 2, 3, 4, 5}},
		{"top_p 0", func(p *Params) { p.TopP = 0 }, []int{1}},
		{"smallest top_p", func(p *Params) { p.TopP = math.SmallestNonzeroFloat32 }, []int{1}},
		{"top_p next to 1", func(p *Params) { p.TopP = math.Nextafter32(1, 0) }, []int{1, 2, 3, 5}},
	}
	for _, test := range tests {
		p := Params{DoSample: true, Temperature: 1, TopP: 1, RepetitionPenalty: 1}
		test.change(&p)
		s := NewResidual(p, len(logits), NewGenerator(13, 0))
		seen := map[int]bool{}
		for range 4000 {
			id, err := s.Pick(logits, 1)
			if err != nil {
				t.Fatalf("%s: %v", test.name, err)
			}
			seen[id] = true
		}
		if test.name == "top_p next to 1" {
			// The last digits of the sum decide about the rarest; the rest must be there.
			delete(seen, 0)
		}
		var ids []int
		for id := range seen {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		if !slices.Equal(ids, test.want) {
			t.Errorf("%s: ids %v came out, wanted %v", test.name, ids, test.want)
		}
	}
}

func TestPenaltyExtremes(t *testing.T) {
	for _, test := range []struct {
		penalty float32
		logit   float32
		wantErr bool
		want    int
	}{
		{math.MaxFloat32, 5, false, 1},  // 5 / huge is below 1
		{math.MaxFloat32, -5, false, 1}, // becomes -Inf: out
		{math.SmallestNonzeroFloat32, 5, true, 0},
		{math.SmallestNonzeroFloat32, -5, false, 1}, // becomes -0, id 1 has 1
		{1, 5, false, 0},
	} {
		logits := make([]float32, 1026)
		logits[0], logits[1] = test.logit, 1
		s := NewTalker(Params{TopP: 1, RepetitionPenalty: test.penalty}, len(logits), 1025)
		s.remember(0)
		id, err := s.Pick(logits, nil)
		if (err != nil) != test.wantErr || err == nil && id != test.want {
			t.Errorf("penalty %v of logit %v: chose %d (%v), wanted %d, error %v", test.penalty, test.logit, id, err, test.want, test.wantErr)
		}
	}
}

func TestPickDoesNotAllocate(t *testing.T) {
	r := rand.New(rand.NewPCG(9, 10))
	for _, p := range []Params{
		usual,
		{DoSample: true, Temperature: 0.9, TopK: 0, TopP: 0.9, RepetitionPenalty: 1.05},
		{DoSample: true, Temperature: 0.9, TopK: 50, TopP: 0.8, RepetitionPenalty: 1},
		{TopP: 1, RepetitionPenalty: 1.05},
	} {
		g := NewGenerator(1, 0)
		talker, residual := NewTalker(p, 3072, 2150), NewResidual(p, 2048, g)
		logits := randomLogits(r, 3072, false)
		allocs := testing.AllocsPerRun(100, func() {
			if _, err := talker.Pick(logits, g); err != nil {
				t.Fatal(err)
			}
			if _, err := residual.Pick(logits[:2048], 1); err != nil {
				t.Fatal(err)
			}
			g.Reset(2, 3)
			talker.Reset(p)
			residual.Reset(p, g)
		})
		if allocs != 0 {
			t.Errorf("%+v: %v allocations in a pick, wanted 0", p, allocs)
		}
	}
}

func TestPicksLeaveLogitsAlone(t *testing.T) {
	logits := randomLogits(rand.New(rand.NewPCG(11, 12)), 1280, true)
	before := slices.Clone(logits)
	g := NewGenerator(1, 0)
	p := Params{DoSample: true, Temperature: 0.5, TopK: 20, TopP: 0.9, RepetitionPenalty: 1.5}
	talker, residual := NewTalker(p, 1280, 358), NewResidual(p, 1280, g)
	for range 5 {
		if _, err := talker.Pick(logits, g); err != nil {
			t.Fatal(err)
		}
		if _, err := residual.Pick(logits, 1); err != nil {
			t.Fatal(err)
		}
	}
	if !slices.Equal(logits, before) {
		t.Error("a pick changed its logits")
	}
}
