package synth

import "time"

// Event is what a stream yields, in this order: one Start, an Audio for each frame,
// one Done. A stream that fails ends with an error and no Done.
type Event interface{ event() }

// Start tells how the request was understood.
type Start struct {
	Seed       int64  // to hear the same again
	Voice      string // the preset speaker; "" for none
	SampleRate int    // Hz
	FrameBound int    // the utterance is cut after so many frames
	TextTokens int
	PromptRows int // positions that are computed before the first frame
}

// Audio is one frame.
type Audio struct {
	Frame int       // counts from 0
	PCM   []float32 // mono samples from -1 to 1; valid until the next event
	Codes []int32   // [groups]; valid until the next event
}

// FinishReason says why an utterance ended.
type FinishReason string

// The finish reasons. Only FinishStop means that all of the text was spoken.
const (
	FinishStop      FinishReason = "stop"      // the model said that the text is spoken
	FinishLength    FinishReason = "length"    // cut at the bound of its frames
	FinishCancelled FinishReason = "cancelled" // the context was cancelled
)

// Done is the end of an utterance.
type Done struct {
	FinishReason FinishReason
	Seed         int64
	Frames       int
	Samples      int
	TTFA         time.Duration // from Speak to the first frame; 0 without one
	Elapsed      time.Duration // from Speak to the end
	Audio        time.Duration // length of the audio
}

// RTF is computing time over audio time; below 1 is faster than real time. It is 0
// without audio.
func (d Done) RTF() float64 {
	if d.Audio == 0 {
		return 0
	}
	return d.Elapsed.Seconds() / d.Audio.Seconds()
}

func (Start) event() {}
func (Audio) event() {}
func (Done) event()  {}
