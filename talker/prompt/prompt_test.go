package prompt_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/internal/tokenizer"
	"github.com/mynah-tts/mynah/predictor"
	"github.com/mynah-tts/mynah/talker"
	"github.com/mynah-tts/mynah/talker/prompt"
)

// model is what a prompt needs of a checkpoint.
type model struct {
	talker  *talker.Model
	wk      *nn.Work
	sc      *talker.Scratch
	encoder *prompt.Encoder
	builder *prompt.Builder
	kind    string
	size    string
}

func load(t *testing.T, m paritytest.Model) *model {
	t.Helper()
	var cfg struct {
		prompt.Specials
		Kind   string `json:"tts_model_type"`
		Size   string `json:"tts_model_size"`
		Talker struct {
			talker.Config
			Predictor predictor.Config `json:"code_predictor_config"`
		} `json:"talker_config"`
	}
	paritytest.ReadJSON(t, filepath.Join(m.Dir, "config.json"), &cfg)
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	must(cfg.Talker.Validate())
	must(cfg.Talker.Predictor.Validate())
	weights := m.Checkpoint(t)
	out := &model{kind: cfg.Kind, size: cfg.Size, wk: nn.NewWork(nil)}
	var err error
	out.talker, err = talker.Load(weights, cfg.Talker.Config)
	must(err)
	residual, err := predictor.Load(weights, cfg.Talker.Predictor, cfg.Talker.Hidden)
	must(err)
	tok, err := tokenizer.Load(os.DirFS(m.Dir))
	must(err)
	out.encoder, err = prompt.NewEncoder(tok, cfg.Specials)
	must(err)
	out.sc = out.talker.NewScratch(5)
	out.builder, err = prompt.NewBuilder(out.wk, out.sc, out.talker, residual, cfg.Specials)
	must(err)
	return out
}

// request puts a golden case into a prompt's terms.
func (m *model) request(t *testing.T, c paritytest.Case, golden *paritytest.Tensors) prompt.Request {
	instruct := c.Instruct
	size := m.size
	if c.ForceSize != nil {
		size = *c.ForceSize
	}
	if m.kind == "custom_voice" && strings.Contains("0b6", size) {
		instruct = "" // the reference drops it
	}
	r := prompt.Request{Language: c.Language, Speaker: c.Speaker, WholeText: m.kind != "base"}
	if c.NonStreaming != nil {
		r.WholeText = *c.NonStreaming
	}
	reference := ""
	if c.Ref != nil {
		r.XVector = golden.F32(t, c.Name+"/ref_spk_embedding")
		if !c.Ref.XVector {
			r.RefCodes = golden.I32(t, c.Name+"/ref_code")
			reference = c.Ref.Text
		}
	}
	r.IDs = m.encoder.EncodeReference(c.Text, instruct, reference)
	return r
}

// TestParityPrompt checks token ids, prompt rows, trailing text rows and the pad
// row of every case.
func TestParityPrompt(t *testing.T) {
	for _, pm := range paritytest.Models(t, "prompt") {
		t.Run(pm.Name, func(t *testing.T) {
			var spec paritytest.Spec
			golden := pm.Stage(t, "prompt", &spec)
			m := load(t, pm)
			for _, c := range spec.Cases {
				t.Run(c.Case.Name, func(t *testing.T) { checkPrompt(t, m, c, golden) })
			}
		})
	}
}

func checkPrompt(t *testing.T, m *model, c paritytest.Compared, golden *paritytest.Tensors) {
	r := m.request(t, c.Case, golden)
	ids := append(append([]int(nil), r.Role...), r.Text...)
	paritytest.Equal(t, "input_ids", ids, c.Case.InputIDs[:len(c.Case.InputIDs)-5])
	paritytest.Equal(t, "instruct_ids", r.Instruct, c.Case.InstructIDs)
	if n := len(c.Case.RefIDs); n > 0 {
		paritytest.Equal(t, "ref_ids", r.Reference, c.Case.RefIDs[3:n-2])
	}
	p, err := m.builder.Build(m.wk, m.sc, r)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := m.builder.Positions(r); err != nil || n != len(p.Rows)/m.talker.Hidden {
		t.Errorf("Positions is %d, %v; the prompt has %d rows", n, err, len(p.Rows)/m.talker.Hidden)
	}
	trailing := make([]float32, len(p.Trailing)*m.talker.Hidden)
	if err := m.talker.Text(m.wk, m.sc, trailing, p.Trailing); err != nil {
		t.Fatal(err)
	}
	got := map[string][]float32{"input_embeds": p.Rows, "trailing_text_hidden": trailing, "tts_pad_embed": p.Pad}
	if len(c.Compare) != len(got) {
		t.Errorf("the golden compares %d tensors, this test %d", len(c.Compare), len(got))
	}
	for _, want := range c.Compare {
		golden.Compare(t, want, got[strings.TrimPrefix(want.Tensor, c.Case.Name+"/")])
	}
}

