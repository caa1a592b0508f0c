package codec

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/internal/safetensors"
	"github.com/mynah-tts/mynah/internal/team"
)

// open loads the decoder of a checkpoint's speech_tokenizer folder.
func open(t testing.TB, dir string) *Decoder {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := ParseConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	w, err := safetensors.OpenModel(os.DirFS(dir), ".")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close() })
	d, err := LoadDecoder(w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// work returns a Work on a team of so many workers.
func work(t testing.TB, workers int) *nn.Work {
	tm := team.New(workers)
	t.Cleanup(tm.Close)
	return nn.NewWork(tm)
}

// decodeCase is one line of the golden's list.
type decodeCase struct {
	Frames  int               `json:"frames"`
	Compare []paritytest.Want `json:"compare"`
}

// TestParityCodecDecode compares every stage and waveform of every golden with one pass, and again with steps of three frames.
func TestParityCodecDecode(t *testing.T) {
	for _, m := range paritytest.Models(t, "codec_decode") {
		t.Run(m.Name, func(t *testing.T) {
			var spec struct {
				Cases []decodeCase `json:"cases"`
			}
			golden := m.Stage(t, "codec_decode", &spec)
			if len(spec.Cases) == 0 {
				t.Fatal("no cases")
			}
			d := open(t, filepath.Join(m.Dir, "speech_tokenizer"))
			wk := work(t, 2)
			for _, c := range spec.Cases {
				for _, step := range []int{c.Frames, 3} {
					worst := compareCase(t, d, wk, golden, c, step)
					t.Logf("%d frames in steps of %d: %d tensors, worst at %.2f of the tolerance", c.Frames, step, len(c.Compare), worst)
				}
			}
		})
	}
}

// compareCase decodes a case in steps, compares every tensor and returns the largest share of a tolerance that was used.
func compareCase(t *testing.T, d *Decoder, wk *nn.Work, golden *paritytest.Tensors, c decodeCase, step int) float64 {
	t.Helper()
	name := fmt.Sprintf("T%d", c.Frames)
	codes := golden.I32(t, name+"/codes")
	if len(codes) != c.Frames*d.Groups() {
		t.Fatalf("%s: %d codes, wanted %d frames of %d", name, len(codes), c.Frames, d.Groups())
	}
	stages := map[string][]float32{} // [time, channels]
	sc := d.NewScratch(step)
	sc.Tap = func(stage string, rows, channels int, x []float32) {
		if len(x) != rows*channels {
			t.Fatalf("stage %s: %d values shown as %d rows of %d", stage, len(x), rows, channels)
		}
		stages[stage] = append(stages[stage], x...)
	}
	whole := make([]float32, c.Frames*d.Hop())
	if err := d.Decode(wk, sc, d.NewState(step), whole, codes); err != nil {
		t.Fatal(err)
	}
	sc.Tap = nil
	worst := 0.0
	for _, want := range c.Compare {
		_, part, _ := strings.Cut(want.Tensor, "/")
		var got []float32
		if stage, ok := strings.CutPrefix(part, "stages/"); ok {
			got = stages[stage]
			if !strings.HasPrefix(stage, "pre_transformer/") && len(want.Shape) == 2 {
				got = transpose(got, want.Shape[0]) // goldens of convolutions are [channels, time]
			}
		} else {
			got = waveform(t, d, wk, sc, part, codes, whole)
		}
		worst = max(worst, golden.Compare(t, want, got))
	}
	return worst
}

// waveform returns the waveform that a golden's name asks for.
func waveform(t *testing.T, d *Decoder, wk *nn.Work, sc *Scratch, part string, codes []int32, whole []float32) []float32 {
	t.Helper()
	kind, from, cut := strings.Cut(part, "_from_frame_")
	first := 0
	if cut {
		if _, err := fmt.Sscan(from, &first); err != nil {
			t.Fatalf("%s: %v", part, err)
		}
	}
	switch kind {
	case "waveform", "waveform_whole":
		return whole[first*d.Hop():]
	case "waveform_chunked":
		chunked, err := d.DecodeChunked(wk, sc, codes)
		if err != nil {
			t.Fatal(err)
		}
		same := min(len(whole), referenceChunk*d.Hop())
		if !slices.Equal(chunked[:same], whole[:same]) {
			t.Errorf("%s: the first %d frames differ from one pass", part, referenceChunk)
		}
		return chunked[first*d.Hop():]
	}
	t.Fatalf("a golden %q that this test does not know", part)
	return nil
}

// transpose turns [time, channels] into [channels, time].
func transpose(x []float32, channels int) []float32 {
	out := make([]float32, len(x))
	rows := len(x) / channels
	for r := range rows {
		for c := range channels {
			out[c*rows+r] = x[r*channels+c]
		}
	}
	return out
}

// TestParityVoiceCodec decodes the reference's codes of the built-in voice, whose weights are bfloat16.
func TestParityVoiceCodec(t *testing.T) {
	const atol = 1e-4 // stated by the golden
	var spec struct {
		Cases []struct {
			Name   string `json:"name"`
			Frames int    `json:"frames"`
		} `json:"cases"`
	}
	path := paritytest.Voice(t, "english.json")
	paritytest.ReadJSON(t, path, &spec)
	golden := paritytest.Open(t, filepath.Dir(path), "english.safetensors")
	d := open(t, filepath.Join(paritytest.VoiceDir(t), "speech_tokenizer"))
	wk := work(t, 2)
	sc, s := d.NewScratch(4), d.NewState(4)
	if len(spec.Cases) == 0 {
		t.Fatal("no cases")
	}
	for _, c := range spec.Cases {
		s.Reset()
		got := make([]float32, c.Frames*d.Hop())
		if err := d.Decode(wk, sc, s, got, golden.I32(t, c.Name+"/codes")); err != nil {
			t.Fatal(err)
		}
		share := paritytest.Close(t, c.Name, got, golden.F32(t, c.Name+"/waveform"), atol)
		t.Logf("%s: %d frames at %.2f of the tolerance", c.Name, c.Frames, share)
	}
}
