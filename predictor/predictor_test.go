package predictor_test

import (
	"errors"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/internal/team"
	"github.com/mynah-tts/mynah/predictor"
)

func load(t testing.TB, m paritytest.Model) *predictor.Model {
	t.Helper()
	var cfg struct {
		Talker struct {
			Hidden    int              `json:"hidden_size"`
			Predictor predictor.Config `json:"code_predictor_config"`
		} `json:"talker_config"`
	}
	paritytest.ReadJSON(t, filepath.Join(m.Dir, "config.json"), &cfg)
	if err := cfg.Talker.Predictor.Validate(); err != nil {
		t.Fatal(err)
	}
	model, err := predictor.Load(m.Checkpoint(t), cfg.Talker.Predictor, cfg.Talker.Hidden)
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// greedy picks the largest logit.
type greedy struct{}

func (greedy) Pick(logits []float32, _ int) (int, error) {
	best := 0
	for i, x := range logits {
		if x > logits[best] {
			best = i
		}
	}
	return best, nil
}

// forced picks given codes [groups-1].
type forced []int32

func (f forced) Pick(_ []float32, group int) (int, error) { return int(f[group-1]), nil }

// frames makes a batch of the golden's frames.
func frames(t *testing.T, model *predictor.Model, golden *paritytest.Tensors, pick predictor.Picker) []predictor.Frame {
	hidden, embed := golden.F32(t, "past_hidden"), golden.F32(t, "code0_embed")
	codes := golden.I32(t, "codes")
	batch := make([]predictor.Frame, len(codes)/model.Groups)
	for i := range batch {
		batch[i] = predictor.Frame{
			Hidden: hidden[i*model.Width : (i+1)*model.Width], Embed: embed[i*model.Width : (i+1)*model.Width],
			Pick: pick, Codes: make([]int32, model.Groups),
		}
		batch[i].Codes[0] = codes[i*model.Groups]
	}
	return batch
}

// TestParityPredictor checks logits and codes of every frame, alone and in a batch
// of all frames, and with forced codes.
func TestParityPredictor(t *testing.T) {
	for _, m := range paritytest.Models(t, "predictor") {
		t.Run(m.Name, func(t *testing.T) {
			var spec paritytest.Compared
			golden := m.Stage(t, "predictor", &spec)
			wants := map[string]paritytest.Want{}
			for _, w := range spec.Compare {
				wants[w.Tensor] = w
			}
			model := load(t, m)
			tm := team.New(2)
			defer tm.Close()
			wk := nn.NewWork(tm)

			batch := frames(t, model, golden, greedy{})
			sc := model.NewScratch(len(batch))
			steps := model.Groups - 1
			logits := make([]float32, len(batch)*steps*model.Vocab)
			sc.Tap = func(frame, group int, x []float32) { copy(logits[(frame*steps+group-1)*model.Vocab:], x) }
			model.Run(wk, sc, batch)
			golden.Compare(t, wants["logits"], logits)
			want := golden.I32(t, "codes")
			for i := range batch {
				paritytest.Equal(t, "codes", batch[i].Codes, want[i*model.Groups:(i+1)*model.Groups])
			}
			checkAlone(t, model, golden, logits)
			all := append([]float32(nil), logits...)
			model.Run(nn.NewWork(tm).Limit(1), sc, frames(t, model, golden, greedy{}))
			if !slices.Equal(logits, all) {
				t.Error("one worker of two gives other logits")
			}

			first := frames(t, model, golden, forced(golden.I32(t, "forced/codes")))[:1]
			model.Run(wk, sc, first)
			golden.Compare(t, wants["forced/logits"], logits[:steps*model.Vocab])
		})
	}
}

// checkAlone compares each frame alone with what it gave in the batch, bit by bit.
func checkAlone(t *testing.T, model *predictor.Model, golden *paritytest.Tensors, batched []float32) {
	steps := model.Groups - 1
	for i, f := range frames(t, model, golden, greedy{}) {
		sc := model.NewScratch(1)
		alone := make([]float32, steps*model.Vocab)
		sc.Tap = func(_, group int, x []float32) { copy(alone[(group-1)*model.Vocab:], x) }
		model.Run(nn.NewWork(nil), sc, []predictor.Frame{f})
		for j, x := range alone {
			if want := batched[i*steps*model.Vocab+j]; x != want {
				t.Fatalf("frame %d: logit %d is %g alone, %g in a batch", i, j, x, want)
			}
		}
	}
}

// refuses fails at one group.
type refuses int

func (r refuses) Pick(logits []float32, group int) (int, error) {
	if group == int(r) {
		return 0, errors.New("no")
	}
	return greedy{}.Pick(logits, group)
}

// TestOneFrameFails checks that a frame whose picker fails has an error and leaves
// the others as they are.
func TestOneFrameFails(t *testing.T) {
	m := paritytest.Models(t, "predictor")[0]
	golden := m.Stage(t, "predictor", &struct{}{})
	model := load(t, m)
	batch := frames(t, model, golden, greedy{})[:3]
	batch[1].Pick = refuses(2)
	model.Run(nn.NewWork(nil), model.NewScratch(3), batch)
	want := golden.I32(t, "codes")
	for _, i := range []int{0, 2} {
		if batch[i].Err != nil {
			t.Errorf("frame %d: %v", i, batch[i].Err)
		}
		paritytest.Equal(t, "codes", batch[i].Codes, want[i*model.Groups:(i+1)*model.Groups])
	}
	if batch[1].Err == nil {
		t.Error("frame 1 has no error")
	}
}

// TestFrameAllocatesNothing guards the residual steps.
func TestFrameAllocatesNothing(t *testing.T) {
	m := paritytest.Models(t, "predictor")[0]
	golden := m.Stage(t, "predictor", &struct{}{})
	model := load(t, m)
	tm := team.New(2)
	defer tm.Close()
	wk := nn.NewWork(tm)
	sc := model.NewScratch(2)
	batch := frames(t, model, golden, greedy{})[:2]
	model.Run(wk, sc, batch)
	if n := testing.AllocsPerRun(20, func() { model.Run(wk, sc, batch) }); n != 0 {
		t.Errorf("a frame allocates %v times", n)
	}
}
