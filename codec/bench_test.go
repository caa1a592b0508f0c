package codec

import (
	"fmt"
	"testing"
)

// BenchmarkDecode measures a decoder of the published sizes: milliseconds a frame at so many frames a step and so many workers.
func BenchmarkDecode(b *testing.B) {
	for _, p := range Precisions {
		b.Run(p, func(b *testing.B) {
			d := fullDecoder(b)
			if err := d.Quantize(Precision(p)); err != nil {
				b.Fatal(err)
			}
			benchmarkDecode(b, d)
		})
	}
}

func benchmarkDecode(b *testing.B, d *Decoder) {
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

// BenchmarkDecodeBatch measures a step of one frame of each of so many streams, in milliseconds a frame.
func BenchmarkDecodeBatch(b *testing.B) {
	for _, p := range Precisions {
		b.Run(p, func(b *testing.B) {
			d := fullDecoder(b)
			if err := d.Quantize(Precision(p)); err != nil {
				b.Fatal(err)
			}
			benchmarkBatch(b, d)
		})
	}
}

func benchmarkBatch(b *testing.B, d *Decoder) {
	codes := randomCodes(d, 256, 1)
	for _, streams := range []int{1, 2, 4, 8} {
		b.Run(fmt.Sprintf("streams=%d", streams), func(b *testing.B) {
			wk, sc := work(b, 2), d.NewScratch(streams)
			items := make([]Item, streams)
			for i := range items {
				items[i] = Item{State: d.NewState(1), PCM: make([]float32, d.Hop())}
			}
			at := 0
			b.ReportAllocs()
			for b.Loop() {
				for i := range items {
					items[i].Codes = codes[(at+16*i)%256*d.Groups():][:d.Groups()]
				}
				at++
				d.DecodeBatch(wk, sc, items)
				if err := items[0].Err; err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Microseconds())/1000/float64(b.N*streams), "ms/frame")
		})
	}
}
