package audio

import (
	"errors"
	"fmt"
	"io"
)

// ClipRate is the rate of the samples that ReadClip returns, in Hz: what the encoders of voices hear.
const ClipRate = 24000

// ClipInfo says what a clip was before it became mono at ClipRate.
type ClipInfo struct {
	Format    string  // "wav", "mp3" or "flac"
	Rate      int     // samples a second
	Channels  int     // of the file
	Seconds   float64 // of sound
	Peak      float32 // largest magnitude of the mono samples; at 1 and above the recording is clipped or of floats
	Truncated bool    // the file ends in the middle of a frame, or before the end that its header gives
	Damaged   bool    // between its frames are bytes that are none: sound is missing there
	Antiphase bool    // the channels cancel each other, so that the loudest of them was taken in place of their average
}

// ClipReason is the kind of a ClipError.
type ClipReason string

const (
	ClipUnsupported ClipReason = "unsupported" // content of another kind, or a dialect that is not decoded
	ClipDamaged     ClipReason = "damaged"     // content that contradicts itself, or ends before the first sample
	ClipTooLarge    ClipReason = "too large"   // more bytes than allowed
	ClipTooLong     ClipReason = "too long"    // more seconds than allowed
	ClipSilent      ClipReason = "silent"      // digital silence from beginning to end
	ClipNotFinite   ClipReason = "not finite"  // a sample is NaN or infinite
)

// ClipError says why a user's file gave no clip. Its text is one line for that user.
type ClipError struct {
	Reason ClipReason
	Format string // what the content is: "wav", "mp3", "flac", another kind by name, or "" for one that is not known
	Text   string
	Err    error // the cause, or nil
}

func (e *ClipError) Error() string { return "audio: clip: " + e.Text }

// Unwrap returns the cause.
func (e *ClipError) Unwrap() error { return e.Err }

func badClip(reason ClipReason, format, text string, args ...any) error {
	return &ClipError{Reason: reason, Format: format, Text: fmt.Sprintf(text, args...)}
}

// ReadClip reads a recording of any rate and number of channels as mono samples at ClipRate. What the file is, WAV (every dialect
// that ReadWAV knows, and MP3 in a WAV file), MP3 or FLAC, is told by its content. The channels are averaged, unless they cancel
// each other; samples beyond -1..1 stay as they are. Digital silence is an error.
//
// Bytes are counted while they are read, and seconds while they are decoded: memory is taken for what is there, never for what a
// header says. A panic of a decoder is a damaged file. Errors are a *ClipError, or wrap an error of r.
func ReadClip(r io.Reader, limits Limits) ([]float32, ClipInfo, error) {
	return readClip(r, limits, false)
}

// ReadSound is ReadClip for recordings that need not be of a voice: digital silence is one too.
func ReadSound(r io.Reader, limits Limits) ([]float32, ClipInfo, error) {
	return readClip(r, limits, true)
}

// readClip reads a recording, with or without any sound.
func readClip(r io.Reader, limits Limits, silence bool) ([]float32, ClipInfo, error) {
	file, err := io.ReadAll(io.LimitReader(r, max(0, limits.Bytes)+1))
	if err != nil {
		return nil, ClipInfo{}, fmt.Errorf("audio: clip: %w", err)
	}
	if int64(len(file)) > limits.Bytes {
		return nil, ClipInfo{}, badClip(ClipTooLarge, "", "more than %d bytes", max(0, limits.Bytes))
	}
	file = skipID3(file)
	kind := sniff(file)
	decoder := clipDecoders[kind]
	if decoder == nil {
		return nil, ClipInfo{}, unsupported(kind, file)
	}
	m := &mixer{format: kind, seconds: limits.Seconds, silence: silence, only: average}
	info, err := m.run(decoder, file)
	if err == nil {
		if loudest, cancelled := m.cancelled(); cancelled {
			m = &mixer{format: kind, seconds: limits.Seconds, silence: silence, only: loudest}
			info, err = m.run(decoder, file)
			info.Antiphase = true
		}
	}
	if err != nil {
		return nil, ClipInfo{}, err
	}
	samples, err := m.finish(&info)
	if err != nil {
		return nil, ClipInfo{}, err
	}
	return samples, info, nil
}

// flaws are what is wrong with a file that can be decoded all the same.
type flaws struct {
	truncated bool // it was cut off
	damaged   bool // something was passed over
}

// clipDecoder decodes a file into a mixer.
type clipDecoder func(m *mixer, file []byte) (flaws, error)

// clipDecoders are the formats that can be read, by the name that sniff gives them.
var clipDecoders = map[string]clipDecoder{"wav": decodeClipWAV, "mp3": decodeClipMP3, "flac": decodeClipFLAC}

// unsupported is the error for content that no decoder takes.
func unsupported(kind string, file []byte) error {
	const allowed = "allowed is wav, mp3 or flac"
	switch {
	case len(file) == 0:
		return badClip(ClipUnsupported, "", "the file is empty, %s", allowed)
	case kind != "":
		return badClip(ClipUnsupported, kind, "the file is %s, %s", kind, allowed)
	}
	return badClip(ClipUnsupported, "", "the file is of no known kind, it begins with %q, %s", file[:min(len(file), 12)], allowed)
}

// run decodes a file. Decoders of others panic on some bytes; that is the file's fault.
func (m *mixer) run(decoder clipDecoder, file []byte) (info ClipInfo, err error) {
	defer func() {
		if p := recover(); p != nil {
			err = badClip(ClipDamaged, m.format, "%s: damaged: the decoder gave up after %.2f s", m.format, m.soFar())
		}
	}()
	found, err := decoder(m, file)
	if err != nil {
		return ClipInfo{}, m.fail(err)
	}
	return ClipInfo{Format: m.format, Rate: m.rate, Channels: m.channels, Seconds: m.soFar(), Truncated: found.truncated, Damaged: found.damaged}, nil
}

// fail makes a ClipError of whatever a decoder returned.
func (m *mixer) fail(err error) error {
	var clip *ClipError
	var bad *SampleError
	var format *FormatError
	switch {
	case errors.As(err, &clip):
		return clip
	case errors.As(err, &bad):
		return &ClipError{Reason: ClipNotFinite, Format: m.format, Text: fmt.Sprintf("%s: sample %d, at %.2f s, is %v", m.format, bad.Index, float64(bad.Index)/float64(m.rate*m.channels), bad.Value), Err: err}
	case errors.As(err, &format):
		return &ClipError{Reason: ClipDamaged, Format: m.format, Text: m.format + ": " + format.Problem, Err: err}
	}
	return &ClipError{Reason: ClipDamaged, Format: m.format, Text: fmt.Sprintf("%s: damaged: %v", m.format, err), Err: err}
}
