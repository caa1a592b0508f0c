package encoder

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/internal/safetensors"
	"github.com/mynah-tts/mynah/internal/team"
)

// open loads the encoder of a checkpoint's speech_tokenizer folder.
func open(t testing.TB, dir string) *Encoder {
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
	e, err := LoadEncoder(w, cfg)
	if err != nil {
		t.Fatal(err)
	}
	return e
}

// work returns a Work on a team of so many workers.
func work(t testing.TB, workers int) *nn.Work {
	tm := team.New(workers)
	t.Cleanup(tm.Close)
	return nn.NewWork(tm)
}

// encodeCase is one line of the golden's list. The first of Compare is the codes.
type encodeCase struct {
	Samples int               `json:"samples"`
	Frames  int               `json:"frames"`
	Compare []paritytest.Want `json:"compare"`
}

// TestParityCodecEncode compares every stage and the codes of every golden.
func TestParityCodecEncode(t *testing.T) {
	for _, m := range paritytest.Models(t, "codec_encode") {
		t.Run(m.Name, func(t *testing.T) {
			var spec struct {
				Cases []encodeCase `json:"cases"`
			}
			golden := m.Stage(t, "codec_encode", &spec)
			if len(spec.Cases) == 0 {
				t.Fatal("no cases")
			}
			e := open(t, filepath.Join(m.Dir, "speech_tokenizer"))
			wk := work(t, 2)
			for _, c := range spec.Cases {
				worst, ties := compareCase(t, e, wk, golden, c)
				t.Logf("%d samples: %d tensors, worst at %.2f of the tolerance; near ties that fell the other way: %d", c.Samples, len(c.Compare)-1, worst, ties)
			}
		})
	}
}

// compareCase encodes a case, compares every tensor and returns the largest share of a tolerance that was used.
func compareCase(t *testing.T, e *Encoder, wk *nn.Work, golden *paritytest.Tensors, c encodeCase) (worst float64, ties int) {
	t.Helper()
	name := fmt.Sprintf("n%d", c.Samples)
	stages := map[string][]float32{} // [time, channels]
	codes := encode(t, e, wk, golden.F32(t, name+"/audio"), func(stage string, rows, channels int, x []float32) {
		stages[stage] = append(stages[stage], x...)
	})
	for _, want := range c.Compare {
		_, part, _ := strings.Cut(want.Tensor, "/")
		if part == "codes" {
			ties = compareCodes(t, golden, name, codes, c.Frames, e.Groups())
			continue
		}
		stage := strings.TrimPrefix(part, "stages/")
		got := stages[stage]
		if !strings.HasPrefix(stage, "transformer/") {
			got = transpose(got, want.Shape[0]) // goldens of convolutions are [channels, time]
		}
		worst = max(worst, golden.Compare(t, want, got))
	}
	return worst, ties
}

// encode runs the encoder with a tap.
func encode(t testing.TB, e *Encoder, wk *nn.Work, samples []float32, tap tapFunc) []int32 {
	t.Helper()
	r, err := e.Start(samples)
	if err != nil {
		t.Fatal(err)
	}
	r.tap = tap
	for done := false; !done; {
		if done, err = r.Step(wk); err != nil {
			t.Fatal(err)
		}
	}
	codes, err := r.Codes()
	if err != nil {
		t.Fatal(err)
	}
	return codes
}

// nearTie is the lead below which the reference's own choice is a matter of rounding.
const nearTie = 2e-4

// compareCodes accepts another code only where the reference's lead over its second is below nearTie, and behind such a one, in the
// same search of the same frame, any. It returns how often that was needed.
func compareCodes(t *testing.T, golden *paritytest.Tensors, name string, got []int32, frames, groups int) (ties int) {
	t.Helper()
	want, gap := golden.I32(t, name+"/codes"), golden.F32(t, name+"/gap")
	if len(got) != frames*groups || len(want) != len(got) {
		t.Fatalf("%s: %d codes, wanted %d (%d frames of %d)", name, len(got), len(want), frames, groups)
	}
	for f := range frames {
		for _, search := range [][2]int{{0, 1}, {1, groups}} {
			for g := search[0]; g < search[1]; g++ {
				i := f*groups + g
				if got[i] == want[i] {
					continue
				}
				if gap[i] >= nearTie {
					t.Errorf("%s: frame %d group %d: code %d, wanted %d, which leads by %g", name, f, g, got[i], want[i], gap[i])
				}
				ties++
				break
			}
		}
	}
	return ties
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

// TestParityReferenceCodes encodes the reference sounds of the clone prompts: the codes are those that the prompts were made with.
func TestParityReferenceCodes(t *testing.T) {
	found := 0
	for _, m := range paritytest.Models(t, "prompt") {
		var spec paritytest.Spec
		golden := m.Stage(t, "prompt", &spec)
		for _, c := range spec.Cases {
			ref := c.Case.Ref
			if ref == nil || !golden.Has(c.Case.Name+"/ref_code") {
				continue
			}
			found++
			e := open(t, filepath.Join(m.Dir, "speech_tokenizer"))
			sound := golden.F32(t, fmt.Sprintf("ref_audio/%s-%d", ref.Sound, ref.Samples))
			codes, err := e.Encode(context.Background(), work(t, 2), sound)
			if err != nil {
				t.Fatal(err)
			}
			paritytest.Equal(t, m.Name+" "+c.Case.Name, codes, golden.I32(t, c.Case.Name+"/ref_code"))
		}
	}
	if found == 0 {
		t.Error("no prompt with a reference")
	}
}
