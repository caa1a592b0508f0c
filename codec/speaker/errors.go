package speaker

import "fmt"

// NonFiniteError says that a stage produced NaN or infinity, which points to damaged weights. The run has ended with it.
type NonFiniteError struct {
	Stage string // "block_N", "mfa" or "embedding"
}

func (e *NonFiniteError) Error() string {
	return fmt.Sprintf("codec/speaker: stage %s: NaN or infinity", e.Stage)
}

// LengthError says that a clip is too short or too long for the network.
type LengthError struct {
	Samples, Least, Most int
}

func (e *LengthError) Error() string {
	return fmt.Sprintf("codec/speaker: clip of %d samples, allowed are %d to %d", e.Samples, e.Least, e.Most)
}

// SampleError says that a sample of a clip is NaN or infinite.
type SampleError struct {
	Index int
	Value float32
}

func (e *SampleError) Error() string {
	return fmt.Sprintf("codec/speaker: sample %d is %v, allowed are finite numbers", e.Index, e.Value)
}
