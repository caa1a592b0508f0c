package encoder

import "fmt"

// NonFiniteError says that a stage produced NaN or infinity, which points to damaged weights, or to samples far beyond full scale.
// The run has ended with it.
type NonFiniteError struct {
	Stage string  // "seanet", "transformer" or "downsample"
	At    float64 // where in the clip, in seconds
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("codec/encoder: stage %s: NaN or infinity at %.2f s", e.Stage, e.At)
}

// LengthError says that a clip cannot be encoded because of its length.
type LengthError struct {
	Samples int
	Most    int // samples; the least is 1
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("codec/encoder: clip of %d samples, allowed are 1 to %d", e.Samples, e.Most)
}

// SampleError says that a sample of a clip is NaN or infinite.
type SampleError struct {
	Index int
	Value float32
}

func (e *SampleError) Error() string {
	return fmt.Sprintf("codec/encoder: sample %d is %v, allowed are finite numbers", e.Index, e.Value)
}
