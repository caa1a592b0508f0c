package talker

import "github.com/mynah-tts/mynah/internal/nn"

// StepCost is the cost of one decode step: all layers and the head.
func (m *Model) StepCost() nn.Cost { return m.stack.Cost(1).Add(m.head.Cost(1)) }

// PromptCost is the cost of a prompt in slices of so many rows, and the head.
func (m *Model) PromptCost(rows, slice int) nn.Cost {
	c := m.head.Cost(1)
	for ; rows > 0; rows -= slice {
		c = c.Add(m.stack.Cost(min(rows, slice)))
	}
	return c
}
