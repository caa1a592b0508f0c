package synth

import "time"

// Event is what a stream yields: one Start; for each segment of the text a Segment, an
// Audio for each frame, and a SegmentDone; one Done. A stream that fails ends with an
// error and no Done. A text that is not longer than Request.SegmentRunes, or a
// single short sentence, is a single segment.
type Event interface{ event() }

// Start tells how the request was understood. It comes when computing begins.
type Start struct {
	Seed       int64         // to hear the same again
	Voice      string        // the preset speaker; "" for none
	SampleRate int           // Hz
	FrameBound int           // the utterance is cut after so many frames; 0 while the text goes on
	TextTokens int           // so far, if the text comes in pieces
	PromptRows int           // positions before the first frame
	PromptKept int           // of them, those that an earlier request left: they are not computed again
	Queued     time.Duration // from Speak until computing began
}

// Segment begins a segment. It comes just before its first Audio.
type Segment struct {
	Index int    // counts from 0
	Text  string // without white space around it; as far as it is known if it comes in pieces
	Frame int    // the number of its first frame
}

// Audio is one frame, or a part of the silence between two segments.
type Audio struct {
	Frame     int           // counts from 0 over all segments; silence has the number of the frame behind it
	PCM       []float32     // mono samples from -1 to 1; valid until the next event
	Codes     []int32       // [groups], nil for silence; valid until the next event
	Computing time.Duration // for the utterance so far, as Done counts it
}

// SegmentDone ends a segment.
type SegmentDone struct {
	Index        int
	Text         string // all of it
	Frames       int
	FinishReason FinishReason // FinishStop or FinishLength
}

// FinishReason says why an utterance or a segment ended.
type FinishReason string

// The finish reasons. Only FinishStop means that all of the text was spoken: as far as can
// be told, for the model says so itself. With FinishLength the audio ended before the text
// did, in one segment at least: it was cut at the bound of its frames, or the model ended it
// before it had heard all of the text, which it hears a token a frame in the streaming layout.
const (
	FinishStop      FinishReason = "stop"      // the model said that the text is spoken
	FinishLength    FinishReason = "length"    // the audio ended before the text
	FinishCancelled FinishReason = "cancelled" // the context was cancelled
)

// Done is the end of an utterance.
type Done struct {
	FinishReason FinishReason
	Seed         int64
	Segments     int // that were begun
	TextTokens   int // of the text as far as it is known
	Frames       int
	Samples      int           // silence between segments included
	Queued       time.Duration // from Speak until computing began
	TTFA         time.Duration // from Speak to the first frame; 0 without one
	Computing    time.Duration // until the last event that was read: see RTF
	Elapsed      time.Duration // from Speak until the end was read
	Audio        time.Duration // length of the audio
}

// RTF is computing time over audio time; below 1 is faster than real time. It is 0
// without audio. Time with other requests counts; time in the queue, and in which the
// engine waits for the reader or for text, does not.
func (d Done) RTF() float64 {
	if d.Audio == 0 {
		return 0
	}
	return d.Computing.Seconds() / d.Audio.Seconds()
}

func (Start) event()       {}
func (Segment) event()     {}
func (Audio) event()       {}
func (SegmentDone) event() {}
func (Done) event()        {}
