package talker_test

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/internal/team"
	"github.com/mynah-tts/mynah/talker"
)

// load opens the talker of a model of the parity set.
func load(t testing.TB, m paritytest.Model) *talker.Model {
	t.Helper()
	var cfg struct {
		Talker talker.Config `json:"talker_config"`
	}
	paritytest.ReadJSON(t, filepath.Join(m.Dir, "config.json"), &cfg)
	if err := cfg.Talker.Validate(); err != nil {
		t.Fatal(err)
	}
	model, err := talker.Load(m.Checkpoint(t), cfg.Talker)
	if err != nil {
		t.Fatal(err)
	}
	return model
}

// recorder collects what Tap shows.
type recorder map[string][]float32

func (r recorder) tap(stage string, x []float32) { r[stage] = append(r[stage], x...) }

// TestParityTalker checks every layer of prefill and steps, in one slice and in
// slices of three rows.
func TestParityTalker(t *testing.T) {
	for _, m := range paritytest.Models(t, "talker") {
		t.Run(m.Name, func(t *testing.T) {
			var spec paritytest.Compared
			golden := m.Stage(t, "talker", &spec)
			model := load(t, m)
			for _, slice := range []int{3, 1000} {
				checkTalker(t, model, golden, spec.Compare, slice)
			}
		})
	}
}

func checkTalker(t *testing.T, model *talker.Model, golden *paritytest.Tensors, wants []paritytest.Want, slice int) {
	wk := nn.NewWork(team.New(1))
	prompt := golden.F32(t, "prefill/inputs_embeds")
	steps := golden.F32(t, "steps/inputs_embeds")
	rows, n := len(prompt)/model.Hidden, len(steps)/model.Hidden
	state := model.NewState(rows + n)
	sc := model.NewScratch(min(slice, rows))

	got := recorder{}
	prefill := recorder{}
	sc.Tap = prefill.tap
	model.Extend(wk, sc, state, prompt, nil)
	for stage, x := range prefill {
		got["prefill/"+stage] = x
	}
	model.Logits(wk, state)
	got["prefill/logits_last"] = append([]float32(nil), state.Logits...)

	after := recorder{}
	sc.Tap = after.tap
	for s := range n {
		row := append([]float32(nil), steps[s*model.Hidden:(s+1)*model.Hidden]...)
		model.Step(wk, sc, []*talker.State{state}, row)
		after["logits"] = append(after["logits"], state.Logits...)
	}
	for stage, x := range after {
		got["steps/"+stage] = x
	}
	compared := 0
	for _, want := range wants {
		if x, ok := got[want.Tensor]; ok {
			golden.Compare(t, want, x)
			compared++
		}
	}
	if compared != 2*model.Layers+4 {
		t.Errorf("compared %d tensors, wanted layers, norm and logits of prefill and steps: %d", compared, 2*model.Layers+4)
	}
}

// TestBatchEqualsAlone steps three sequences of different lengths together and
// each alone, with one and two workers: all bytes are equal.
func TestBatchEqualsAlone(t *testing.T) {
	for _, m := range paritytest.Models(t, "talker") {
		var spec paritytest.Compared
		golden := m.Stage(t, "talker", &spec)
		model := load(t, m)
		prompt := golden.F32(t, "prefill/inputs_embeds")
		steps := golden.F32(t, "steps/inputs_embeds")
		alone := make([][]float32, 3)
		for i := range alone {
			alone[i] = run(model, nn.NewWork(nil), 1, prompt[i*model.Hidden:], steps)
		}
		for _, workers := range []int{1, 2, 3} {
			tm := team.New(workers)
			wk := nn.NewWork(tm)
			states := make([]*talker.State, 3)
			sc := model.NewScratch(7)
			for i := range states {
				states[i] = model.NewState(100 + len(prompt))
				model.Extend(wk, sc, states[i], prompt[i*model.Hidden:], nil)
			}
			var got [3][]float32
			for s := 0; s < len(steps); s += model.Hidden {
				var x []float32
				for range states {
					x = append(x, steps[s:s+model.Hidden]...)
				}
				model.Step(wk, sc, states, x)
				for i, st := range states {
					got[i] = append(got[i], st.Logits...)
				}
			}
			tm.Close()
			for i := range got {
				equalBits(t, got[i], alone[i])
			}
		}
	}
}

// run prefills in slices and returns the logits of all steps.
func run(model *talker.Model, wk *nn.Work, slice int, prompt, steps []float32) (logits []float32) {
	state := model.NewState((len(prompt) + len(steps)) / model.Hidden)
	sc := model.NewScratch(slice)
	model.Extend(wk, sc, state, prompt, nil)
	for s := 0; s < len(steps); s += model.Hidden {
		row := append([]float32(nil), steps[s:s+model.Hidden]...)
		model.Step(wk, sc, []*talker.State{state}, row)
		logits = append(logits, state.Logits...)
	}
	return logits
}

func equalBits(t *testing.T, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%d values, wanted %d", len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("[%d] is %g in company, %g alone", i, got[i], want[i])
		}
	}
}

// TestStepAllocatesNothing guards the decode step.
func TestStepAllocatesNothing(t *testing.T) {
	m := paritytest.Models(t, "talker")[0]
	model := load(t, m)
	tm := team.New(2)
	defer tm.Close()
	wk := nn.NewWork(tm)
	sc := model.NewScratch(4)
	state := model.NewState(400)
	row := make([]float32, model.Hidden)
	row[0] = 1
	states := []*talker.State{state}
	text := make([]float32, model.Hidden)
	ids := []int{3}
	model.Step(wk, sc, states, row)
	if n := testing.AllocsPerRun(50, func() {
		model.Step(wk, sc, states, row)
		if err := model.Text(wk, sc, text, ids); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("a step allocates %v times", n)
	}
}

// TestConfigErrors checks that a config is refused by the name of the value.
func TestConfigErrors(t *testing.T) {
	m := paritytest.Models(t, "talker")[0]
	data, err := os.ReadFile(filepath.Join(m.Dir, "config.json"))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		key   string
		value any
		want  string
	}{
		{"num_hidden_layers", 0, "num_hidden_layers is 0"},
		{"num_key_value_heads", 3, "num_key_value_heads (3)"},
		{"head_dim", 7, "head_dim is 7"},
		{"hidden_act", "gelu", `hidden_act is "gelu"`},
		{"rms_norm_eps", 0, "rms_norm_eps is 0"},
		{"vocab_size", -1, "vocab_size is -1"},
		{"codec_eos_token_id", 1 << 30, "codec_eos_token_id is"},
		{"num_code_groups", 1, "num_code_groups is 1"},
		{"spk_id", map[string]int{"x": 1 << 30}, "spk_id: x is"},
		{"spk_is_dialect", map[string]string{"x": "nowhere"}, `x speaks "nowhere"`},
	} {
		var cfg struct {
			Talker map[string]any `json:"talker_config"`
		}
		if err := json.Unmarshal(data, &cfg); err != nil {
			t.Fatal(err)
		}
		cfg.Talker[c.key] = c.value
		changed, _ := json.Marshal(cfg.Talker)
		var talkerConfig talker.Config
		if err := json.Unmarshal(changed, &talkerConfig); err != nil {
			t.Fatal(err)
		}
		if err := talkerConfig.Validate(); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s = %v: error %v, wanted %q in it", c.key, c.value, err, c.want)
		}
	}
}
