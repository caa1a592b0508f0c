package synth

import (
	"math"
	"os"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// TestShape: the samples of a checkpoint with gain_db and fade_in_ms are those of the one
// without, louder, and every segment begins in silence.
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
		if math.Abs(float64(v)-factor*float64(want[i])) > 1e-5 {
			t.Fatalf("sample %d is %g, want %g times %g", i, v, factor, want[i])
		}
	}
}

// TestShapeOfEachSegment: a segment begins as an utterance does.
func TestShapeOfEachSegment(t *testing.T) {
	m := openBuiltin(t, Float32Precision)
	if m.defaults.shape.fadeIn == 0 {
		t.Fatal("the built-in voice begins with a click")
	}
	r := Request{Text: "Yes. No.", Seed: new(int64(1))}
	p, err := m.planWhole(r)
	if err != nil {
		t.Fatal(err)
	}
	stream, err := m.admit(t.Context(), p, false)
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
