package codec

import (
	"fmt"
	"testing"

	"github.com/mynah-tts/mynah/internal/cpu"
	"github.com/mynah-tts/mynah/internal/kernel"
)

// tiledConfig is oddConfig with a last block of 16 channels and 120 rows a frame: tiles of dilation 9 leave 12 rows over.
func tiledConfig() Config {
	c := oddConfig()
	c.Hop = 120
	c.Decoder.Width, c.Decoder.BlockStride = 64, []int{5, 4}
	return c
}

func tiledDecoder(t testing.TB, p Precision, plain bool) *Decoder {
	t.Helper()
	list := shapes(tiledConfig(), 9)
	fill(list, 1)
	d, err := LoadDecoder(openTensors(t, list), tiledConfig())
	if err != nil {
		t.Fatal(err)
	}
	d.plain = plain
	quantize(t, d, p)
	return d
}

// TestTiledConvolutions cuts streams in many ways where minimal filtering is done, with every number of workers and in batches: always
// the same samples, and nothing allocated.
func TestTiledConvolutions(t *testing.T) {
	for _, level := range []cpu.Level{cpu.Generic, kernel.Level()} {
		for _, p := range []Precision{F32, BF16} {
			t.Run(fmt.Sprintf("%v/%s", level, p), func(t *testing.T) {
				defer kernel.SetLevel(level)()
				d := tiledDecoder(t, p, false)
				tiled := map[int]bool{}
				for _, c := range d.packable() {
					if c.points != nil {
						tiled[c.dilation] = true
					}
				}
				if len(tiled) != len(unitDilations) {
					t.Fatalf("minimal filtering at dilations %v, wanted %v", tiled, unitDilations)
				}
				if level != cpu.Generic {
					testSteps(t, d)
					testBatch(t, d, 3, 16, 5)
					testBatchAllocations(t, d)
				}
				testBatch(t, d, 2, 3, 1)
				testBatch(t, d, 9, 2, 2) // tiles are few for so many workers
			})
		}
	}
}

// TestTiledError compares with plain sums.
func TestTiledError(t *testing.T) {
	d, plain := tiledDecoder(t, F32, false), tiledDecoder(t, F32, true)
	codes := randomCodes(d, 30, 1)
	got := decode(t, d, work(t, 2), d.NewScratch(3), d.NewState(3), codes, 3)
	want := decode(t, plain, work(t, 2), plain.NewScratch(3), plain.NewState(3), codes, 3)
	sound(t, want)
	ratio := snr(got, want)
	if !(ratio >= 90) {
		t.Errorf("%.1f dB beside plain sums, wanted at least 90", ratio)
	}
	t.Logf("%.1f dB beside plain sums", ratio)
}
