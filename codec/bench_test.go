package codec

import (
	"fmt"
	"testing"
)

// BenchmarkDecode measures a decoder of the published sizes: milliseconds a frame at so many frames a step and so many workers.
func BenchmarkDecode(b *testing.B) {
	d := fullDecoder(b)
	codes := randomCodes(d, 256, 1)
	for _, workers := range []int{1, 2} {
		for _, frames := range []int{1, 2, 4} {
			b.Run(fmt.Sprintf("workers=%d/frames=%d", workers, frames), func(b *testing.B) {
				wk := work(b, workers)
				sc, s := d.NewScratch(frames), d.NewState(frames)
				dst := make([]float32, frames*d.Hop())
				at := 0
				b.ReportAllocs()
				for b.Loop() {
					step := codes[at*d.Groups() : (at+frames)*d.Groups()]
					if err := d.Decode(wk, sc, s, dst, step); err != nil {
						b.Fatal(err)
					}
					at = (at + frames) % 256
				}
				b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N*frames), "ms/frame")
			})
		}
	}
}
