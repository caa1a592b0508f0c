package encoder

import (
	"context"
	"fmt"
	"testing"
)

// BenchmarkEncode measures an encoder of the published sizes: milliseconds for five seconds of sound.
func BenchmarkEncode(b *testing.B) {
	e := fullEncoder(b)
	samples := noise(5*e.SampleRate(), 1)
	for _, workers := range []int{1, 2} {
		b.Run(fmt.Sprintf("workers=%d", workers), func(b *testing.B) {
			wk := work(b, workers)
			for b.Loop() {
				if _, err := e.Encode(context.Background(), wk, samples); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Milliseconds())/float64(b.N), "ms/clip")
		})
	}
}

// BenchmarkSteps shows how long the steps of each stage take together.
func BenchmarkSteps(b *testing.B) {
	e := fullEncoder(b)
	samples := noise(5*e.SampleRate(), 1)
	wk := work(b, 2)
	for _, s := range []stage{convolving, transforming, quantizing} {
		b.Run(fmt.Sprintf("stage=%d", s), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				r, err := e.Start(samples)
				if err != nil {
					b.Fatal(err)
				}
				for r.stage != finished {
					if r.stage == s {
						b.StartTimer()
					} else {
						b.StopTimer()
					}
					if _, err := r.Step(wk); err != nil {
						b.Fatal(err)
					}
				}
				b.StartTimer()
			}
		})
	}
}
