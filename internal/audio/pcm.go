package audio

import (
	"encoding/binary"
	"fmt"
	"math"
)

// SampleError is a sample that is no sound: NaN or infinite. It means that a
// computation before the converter has failed.
type SampleError struct {
	Index int64 // in the slice or, from a Sink, in all that it was given
	Value float32
}

func (e *SampleError) Error() string {
	return fmt.Sprintf("audio: sample %d is %v", e.Index, e.Value)
}

// toPCM16 scales by 32,768, rounds to the nearest integer (half to even) and clamps
// to -32,768..32,767: -1 becomes -32,768 and 1 becomes 32,767. Readers divide by
// 32,768, so 16-bit samples that are read and written again are unchanged.
func toPCM16(x float32) int16 {
	v := math.RoundToEven(float64(x) * 32768)
	return int16(max(math.MinInt16, min(math.MaxInt16, v)))
}

// firstNonFinite returns the index of the first NaN or infinity, or -1.
func firstNonFinite(samples []float32) int {
	for i, x := range samples {
		if x-x != 0 {
			return i
		}
	}
	return -1
}

// Int16 converts samples in -1..1 to dst, which must be as long: nearest integer of
// x * 32,768, clamped. At a NaN or an infinity it fails with a *SampleError and
// converts nothing.
func Int16(dst []int16, samples []float32) error {
	if len(dst) != len(samples) {
		panic(fmt.Sprintf("audio: Int16: %d places for %d samples", len(dst), len(samples)))
	}
	if i := firstNonFinite(samples); i >= 0 {
		return &SampleError{int64(i), samples[i]}
	}
	for i, x := range samples {
		dst[i] = toPCM16(x)
	}
	return nil
}

// AppendPCM16 appends samples to dst as 16-bit little-endian PCM, converted like
// Int16. At a NaN or an infinity it fails with a *SampleError and appends nothing.
func AppendPCM16(dst []byte, samples []float32) ([]byte, error) {
	if i := firstNonFinite(samples); i >= 0 {
		return dst, &SampleError{int64(i), samples[i]}
	}
	for _, x := range samples {
		dst = binary.LittleEndian.AppendUint16(dst, uint16(toPCM16(x)))
	}
	return dst, nil
}
