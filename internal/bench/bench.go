package bench

import (
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/team"
)

// Measure measures the machine and the single-row products with so many threads. It
// takes about four seconds.
func Measure(threads int) (Machine, []Kernel) {
	tm := team.New(threads)
	defer tm.Close()
	memory := make([]float32, readSizes[0]/4)
	fill(memory)
	m := measureMachine(tm, memory)
	return m, measureKernels(tm, memory)
}

// Synthetic measures the weights of a frame of the published 0.6B, in the forms given
// for talker and predictor and float32 for the codec.
func Synthetic(threads int, talker, predictor nn.Precision) []Stage {
	tm := team.New(threads)
	defer tm.Close()
	return []Stage{measureTalker(tm, talker), measurePredictor(tm, predictor), measureCodec(tm)}
}
