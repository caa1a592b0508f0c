package synth

import (
	"context"
	"fmt"
	"os"
	"testing"
	"time"
)

// BenchmarkListen measures what cloning costs with the Base checkpoint that
// MYNAH_BENCH_MODEL names: five and ten seconds of clip, and the first audio of requests in
// the voice, when it is new and when the engine knows it. MYNAH_BENCH_PRECISION applies.
func BenchmarkListen(b *testing.B) {
	dir := os.Getenv("MYNAH_BENCH_MODEL")
	if dir == "" {
		b.Skip("MYNAH_BENCH_MODEL names no checkpoint")
	}
	m := benchModel(b)
	if !m.info.Cloning {
		b.Skip("no Base checkpoint")
	}
	began := time.Now()
	if _, err := m.loadEncoders(); err != nil {
		b.Fatal(err)
	}
	b.Logf("encoders loaded in %v", time.Since(began))
	for _, seconds := range []float64{5, 10} {
		clip := Clip{Samples: syllables(24000, seconds, 0.3), Rate: 24000, Text: "The boats came back to the harbour before the rain, and nobody had seen them leave."}
		ref, _, err := m.Listen(context.Background(), clip)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(fmt.Sprintf("clip=%vs", seconds), func(b *testing.B) {
			for b.Loop() {
				if _, _, err := m.Listen(context.Background(), clip); err != nil {
					b.Fatal(err)
				}
			}
		})
		for _, layout := range []Layout{LayoutStreaming, LayoutWhole} {
			for _, known := range []bool{false, true} {
				b.Run(fmt.Sprintf("clip=%vs/layout=%s/known=%v", seconds, layout, known), func(b *testing.B) {
					var ttfa time.Duration
					for b.Loop() {
						if !known {
							m.Forget(ref)
						}
						_, done, err := m.Say(context.Background(), Request{Text: "Words in that voice.", Reference: ref, Layout: layout, MaxFrames: 2})
						if err != nil {
							b.Fatal(err)
						}
						ttfa += done.TTFA
					}
					b.ReportMetric(float64(ttfa.Milliseconds())/float64(b.N), "ms-first-audio")
				})
			}
		}
		vector := &Reference{XVector: ref.XVector}
		b.Run(fmt.Sprintf("clip=%vs/vector", seconds), func(b *testing.B) {
			var ttfa time.Duration
			for b.Loop() {
				_, done, err := m.Say(context.Background(), Request{Text: "Words in that voice.", Reference: vector, MaxFrames: 2})
				if err != nil {
					b.Fatal(err)
				}
				ttfa += done.TTFA
			}
			b.ReportMetric(float64(ttfa.Milliseconds())/float64(b.N), "ms-first-audio")
		})
	}
}
