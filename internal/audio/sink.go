package audio

import "errors"

// Sink takes the samples of one mono utterance, in order. The usual way is
//
//	defer sink.Abort()
//	… sink.Write(samples) …
//	return sink.Close()
//
// After an error from Write the sink has given up: a file is removed, and Write and
// Close return that error again. A sink is used by one goroutine at a time.
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

// body makes the bytes of a sink. Its samples are finite.
type body interface {
	write(samples []float32) error
	// end completes the bytes. When it returns all are written.
	end() error
	// abort stops. When it returns nothing more is written.
	abort()
}
