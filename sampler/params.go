package sampler

import (
	"fmt"
	"math"
	"strconv"
)

// Params says how ids are chosen. The talker and the residual codes have one set
// each. The residual codes know no repetition penalty: leave it 1 there.
type Params struct {
	// DoSample draws at random; without it the largest score wins.
	DoSample bool
	// Temperature divides the scores. 0 is greedy, like DoSample false.
	Temperature float32
	// TopK keeps the k largest scores and all that equal the k-th. 0 keeps all,
	// and so does a number above the vocabulary.
	TopK int
	// TopP keeps the most probable ids until their probabilities sum to TopP. 1 keeps
	// all; 0 keeps the most probable one.
	TopP float32
	// RepetitionPenalty divides the positive and multiplies the negative logits of the
	// ids that were generated before. 1 is off.
	RepetitionPenalty float32
}

// Greedy reports whether the largest score wins and no noise is drawn.
func (p Params) Greedy() bool { return !p.DoSample || p.Temperature == 0 }

// RangeError says which sampling parameter is out of range, and what is allowed.
type RangeError struct {
	Param   string // as users name it, for example "subtalker_top_p"
	Value   string
	Allowed string
}

func (e *RangeError) Error() string {
	return fmt.Sprintf("%s is %s, allowed is %s", e.Param, e.Value, e.Allowed)
}

// Validate returns a *RangeError for the first value that is out of range, or nil.
// The prefix stands before the parameter's name: "" for the talker, "subtalker_" for
// the residual codes. Values that greedy picks ignore are checked too.
func (p Params) Validate(prefix string) error {
	refuse := func(name string, value float32, allowed string) error {
		return &RangeError{prefix + name, strconv.FormatFloat(float64(value), 'g', -1, 32), allowed}
	}
	switch {
	case !(p.Temperature >= 0 && p.Temperature <= math.MaxFloat32):
		return refuse("temperature", p.Temperature, "0 (greedy) or a finite number above 0")
	case p.TopK < 0:
		return &RangeError{prefix + "top_k", strconv.Itoa(p.TopK), "0 (off) or a whole number above 0"}
	case !(p.TopP >= 0 && p.TopP <= 1):
		return refuse("top_p", p.TopP, "0 to 1 (off)")
	case !(p.RepetitionPenalty > 0 && p.RepetitionPenalty <= math.MaxFloat32):
		return refuse("repetition_penalty", p.RepetitionPenalty, "a finite number above 0 (1 is off)")
	}
	return nil
}

// dropped returns the probability mass that top-p drops at most: 1 - TopP. The
// reference computes it in double precision from the number as it was written, so
// TopP is taken as the shortest decimal that means this float32. From the float32
// itself 0.8 would give the float32 below 0.2, and ids that end exactly there would
// be kept.
func (p Params) dropped() float32 {
	var digits [32]byte
	written, err := strconv.ParseFloat(string(strconv.AppendFloat(digits[:0], float64(p.TopP), 'g', -1, 32)), 64)
	if err != nil {
		// Cannot happen: a formatted float32 always parses.
		written = float64(p.TopP)
	}
	return float32(1 - written)
}
