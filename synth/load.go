package synth

import (
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/profile"
)

// StageLoad tells how much work a frame of one stream is, for a profile: of the stages
// that are made of weights, and of each residual step, from step 1 on.
func (m *Model) StageLoad() (stages map[profile.Stage]profile.Load, steps []profile.Load) {
	load := func(c nn.Cost) profile.Load { return profile.Load{Bytes: c.Bytes, MACs: c.MACs} }
	var all nn.Cost
	for group := 1; group < m.cfg.Talker.Groups; group++ {
		c := m.pred.StepCost(group)
		all = all.Add(c)
		steps = append(steps, load(c))
	}
	return map[profile.Stage]profile.Load{
		profile.Talker: load(m.talker.StepCost()), profile.Residual: load(all), profile.Codec: load(m.codec.FrameCost()),
	}, steps
}

// PromptLoad is the work of a prompt of so many rows.
func (m *Model) PromptLoad(rows int) profile.Load {
	c := m.talker.PromptCost(rows, prefillRows)
	return profile.Load{Bytes: c.Bytes, MACs: c.MACs}
}
