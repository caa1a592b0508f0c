package audio

import (
	"errors"
	"fmt"
)

// Format is a form in which samples leave.
type Format string

const (
	WAV Format = "wav" // RIFF header, then 16-bit PCM
	PCM Format = "pcm" // bare 16-bit little-endian PCM
)

// Sink takes the samples of one mono utterance, in order. The usual way is
//
//	defer sink.Abort()
//	… sink.Write(samples) …
//	return sink.Close()
//
// After an error from Write the sink has given up: a file is removed, and Write and
// Close return that error again.
type Sink interface {
	// Write takes samples in -1..1. NaN and infinities are a *SampleError; none of
	// the samples of that call is written then.
	Write(samples []float32) error
	// Close ends the utterance. A file gets its name only here.
	Close() error
	// Abort gives the utterance up; a file is removed. After Close it does nothing.
	Abort() error
}

// errClosed is returned by Write after Close or Abort.
var errClosed = errors.New("audio: write after the end of an utterance")

// check refuses formats and rates that no sink can write.
func check(format Format, rate int) error {
	if format != WAV && format != PCM {
		return fmt.Errorf("audio: format %q, allowed is %s or %s", format, WAV, PCM)
	}
	if rate < minRate || rate > maxRate {
		return fmt.Errorf("audio: sample rate %d Hz, allowed is %d to %d", rate, minRate, maxRate)
	}
	return nil
}
