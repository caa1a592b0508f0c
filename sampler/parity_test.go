package sampler

import (
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// samplingCase is one case of golden/sampling.
type samplingCase struct {
	Name         string  `json:"name"`
	Kind         string  `json:"kind"`
	Vocab        int     `json:"vocab"`
	History      []int   `json:"history"`
	DoSample     bool    `json:"do_sample"`
	Temperature  float32 `json:"temperature"`
	TopK         int     `json:"top_k"`
	TopP         float32 `json:"top_p"`
	Penalty      float32 `json:"repetition_penalty"`
	EOS          int     `json:"eos"`
	Kept         int     `json:"kept"`
	Argmax       int     `json:"argmax"`
	MinNewTokens int     `json:"min_new_tokens"`
	BorderTie    bool    `json:"tie_at_top_p_border"`
}

type samplingSpec struct {
	Cases []samplingCase `json:"cases"`
	Draws []struct {
		Probs  string `json:"probs"`
		Noise  string `json:"noise"`
		Chosen string `json:"chosen"`
	} `json:"draws"`
}

func openSampling(t *testing.T) (samplingSpec, *paritytest.Tensors) {
	t.Helper()
	dir := filepath.Join(paritytest.Root(t), "golden", "sampling")
	var spec samplingSpec
	paritytest.ReadJSON(t, filepath.Join(dir, "sampling.json"), &spec)
	if len(spec.Cases) == 0 || len(spec.Draws) == 0 {
		t.Fatalf("%s: %d cases and %d draws, wanted some of each", dir, len(spec.Cases), len(spec.Draws))
	}
	return spec, paritytest.Open(t, dir, "sampling.safetensors")
}

// picked is what a sampler did in one case.
type picked struct {
	id            int
	scores, probs []float32 // [vocab]
}

// pick runs the case's sampler on logits, with the given noise [vocab].
func (c samplingCase) pick(t *testing.T, logits, noise []float32) picked {
	t.Helper()
	params := Params{c.DoSample, c.Temperature, c.TopK, c.TopP, c.Penalty}
	if err := params.Validate(""); err != nil {
		t.Fatalf("the reference takes these values: %v", err)
	}
	got := picked{scores: make([]float32, c.Vocab), probs: make([]float32, c.Vocab)}
	var err error
	if c.Kind == "predictor" {
		r := NewResidual(params, c.Vocab, NewRecorded(noise))
		got.id, err = r.Pick(logits, 1)
		r.Scores(got.scores)
		r.Probs(got.probs)
	} else {
		if c.MinNewTokens != minTokens {
			t.Fatalf("min_new_tokens is %d, the sampler's rule is %d", c.MinNewTokens, minTokens)
		}
		s := NewTalker(params, c.Vocab, c.EOS)
		for _, id := range c.History {
			s.remember(id)
		}
		got.id, err = s.Pick(logits, NewRecorded(noise))
		s.Scores(got.scores)
		s.Probs(got.probs)
	}
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func ones(n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 1
	}
	return x
}

func TestParityScores(t *testing.T) {
	spec, g := openSampling(t)
	for _, c := range spec.Cases {
		t.Run(c.Name, func(t *testing.T) {
			// Equal noise makes the draw take the most probable id.
			got := c.pick(t, g.F32(t, c.Name+"/logits"), ones(c.Vocab))
			if got.id != c.Argmax {
				t.Errorf("chose %d, wanted %d", got.id, c.Argmax)
			}
			want, kept := g.F32(t, c.Name+"/scores"), 0
			for id, x := range got.scores {
				if x >= -math.MaxFloat32 {
					kept++
				}
				if c.BorderTie {
					continue
				}
				if math.IsInf(float64(x), -1) != math.IsInf(float64(want[id]), -1) {
					t.Fatalf("score of id %d is %v, wanted %v", id, x, want[id])
				}
				if diff := math.Abs(float64(x) - float64(want[id])); diff > 1e-5*math.Abs(float64(want[id])) {
					t.Fatalf("score of id %d is %v, wanted %v within 1e-5", id, x, want[id])
				}
			}
			if kept != c.Kept {
				t.Errorf("kept %d ids, wanted %d", kept, c.Kept)
			}
			if !c.BorderTie {
				paritytest.Close(t, "probs", got.probs, g.F32(t, c.Name+"/probs"), 1e-6)
			}
		})
	}
}

func TestParityDraws(t *testing.T) {
	spec, g := openSampling(t)
	cases := map[string]samplingCase{}
	for _, c := range spec.Cases {
		cases[c.Name] = c
	}
	for _, d := range spec.Draws {
		t.Run(d.Probs, func(t *testing.T) {
			name := strings.TrimSuffix(d.Probs, "/probs")
			c, ok := cases[name]
			if !ok {
				t.Fatalf("no case %q", name)
			}
			probs, noise, chosen := g.F32(t, d.Probs), g.F32(t, d.Noise), g.I32(t, d.Chosen)
			for i, want := range chosen {
				row := noise[i*c.Vocab : (i+1)*c.Vocab]
				// The reference's probabilities: the choice is the same bit for bit.
				if id, err := race(probs, row); err != nil || id != int(want) {
					t.Errorf("draw %d from the reference's probabilities: %d (%v), wanted %d", i, id, err, want)
				}
				// Ours, from the logits.
				if got := c.pick(t, g.F32(t, name+"/logits"), row); got.id != int(want) {
					t.Errorf("draw %d from the logits: %d, wanted %d", i, got.id, want)
				}
			}
		})
	}
}
