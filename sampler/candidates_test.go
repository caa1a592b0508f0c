package sampler

import (
	"math"
	"math/rand/v2"
	"slices"
	"sort"
	"testing"
)

// naiveKept is the specification of temperature, top-k and top-p: it sorts everything.
func naiveKept(scores []float32, p Params) []int {
	type item struct {
		id    int
		score float32
	}
	var items []item
	for id, x := range scores {
		if !math.IsInf(float64(x), -1) {
			items = append(items, item{id, x / p.Temperature})
		}
	}
	// Largest first, the lowest id first among equals.
	sort.SliceStable(items, func(i, j int) bool { return items[i].score > items[j].score })
	if p.TopK > 0 && p.TopK < len(items) {
		n := p.TopK
		for n < len(items) && items[n].score == items[p.TopK-1].score {
			n++
		}
		items = items[:n]
	}
	if p.TopP < 1 {
		values := make([]float32, len(items))
		for i, it := range items {
			values[i] = it.score
		}
		softmax(values, slices.Clone(values))
		sum, drop := 0.0, 0
		for i := len(items) - 1; i > 0; i-- {
			sum += float64(values[i])
			if float32(sum) > p.dropped() {
				break
			}
			drop++
		}
		items = items[:len(items)-drop]
	}
	var ids []int
	for _, it := range items {
		ids = append(ids, it.id)
	}
	slices.Sort(ids)
	return ids
}

// watched is noise that remembers what it was asked for.
type watched struct {
	Generator
	ids [][]int
}

func (w *watched) Fill(dst []float32, ids []int32) error {
	var asked []int
	for _, id := range ids {
		asked = append(asked, int(id))
	}
	w.ids = append(w.ids, asked)
	return w.Generator.Fill(dst, ids)
}

// Each survivor has one variate, in ascending order of ids, and the survivors are
// those of the naive specification, for many sizes, ties and values of top-k and top-p.
func TestSurvivorsAreDrawnOnceInOrder(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, vocab := range []int{1, 2, 3, 7, 64, 257, 2048} {
		for _, ties := range []bool{false, true} {
			for _, k := range []int{0, 1, 2, 3, 50, vocab - 1, vocab, vocab + 1, math.MaxInt} {
				for _, topP := range []float32{0, 1e-6, 0.1, 0.5, 0.8, 0.9, 0.999999, 1} {
					p := Params{DoSample: true, Temperature: 0.7, TopK: max(k, 0), TopP: topP, RepetitionPenalty: 1}
					logits := randomLogits(r, vocab, ties)
					if vocab > 2 {
						logits[vocab/2] = negInf
					}
					g := &watched{Generator: *NewGenerator(8, 0)}
					s := NewResidual(p, vocab, g)
					id, err := s.Pick(logits, 1)
					if err != nil {
						t.Fatal(err)
					}
					want := naiveKept(logits, p)
					if len(g.ids) != 1 || !slices.Equal(g.ids[0], want) {
						t.Fatalf("vocab %d, ties %v, top_k %d, top_p %v: noise for %v, wanted %v", vocab, ties, k, topP, g.ids, want)
					}
					if !slices.Contains(want, id) {
						t.Fatalf("vocab %d, top_k %d, top_p %v: chose %d, which did not survive", vocab, k, topP, id)
					}
					twin := NewGenerator(8, 0)
					for range want {
						twin.Exp()
					}
					if g.Exp() != twin.Exp() {
						t.Fatalf("vocab %d, top_k %d, top_p %v: not one draw for each survivor", vocab, k, topP)
					}
				}
			}
		}
	}
}
