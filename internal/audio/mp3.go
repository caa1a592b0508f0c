package audio

import (
	"bytes"

	"github.com/mynah-tts/mynah/internal/audio/mp3"
)

// mp3Coder makes MP3 frames.
type mp3Coder struct {
	encoder *mp3.Encoder
	out     bytes.Buffer // of the encoder
}

func newMP3Coder(rate, bitrate int) (*mp3Coder, error) {
	c := &mp3Coder{}
	var err error
	c.encoder, err = mp3.NewEncoder(&c.out, mp3.Options{SampleRate: rate, Bitrate: bitrate})
	return c, err
}

func (c *mp3Coder) write(dst []byte, samples []float32) ([]byte, error) {
	err := c.encoder.Write(samples)
	return c.take(dst), err
}

func (c *mp3Coder) end(dst []byte) ([]byte, error) {
	err := c.encoder.Close()
	return c.take(dst), err
}

// take appends what the encoder has written.
func (c *mp3Coder) take(dst []byte) []byte {
	dst = append(dst, c.out.Bytes()...)
	c.out.Reset()
	return dst
}
