package speaker

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/internal/team"
)

// open loads the speaker encoder of a checkpoint.
func open(t testing.TB, m paritytest.Model) *Encoder {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(m.Dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := ParseConfig(data)
	if err != nil {
		t.Fatal(err)
	}
	e, err := LoadEncoder(m.Checkpoint(t), cfg)
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

// TestParitySpeaker compares every stage of every golden.
func TestParitySpeaker(t *testing.T) {
	for _, m := range paritytest.Models(t, "speaker") {
		t.Run(m.Name, func(t *testing.T) {
			var spec struct {
				Cases []struct {
					Samples int               `json:"samples"`
					Compare []paritytest.Want `json:"compare"`
				} `json:"cases"`
			}
			golden := m.Stage(t, "speaker", &spec)
			if len(spec.Cases) == 0 {
				t.Fatal("no cases")
			}
			e, wk := open(t, m), work(t, 2)
			for _, c := range spec.Cases {
				name := fmt.Sprintf("n%d/", c.Samples)
				_, stages := embed(t, e, wk, golden.F32(t, name+"audio"))
				worst := 0.0
				for _, want := range c.Compare {
					stage := strings.TrimPrefix(want.Tensor, name)
					got := stages[stage]
					if strings.HasPrefix(stage, "block_") || stage == "mfa" {
						got = transpose(got, want.Shape[0]) // goldens of convolutions are [channels, time]
					}
					worst = max(worst, golden.Compare(t, want, got))
				}
				t.Logf("%d samples: %d tensors, worst at %.2f of the tolerance", c.Samples, len(c.Compare), worst)
			}
		})
	}
}

// embed runs the encoder with a tap.
func embed(t testing.TB, e *Encoder, wk *nn.Work, samples []float32) (vector []float32, stages map[string][]float32) {
	t.Helper()
	r, err := e.Start(samples)
	if err != nil {
		t.Fatal(err)
	}
	stages = map[string][]float32{}
	r.tap = func(stage string, rows, channels int, x []float32) {
		if len(x) != rows*channels {
			t.Fatalf("stage %s: %d values shown as %d rows of %d", stage, len(x), rows, channels)
		}
		stages[stage] = append([]float32{}, x...)
	}
	for done := false; !done; {
		if done, err = r.Step(wk); err != nil {
			t.Fatal(err)
		}
	}
	if vector, err = r.Vector(); err != nil {
		t.Fatal(err)
	}
	return vector, stages
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

// TestParityReferenceVectors embeds the reference sounds of the clone prompts.
func TestParityReferenceVectors(t *testing.T) {
	const atol = 1e-4 // that of the kit's own check
	found := 0
	for _, m := range paritytest.Models(t, "prompt") {
		var spec paritytest.Spec
		golden := m.Stage(t, "prompt", &spec)
		for _, c := range spec.Cases {
			ref := c.Case.Ref
			if ref == nil {
				continue
			}
			found++
			sound := golden.F32(t, fmt.Sprintf("ref_audio/%s-%d", ref.Sound, ref.Samples))
			vector, err := open(t, m).Embed(context.Background(), work(t, 2), sound)
			if err != nil {
				t.Fatal(err)
			}
			paritytest.Close(t, m.Name+" "+c.Case.Name, vector, golden.F32(t, c.Case.Name+"/ref_spk_embedding"), atol)
		}
	}
	if found == 0 {
		t.Error("no prompt with a reference")
	}
}
