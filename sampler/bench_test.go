package sampler

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

func BenchmarkPick(b *testing.B) {
	for _, bench := range []struct {
		name string
		p    Params
	}{
		{"usual", usual},
		{"topP", Params{DoSample: true, Temperature: 0.9, TopP: 0.9, RepetitionPenalty: 1.05}},
		{"all", Params{DoSample: true, Temperature: 0.9, TopP: 1, RepetitionPenalty: 1.05}},
		{"greedy", Params{TopP: 1, RepetitionPenalty: 1.05}},
	} {
		r := rand.New(rand.NewPCG(13, 14))
		g := NewGenerator(1, 0)
		b.Run(fmt.Sprintf("%s/talker3072", bench.name), func(b *testing.B) {
			logits := randomLogits(r, 3072, false)
			s := NewTalker(bench.p, 3072, 2150)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Pick(logits, g); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run(fmt.Sprintf("%s/residual2048", bench.name), func(b *testing.B) {
			logits := randomLogits(r, 2048, false)
			s := NewResidual(bench.p, 2048, g)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Pick(logits, 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