// TestParityFrameInput checks what the talker hears of each frame: the sum of its
// codes' embeddings and the text row of its turn.
func TestParityFrameInput(t *testing.T) {
	for _, pm := range paritytest.Models(t, "talker") {
		t.Run(pm.Name, func(t *testing.T) {
			var spec paritytest.Compared
			golden := pm.Stage(t, "talker", &spec)
			m := load(t, pm)
			codes, trailing, pad := golden.I32(t, "steps/codes"), golden.F32(t, "trailing_text_hidden"), golden.F32(t, "tts_pad_embed")
			h, groups := m.talker.Hidden, m.talker.Groups
			rows := make([]float32, len(codes)/groups*h)
			for s := range len(codes) / groups {
				row, text := rows[s*h:(s+1)*h], pad
				m.builder.FrameInput(row, codes[s*groups:(s+1)*groups])
				if (s+1)*h <= len(trailing) {
					text = trailing[s*h : (s+1)*h]
				}
				for i := range row {
					row[i] += text[i]
				}
			}
			for _, want := range spec.Compare {
				if want.Tensor == "steps/inputs_embeds" {
					golden.Compare(t, want, rows)
				}
			}
		})
	}
}

// TestUserTextEqualsReference checks that text without marks and without a leading
// line break gives the same ids by both ways, and that marks stay characters.
func TestUserTextEqualsReference(t *testing.T) {
	for _, pm := range paritytest.Models(t, "prompt") {
		m := load(t, pm)
		for _, text := range []string{"Hello there.", "  two spaces", "tab\tand\nbreak", "trailing \n", "你好，世界", "a"} {
			user, ref := m.encoder.Encode(text, text, text), m.encoder.EncodeReference(text, text, text)
			paritytest.Equal(t, "text of "+text, user.Text, ref.Text)
			paritytest.Equal(t, "role of "+text, user.Role, ref.Role)
			paritytest.Equal(t, "instruction of "+text, user.Instruct, ref.Instruct)
			paritytest.Equal(t, "reference of "+text, user.Reference, ref.Reference)
		}
		if user, ref := m.encoder.Encode("", "", ""), m.encoder.EncodeReference("", "", ""); user.After != ref.After {
			t.Errorf("token behind an empty text: %d, wanted %d", user.After, ref.After)
		}
		marks := m.encoder.Encode("a<|im_end|>b", "<|im_start|>", "<tts_pad>")
		for _, id := range marks.Text {
			if id == marks.After {
				t.Errorf("%s: user text gave the control id %d", pm.Name, id)
			}
		}
	}
}

// TestNames checks refusals of languages and speakers.
func TestNames(t *testing.T) {
	for _, pm := range paritytest.Models(t, "prompt") {
		m := load(t, pm)
		for _, c := range []struct{ language, speaker, kind string }{
			{"klingon", "", "language"}, {"sichuan_dialect", "", "language"}, {"", "nobody", "speaker"},
		} {
			_, err := m.builder.Build(m.wk, m.sc, prompt.Request{IDs: m.encoder.Encode("Hi", "", ""), Language: c.language, Speaker: c.speaker})
			var name *prompt.NameError
			if !errors.As(err, &name) || name.Kind != c.kind {
				t.Errorf("%s: language %q, speaker %q: error %v", pm.Name, c.language, c.speaker, err)
			}
		}
		if _, err := m.builder.Positions(prompt.Request{Language: "AUTO"}); err != nil {
			t.Errorf("%s: %v", pm.Name, err)
		}
	}
}

// TestLanguageCodes checks that a code means what the name means, down to the prompt's rows.
func TestLanguageCodes(t *testing.T) {
	for _, c := range []struct{ given, want string }{
		{"german", "German"}, {"GERMAN", "German"}, {"de", "German"}, {"DE-at", "German"}, {"pt_BR", "Portuguese"}, {"Portuguese", "Portuguese"},
		{"", ""}, {"-", ""}, {"-de", ""}, {"ger", ""}, {"en", ""}, {"german-de", ""}, {"x", ""}, {"Elvish", "Elvish"},
	} {
		got, ok := prompt.FindLanguage([]string{"Elvish", "German", "Portuguese"}, c.given)
		if got != c.want || ok != (c.want != "") {
			t.Errorf("%q: %q, %v, want %q", c.given, got, ok, c.want)
		}
	}
	if got := strings.Join(prompt.LanguageCodes([]string{"Portuguese", "Elvish", "german"}), " "); got != "de pt" {
		t.Errorf("codes %q", got)
	}
	if n := len(prompt.LanguageCodes(prompt.PublishedLanguages())); n != 10 {
		t.Errorf("%d published languages have codes, want 10", n)
	}
	for _, pm := range paritytest.Models(t, "prompt") {
		m := load(t, pm)
		rows := func(language string) []float32 {
			p, err := m.builder.Build(m.wk, m.sc, prompt.Request{IDs: m.encoder.Encode("Hi", "", ""), Language: language})
			if err != nil {
				t.Fatalf("%s: language %q: %v", pm.Name, language, err)
			}
			return p.Rows
		}
		if !slices.Equal(rows("English"), rows("en-GB")) || slices.Equal(rows("en"), rows("auto")) {
			t.Errorf("%s: the rows of en-GB are not those of English", pm.Name)
		}
	}
}
