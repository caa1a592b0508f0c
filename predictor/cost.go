package predictor

import "github.com/mynah-tts/mynah/internal/nn"

// StepCost is the cost of the residual step that gives the code of a group, from 1
// on, for one frame. The first step has two rows.
func (m *Model) StepCost(group int) nn.Cost {
	rows := 1
	if group == 1 {
		rows = 2
	}
	c := m.stack.Cost(rows).Add(m.heads[group-1].Cost(1))
	if m.projection != nil {
		c = c.Add(m.projection.Cost(rows))
	}
	return c
}
