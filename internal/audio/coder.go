package audio

import "fmt"

// coder turns the samples of one utterance into the bytes of a format. Samples are
// finite.
type coder interface {
	// write appends to dst what the samples complete. It appends nothing before the
	// first samples, not even a header: an utterance that fails before them has
	// sent nothing.
	write(dst []byte, samples []float32) ([]byte, error)
	// end appends the rest, and the header of an utterance without samples.
	end(dst []byte) ([]byte, error)
}

// header is a coder whose first bytes are better known at the end.
type header interface {
	// header returns what a file begins with once it is complete, as many bytes as
	// were written there.
	header() ([]byte, error)
}

// newCoder returns the coder of a format that has one. The bit rate is in bit/s; 0 is
// the format's own.
func newCoder(format Format, rate, bitrate int) (coder, error) {
	switch format {
	case PCM:
		return &pcmCoder{}, nil
	case WAV:
		return &pcmCoder{head: wavHeader(rate)}, nil
	case FLAC:
		return newFLACCoder(rate)
	case MP3:
		return newMP3Coder(rate, bitrate)
	}
	return nil, fmt.Errorf("audio: format %q has no encoder", format)
}

// pcmCoder writes 16-bit samples, behind a header if there is one.
type pcmCoder struct{ head []byte }

func (c *pcmCoder) write(dst []byte, samples []float32) ([]byte, error) {
	if len(samples) == 0 {
		return dst, nil
	}
	dst, _ = c.end(dst)
	return AppendPCM16(dst, samples)
}

func (c *pcmCoder) end(dst []byte) ([]byte, error) {
	dst = append(dst, c.head...)
	c.head = nil
	return dst, nil
}
