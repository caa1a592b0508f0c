package synth

import (
	"context"
	"math"
	"path/filepath"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/sampler"
	"github.com/mynah-tts/mynah/talker/prompt"
)

// openModel opens a checkpoint for a test.
func openModel(t testing.TB, dir string, threads int) *Model {
	t.Helper()
	m, err := Open(dir, Options{Threads: threads, Precision: Float32Precision})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// referencePlan puts a golden case into a plan, the way the reference implementation
// reads it: marks in the text are tokens, no bound but the number of tokens. golden
// names its tensors by prefix.
func referencePlan(t *testing.T, m *Model, c paritytest.Case, golden *paritytest.Tensors, prefix string) *plan {
	p := &plan{
		request: prompt.Request{Language: c.Language, Speaker: c.Speaker, WholeText: m.cfg.Kind != Base},
		// The reference throws its last token away, so N tokens give N-1 frames.
		maxFrames: c.MaxNewTokens - 1, anyLength: true,
		noise:    func(int) sampler.Noise { return nil },
		talker:   sampler.Params{Temperature: 1, TopP: 1, RepetitionPenalty: float32(c.RepetitionPenalty)},
		residual: sampler.Params{Temperature: 1, TopP: 1, RepetitionPenalty: 1},
	}
	if c.NonStreaming != nil {
		p.request.WholeText = *c.NonStreaming
	}
	instruct, reference := c.Instruct, ""
	if m.cfg.dropsInstruct() {
		instruct = ""
	}
	if c.Ref != nil {
		p.request.XVector = golden.F32(t, prefix+"ref_spk_embedding")
		if !c.Ref.XVector {
			p.request.RefCodes = golden.I32(t, prefix+"ref_code")
			reference = c.Ref.Text
		}
	}
	p.request.IDs = m.encoder.EncodeReference(c.Text, instruct, reference)
	p.script = tokenScript(p.request.Text)
	return p
}

// speakPlan speaks a plan to its end.
func speakPlan(t *testing.T, m *Model, p *plan) (codes []int32, pcm []float32, done Done) {
	t.Helper()
	s, err := m.admit(context.Background(), p, false)
	if err != nil {
		t.Fatal(err)
	}
	return collect(t, s)
}

// collect runs a stream to its end.
func collect(t *testing.T, s *Stream) (codes []int32, pcm []float32, done Done) {
	t.Helper()
	for event, err := range s.Events() {
		if err != nil {
			t.Fatal(err)
		}
		switch e := event.(type) {
		case Audio:
			codes = append(codes, e.Codes...)
			pcm = append(pcm, e.PCM...)
		case Done:
			done = e
		}
	}
	return codes, pcm, done
}

// TestParityEndToEnd runs every greedy case: equal codes, the same end, and the
// waveform within its tolerance. Of an end before the talker has heard the text the
// reference says nothing; we call it a cut.
func TestParityEndToEnd(t *testing.T) {
	for _, pm := range paritytest.Models(t, "e2e") {
		t.Run(pm.Name, func(t *testing.T) {
			var spec paritytest.Spec
			golden := pm.Stage(t, "e2e", &spec)
			m := openModel(t, pm.Dir, 2)
			for _, c := range spec.Cases {
				t.Run(c.Case.Name, func(t *testing.T) { checkEndToEnd(t, m, c, golden) })
			}
		})
	}
}

func checkEndToEnd(t *testing.T, m *Model, c paritytest.Compared, golden *paritytest.Tensors) {
	if c.Case.ForceSize != nil {
		saved := m.cfg.Size
		m.cfg.Size = *c.Case.ForceSize
		defer func() { m.cfg.Size = saved }()
	}
	p := referencePlan(t, m, c.Case, golden, c.Case.Name+"/")
	codes, pcm, done := speakPlan(t, m, p)
	paritytest.Equal(t, "codes", codes, golden.I32(t, c.Case.Name+"/codes"))
	want := FinishLength
	if c.Case.EndedByEOS && heardAll(m, p, done.Frames) {
		want = FinishStop
	}
	if done.FinishReason != want {
		t.Errorf("finish reason %q, wanted %q", done.FinishReason, want)
	}
	for _, w := range c.Compare {
		if strings.HasSuffix(w.Tensor, "/waveform") {
			checkWaveform(t, m, p.request.RefCodes, codes, pcm, golden.F32(t, w.Tensor), w.Atol)
		}
	}
}

// checkWaveform compares with the reference's waveform. Beyond one of its pieces of
// frames the reference's own decode departs from the exact one, so there its way of
// decoding is compared, not ours. It cuts a clone's reference by a ratio that may be
// one sample short.
func checkWaveform(t *testing.T, m *Model, ref, codes []int32, pcm, want []float32, atol float64) {
	all := append(append([]int32(nil), ref...), codes...)
	const referencePiece = 300
	if len(all)/m.cfg.Talker.Groups > referencePiece {
		chunked, err := m.codec.DecodeChunked(m.work, m.cs, all)
		if err != nil {
			t.Fatal(err)
		}
		pcm = chunked[len(chunked)-len(pcm):]
	}
	if extra := len(want) - len(pcm); extra == 1 && ref != nil {
		want = want[1:]
	}
	paritytest.Close(t, "waveform", pcm, want, atol)
}

// TestParitySampled runs the sampled cases with the reference's own noise.
func TestParitySampled(t *testing.T) {
	for _, pm := range paritytest.Models(t, "e2e_sampled") {
		t.Run(pm.Name, func(t *testing.T) {
			var spec paritytest.Compared
			golden := pm.Stage(t, "e2e_sampled", &spec)
			m := openModel(t, pm.Dir, 2)
			c := spec.Case
			c.MaxNewTokens, c.RepetitionPenalty = c.Parameters.MaxNewTokens, c.Parameters.RepetitionPenalty
			p := referencePlan(t, m, c, golden, samplePrefix(golden, c))
			v := c.Parameters
			p.talker = sampler.Params{
				DoSample: true, Temperature: float32(v.Temperature), TopK: v.TopK, TopP: float32(v.TopP),
				RepetitionPenalty: float32(v.RepetitionPenalty),
			}
			p.residual = sampler.Params{
				DoSample: true, Temperature: float32(v.SubTemperature), TopK: v.SubTopK, TopP: float32(v.SubTopP), RepetitionPenalty: 1,
			}
			noise := recordedNoise(t, m, golden)
			p.noise = func(int) sampler.Noise { return noise }
			codes, _, _ := speakPlan(t, m, p)
			paritytest.Equal(t, "codes", codes, golden.I32(t, "codes"))
		})
	}
}

// samplePrefix tells whether the file's tensors carry the case's name.
func samplePrefix(golden *paritytest.Tensors, c paritytest.Case) string {
	if golden.Has(c.Name + "/ref_spk_embedding") {
		return c.Name + "/"
	}
	return ""
}

// recordedNoise interleaves the noise in the order of the draws: code 0, then the
// residual codes of its frame.
func recordedNoise(t *testing.T, m *Model, golden *paritytest.Tensors) sampler.Noise {
	talker, pred := golden.F32(t, "talker_noise"), golden.F32(t, "predictor_noise")
	vocab, books := m.cfg.Talker.Vocab, m.cfg.Talker.Predictor.Vocab
	frame := (m.cfg.Talker.Groups - 1) * books
	var rows [][]float32
	for i := range len(talker) / vocab {
		rows = append(rows, talker[i*vocab:(i+1)*vocab])
		for from := i * frame; from < min((i+1)*frame, len(pred)); from += books {
			rows = append(rows, pred[from:from+books])
		}
	}
	return sampler.NewRecorded(rows...)
}

// TestParityBuiltinVoice checks that the built-in voice says what the reference
// implementation says with it, through the same way that a user takes.
func TestParityBuiltinVoice(t *testing.T) {
	var spec struct {
		Cases []struct {
			Name         string `json:"name"`
			Text         string `json:"text"`
			Language     string `json:"language"`
			Speaker      string `json:"speaker"`
			NonStreaming bool   `json:"non_streaming_mode"`
			Frames       int    `json:"frames"`
		} `json:"cases"`
	}
	paritytest.ReadJSON(t, paritytest.Voice(t, "english.json"), &spec)
	golden := paritytest.Open(t, filepath.Dir(paritytest.Voice(t, "english.json")), "english.safetensors")
	m, err := OpenBuiltin(Options{Threads: 2, Precision: Float32Precision})
	if err != nil {
		t.Fatal(err)
	}
	defer m.Close()
	m.defaults.shape = shape{} // keys of ours, of which the reference knows nothing
	const atol = 1e-4          // as the goldens say
	for _, c := range spec.Cases {
		t.Run(c.Name, func(t *testing.T) {
			layout := LayoutStreaming
			if c.NonStreaming {
				layout = LayoutWhole
			}
			r := Request{Text: c.Text, Voice: c.Speaker, Language: c.Language, Layout: layout}
			r.Sampling.Temperature, r.Sampling.SubTemperature = new(float64), new(float64) // greedy
			s, err := m.Speak(context.Background(), r)
			if err != nil {
				t.Fatal(err)
			}
			codes, pcm, done := collect(t, s)
			paritytest.Equal(t, "codes", codes, golden.I32(t, c.Name+"/codes"))
			paritytest.Close(t, "waveform", pcm, golden.F32(t, c.Name+"/waveform"), atol)
			if done.FinishReason != FinishStop || done.Frames != c.Frames {
				t.Errorf("%d frames, finish reason %q, wanted %d and %q", done.Frames, done.FinishReason, c.Frames, FinishStop)
			}
		})
	}
}

// TestParityProcessedLogits checks the scores that code 0 of the first frame is
// chosen from: prompt, talker and sampler in one go.
func TestParityProcessedLogits(t *testing.T) {
	for _, pm := range paritytest.Models(t, "talker") {
		t.Run(pm.Name, func(t *testing.T) {
			var spec paritytest.Compared
			golden := pm.Stage(t, "talker", &spec)
			m := openModel(t, pm.Dir, 2)
			state := m.talker.NewState(len(golden.F32(t, "prefill/inputs_embeds")) / m.cfg.Talker.Hidden)
			m.talker.Extend(m.work, m.ts, state, golden.F32(t, "prefill/inputs_embeds"), nil)
			m.talker.Logits(m.work, state)
			pick := sampler.NewTalker(sampler.Params{Temperature: 1, TopP: 1, RepetitionPenalty: 1}, m.cfg.Talker.Vocab, m.cfg.Talker.CodecEOS)
			if _, err := pick.Pick(state.Logits, nil); err != nil {
				t.Fatal(err)
			}
			const name = "prefill/logits_processed_last"
			got, want := make([]float32, m.cfg.Talker.Vocab), golden.F32(t, name)
			pick.Scores(got)
			var finite, wanted []float32
			for i := range want {
				if math.IsInf(float64(want[i]), -1) != math.IsInf(float64(got[i]), -1) {
					t.Fatalf("id %d: score %g, wanted %g", i, got[i], want[i])
				}
				if !math.IsInf(float64(want[i]), -1) {
					finite, wanted = append(finite, got[i]), append(wanted, want[i])
				}
			}
			for _, w := range spec.Compare {
				if w.Tensor == name {
					paritytest.Close(t, name, finite, wanted, w.Atol)
				}
			}
		})
	}
}
