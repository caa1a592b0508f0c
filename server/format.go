package server

import (
	"errors"
	"io"
	"strings"
	"time"

	"github.com/mynah-tts/mynah/internal/audio"
)

// formats are the response formats that this machine can make: opus and aac are
// there if ffmpeg is.
func formats() []string {
	var names []string
	for _, f := range audio.Formats() {
		names = append(names, string(f))
	}
	return names
}

// parseFormat finds a format by its name in any case. The error is for the user.
func parseFormat(name string) (string, error) {
	f, err := audio.ParseFormat(name)
	if err != nil {
		return "", plainError(err)
	}
	return string(f), nil
}

// plainError takes the package's name off an error of package audio.
func plainError(err error) error { return errors.New(strings.TrimPrefix(err.Error(), "audio: ")) }

// encoding is the form in which one answer leaves.
type encoding struct {
	format string
	rate   int     // Hz, 0 for the model's
	speed  float64 // 0 for 1

	bitrate int  // bit/s, 0 for the format's usual one
	law     *law // that makes a byte of each sample of pcm, or nil
}

func (e encoding) audio() audio.Encoding {
	return audio.Encoding{Format: audio.Format(e.format), SampleRate: e.rate, Speed: e.speed, Bitrate: e.bitrate}
}

// heard is how long it takes to hear what was this long when it came from the model.
func (e encoding) heard(audio time.Duration) time.Duration {
	if e.speed == 0 {
		return audio
	}
	return time.Duration(float64(audio) / e.speed)
}

// contentType is the media type of a format.
func (e encoding) contentType() string {
	if e.law != nil {
		return e.law.contentType
	}
	return audio.ContentType(audio.Format(e.format))
}

// check refuses what cannot be made of samples of a rate: each value can be by
// itself, so it is the combination of format and rate.
func (e encoding) check(rate int) *Error {
	if err := e.audio().Check(rate); err != nil {
		return invalid("sample_rate", "%v", plainError(err))
	}
	return nil
}

// open makes the encoder of one answer, from samples of a rate.
func (e encoding) open(w io.Writer, rate int) (audio.Sink, error) {
	if e.law != nil {
		w = &lawWriter{law: e.law, to: w}
	}
	return audio.NewEncoder(guardedWriter{w}, rate, e.audio())
}

// guardedWriter makes an error of a panic: some encoders write from a goroutine of their
// own, in which it would end the process.
type guardedWriter struct{ to io.Writer }

func (g guardedWriter) Write(p []byte) (n int, err error) {
	defer recovered(&err)
	return g.to.Write(p)
}
