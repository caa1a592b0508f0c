package predictor

import "github.com/mynah-tts/mynah/internal/nn"

// calibration makes the rows of frames whose codes are all known: each is a sequence.
func (m *Model) calibration(wk *nn.Work, frames []Frame) *nn.Calibration {
	if len(frames) == 0 {
		return nil
	}
	c := &nn.Calibration{Work: wk, Lengths: make([]int, len(frames))}
	in := make([]float32, len(frames)*m.Groups*m.Width)
	for i, f := range frames {
		c.Lengths[i] = m.Groups
		row := func(n int) []float32 {
			at := (i*m.Groups + n) * m.Width
			return in[at : at+m.Width]
		}
		copy(row(0), f.Hidden)
		copy(row(1), f.Embed)
		for group := 1; group < m.Groups-1; group++ {
			m.embeddings[group-1].Row(row(group+1), int(f.Codes[group]))
		}
	}
	if m.projection == nil {
		c.Rows = in
		return c
	}
	n := len(frames) * m.Groups
	c.Rows = make([]float32, n*m.Hidden)
	m.projection.Forward(wk, c.Rows, in, n)
	return c
}
