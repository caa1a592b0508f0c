package synth

import (
	"math/rand/v2"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/team"
	"github.com/mynah-tts/mynah/predictor"
	"github.com/mynah-tts/mynah/talker"
	"github.com/mynah-tts/mynah/talker/prompt"
)

// What the models hear while int4 codes are chosen for them: prompts of sentences, in
// both layouts and by turns in all preset voices, and frames of random codes behind
// them. Codes that the model itself would choose lower the divergence by a tenth more
// at most, and would take many times as long to make.
var calibrationTexts = []string{
	"The old man walked slowly along the river, and nobody knew what he was thinking.",
	"She bought three apples, a loaf of bread and 2 bottles of milk.",
	"Can you tell me where the station is? The train to the north leaves at seven.",
	"It rained all night; by the morning the roads were under water.",
	"今天天气很好，我们一起去公园散步吧。",
	"Ich habe gestern einen langen Brief an meine Schwester geschrieben.",
	"What a strange story! I have never heard anything like it before.",
	"El tren sale mañana a las ocho, y no queremos llegar tarde.",
}

const (
	calibrationFrames    = 32 // behind each prompt
	calibrationPredictor = 4  // of them, those that the predictor hears
	calibrationSeed      = 1  // of the random codes
)

// heard is what both models hear.
type heard struct {
	talker *nn.Calibration
	frames []predictor.Frame
	at     []int // of each frame, the talker's row behind which it comes
}

// calibrate makes what the models hear.
func (m *Model) calibrate(wk *nn.Work) (*heard, error) {
	sc := m.talker.NewScratch(prefillRows)
	b, err := prompt.NewBuilder(wk, sc, m.talker, m.pred, m.cfg.Specials)
	if err != nil {
		return nil, err
	}
	h := &heard{talker: &nn.Calibration{Work: wk}}
	rng := rand.New(rand.NewPCG(calibrationSeed, 0))
	speakers := prompt.Speakers(&m.cfg.Talker.Config)
	for i, text := range calibrationTexts {
		r := prompt.Request{IDs: m.encoder.Encode(text, "", ""), WholeText: i%2 == 0}
		if len(speakers) > 0 {
			r.Speaker = speakers[i%len(speakers)]
		}
		p, err := b.Build(wk, sc, r)
		if err != nil {
			return nil, err
		}
		if err := h.sequence(m, sc, p, rng); err != nil {
			return nil, err
		}
	}
	return h, nil
}

// sequence adds a prompt and frames of random codes.
func (h *heard) sequence(m *Model, sc *talker.Scratch, p *prompt.Prompt, rng *rand.Rand) error {
	c, width, groups := h.talker, m.cfg.Talker.Hidden, m.cfg.Talker.Groups
	c.Rows = append(c.Rows, p.Rows...)
	text := make([]float32, width)
	for n := range calibrationFrames {
		f := predictor.Frame{Embed: make([]float32, width), Codes: make([]int32, groups)}
		f.Codes[0] = int32(rng.IntN(m.cfg.Talker.Codes()))
		m.talker.Code(f.Embed, int(f.Codes[0]))
		row := append([]float32(nil), f.Embed...)
		for group := 1; group < groups; group++ {
			f.Codes[group] = int32(rng.IntN(m.cfg.Talker.Predictor.Vocab))
			m.pred.AddCode(row, group, int(f.Codes[group]))
		}
		copy(text, p.Pad)
		if n < len(p.Trailing) {
			if err := m.talker.Text(c.Work, sc, text, p.Trailing[n:n+1]); err != nil {
				return err
			}
		}
		kernel.AddF32(row, text)
		if n < calibrationPredictor {
			h.frames, h.at = append(h.frames, f), append(h.at, len(c.Rows)/width-1)
		}
		c.Rows = append(c.Rows, row...)
	}
	c.Lengths = append(c.Lengths, len(p.Rows)/width+calibrationFrames)
	return nil
}

// quantizeHearing packs both models, as they hear what they hear.
func (m *Model) quantizeHearing(p Precision, threads int) error {
	tm := team.New(threads)
	defer tm.Close()
	wk := nn.NewWork(tm)
	h, err := m.calibrate(wk)
	if err != nil {
		return err
	}
	if err := m.quantizeTalker(p, h.talker); err != nil {
		return err
	}
	width := m.cfg.Talker.Hidden
	for i := range h.frames {
		h.frames[i].Hidden = h.talker.Rows[h.at[i]*width:][:width]
	}
	return m.quantizePredictor(p, wk, h.frames)
}
