package synth

import (
	"math"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// TestShape: the samples of a checkpoint with gain_db and fade_in_ms are those of the one
// without, louder, and begin in silence.
func TestShape(t *testing.T) {
	const config, frames = "generation_config.json", 3
	dir := os.DirFS(paritytest.Own(t, "tiny-custom").Dir)
	louder := overlay{dir, map[string][]byte{config: edit(t, dir, config, "gain_db", 6.0206)}}
	shaped, err := OpenFS(overlay{dir, map[string][]byte{config: edit(t, louder, config, "fade_in_ms", 2)}}, "test", Options{Threads: 1, Precision: Float32Precision})
	if err != nil {
		t.Fatal(err)
	}
	defer shaped.Close()
	r := Request{Text: "One. Two.", Seed: new(int64(1)), SegmentRunes: 1}
	plain := tiny(t, CustomVoice, 1)
	r.MaxFrames = frames // of the first segment; the second has none
	_, want, _ := say(t, plain, r)
	_, got, _ := say(t, shaped, r)
	if len(got) != len(want) || len(got) != frames*plain.Info().FrameSize {
		t.Fatalf("%d samples, want %d", len(got), len(want))
	}
	const fade = 48 // 2 ms at 24 kHz
	for i, v := range got {
		factor := 2.0
		if i < fade {
			factor *= float64(i) / fade
		}
		if louder := min(max(factor*float64(want[i]), -1), 1); math.Abs(float64(v)-louder) > 1e-5 {
			t.Fatalf("sample %d is %g, want %g", i, v, louder)
		}
	}
}

// TestShapeOfEachSegment: a segment begins as an utterance does.
func TestShapeOfEachSegment(t *testing.T) {
	m := openBuiltin(t, Float32Precision)
	if m.defaults.shape.fadeIn == 0 {
		t.Fatal("the built-in voice begins with a click")
	}
	stream, err := m.Speak(t.Context(), Request{Text: "Yes. No.", Seed: new(int64(1))})
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	segments, first := 0, false
	for event, err := range stream.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch e := event.(type) {
		case Segment:
			segments++
			first = true
		case Audio:
			if first && e.PCM[0] != 0 {
				t.Errorf("segment %d begins with a sample of %g", segments, e.PCM[0])
			}
			first = false
		}
	}
	if segments != 2 {
		t.Errorf("%d segments, want 2", segments)
	}
}

// TestReadShape: values within the bounds, and those just outside.
func TestReadShape(t *testing.T) {
	for _, c := range []struct {
		gainDB, fadeInMS float64
		gain             float64 // 0 is a refusal
	}{
		{0, 0, 1}, {-6.0206, 1, 0.5}, {24, 80, 15.8489}, {-24, 0.5, 0.0630957},
		{24.01, 0, 0}, {-24.01, 0, 0}, {-1000, 0, 0}, {math.NaN(), 0, 0}, {0, 80.01, 0}, {0, -0.01, 0}, {0, math.NaN(), 0},
	} {
		s, err := readShape(c.gainDB, c.fadeInMS)
		if refused := err != nil; refused != (c.gain == 0) {
			t.Errorf("gain_db %g, fade_in_ms %g: %v", c.gainDB, c.fadeInMS, err)
		}
		if err != nil {
			continue
		}
		pcm := []float32{1. / 64, -1. / 64}
		s.apply(pcm, 24000, false)
		if want := c.gain / 64; math.Abs(float64(pcm[0])-want) > 1e-6 || pcm[1] != -pcm[0] {
			t.Errorf("gain_db %g: %g from 1/64, want %g", c.gainDB, pcm, want)
		}
	}
}

// TestShapeKeepsTheRange: what a gain would lift beyond full scale is full scale, and a frame
// shorter than the fade fades to its end.
func TestShapeKeepsTheRange(t *testing.T) {
	s := shape{gain: 4, fadeIn: time.Second}
	pcm := []float32{0.9, -0.9, 0.1, 1}
	s.apply(pcm, 24000, false)
	if want := []float32{1, -1, 0.4, 1}; !slices.Equal(pcm, want) {
		t.Errorf("%v, want %v", pcm, want)
	}
	s.apply(pcm, 24000, true)
	if want := []float32{0, -0.25, 0.5, 0.75}; !slices.Equal(pcm, want) {
		t.Errorf("faded in %v, want %v", pcm, want)
	}
}
