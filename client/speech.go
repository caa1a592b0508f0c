package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"
)

// ErrTruncated ends audio that was cut before the text had ended. What was
// read before is good.
var ErrTruncated = errors.New("client: the audio was cut before the text had ended")

// FinishReason says why an utterance ended.
type FinishReason string

// The finish reasons. Only Stop means that all of the text was spoken.
const (
	Stop      FinishReason = "stop"
	Length    FinishReason = "length"    // cut at the bound of its frames, or by a model that had not heard all of it
	Cancelled FinishReason = "cancelled" // taken back, or cut off by the end of the server
	Failed    FinishReason = "error"
)

// Info is what a server tells before the audio.
type Info struct {
	ContentType string
	SampleRate  int    // Hz
	Seed        int64  // to hear the same again
	Voice       string // the preset that speaks, or ""
	TTFA        time.Duration
	RequestID   string
	Warnings    []string // of RefAudio
	Ignored     string   // names of fields that were not used
}

// Result is what a server tells at the end.
type Result struct {
	FinishReason FinishReason
	Frames       int     // of 80 ms
	RTF          float64 // time taken over length of the audio
}

// Speech is the audio of one utterance as it arrives. It is read by one goroutine.
type Speech struct {
	Info   Info
	answer *http.Response
	ctx    context.Context
	cancel context.CancelFunc
	result Result
	err    error
	odd    []byte // half of a sample
	bytes  int64  // that were read
}

// Speak has a text spoken. It returns when there is audio, or with an *Error if the server
// refuses. The speech must be closed.
func (c *Client) Speak(ctx context.Context, r Request) (*Speech, error) {
	fields := r.fields()
	fields["input"] = r.Text
	body, err := encode(fields)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	answer, err := c.do(ctx, http.MethodPost, "/v1/audio/speech", body)
	if err != nil {
		cancel()
		return nil, err
	}
	s := &Speech{answer: answer, ctx: ctx, cancel: cancel}
	if err := s.readInfo(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Speech) readInfo() error {
	h := s.answer.Header
	s.Info = Info{
		ContentType: h.Get("Content-Type"), Voice: h.Get("X-Mynah-Voice"), RequestID: h.Get("X-Request-Id"),
		Warnings: h.Values("X-Mynah-Warning"), Ignored: h.Get("X-Mynah-Ignored-Fields"),
	}
	var err error
	if s.Info.Seed, err = strconv.ParseInt(h.Get("X-Mynah-Seed"), 10, 64); err != nil {
		return fmt.Errorf("client: %s answered without X-Mynah-Seed: this is no Mynah server", s.answer.Request.URL.Host)
	}
	s.Info.SampleRate, _ = strconv.Atoi(h.Get("X-Mynah-Sample-Rate"))
	ms, _ := strconv.ParseInt(h.Get("X-Mynah-Ttfa-Ms"), 10, 64)
	s.Info.TTFA = time.Duration(ms) * time.Millisecond
	return nil
}

// Read reads audio. Its io.EOF means that all of the text was spoken; audio that was cut
// ends with ErrTruncated.
func (s *Speech) Read(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.answer.Body.Read(p)
	s.bytes += int64(n)
	switch {
	case err == io.EOF:
		s.err = s.finish()
	case err != nil && context.Cause(s.ctx) != nil:
		s.err = fmt.Errorf("client: %w", context.Cause(s.ctx))
	case err != nil:
		s.err = fmt.Errorf("client: the audio broke off: %w", err)
	}
	return n, s.err
}

// finish reads how the utterance ended.
func (s *Speech) finish() error {
	t := s.answer.Trailer
	s.result.FinishReason = FinishReason(t.Get("X-Mynah-Finish-Reason"))
	frames := t.Get("X-Mynah-Frames")
	s.result.Frames, _ = strconv.Atoi(frames)
	s.result.RTF, _ = strconv.ParseFloat(t.Get("X-Mynah-Rtf"), 64)
	switch reason := s.result.FinishReason; {
	case reason == Stop && (s.bytes == 0 || frames == "0"): // a text has sound, and a header is none
		return errors.New("client: the server sent no audio, and calls that all of the text")
	case reason == Stop:
		return io.EOF
	case reason == Length:
		return ErrTruncated
	case reason == "":
		return errors.New("client: no finish reason came with the audio, as behind proxies that drop trailers: whether it is complete is not known")
	}
	return fmt.Errorf("client: the audio ended with %q", s.result.FinishReason)
}

// Samples reads 16-bit samples of the format pcm, as many as are there and fit. Its errors
// are those of Read.
func (s *Speech) Samples(dst []int16) (int, error) {
	if len(dst) == 0 {
		return 0, nil
	}
	buf := make([]byte, 2*len(dst))
	held := copy(buf, s.odd)
	n, err := s.Read(buf[held:])
	for n += held; n == 1 && err == nil; {
		var more int
		more, err = s.Read(buf[n:])
		n += more
	}
	for i := range n / 2 {
		dst[i] = int16(uint16(buf[2*i]) | uint16(buf[2*i+1])<<8)
	}
	s.odd = append(s.odd[:0], buf[n&^1:n]...)
	if n >= 2 && err != nil {
		return n / 2, nil // again with the next call
	}
	if err == io.EOF && len(s.odd) > 0 {
		err = io.ErrUnexpectedEOF
	}
	return n / 2, err
}

// Result is how the utterance ended, once Read has told that it has.
func (s *Speech) Result() Result { return s.result }

// Close ends the utterance; it need not have been read to its end. The server leaves it
// within a frame.
func (s *Speech) Close() error {
	s.cancel()
	if s.err == nil {
		s.err = errors.New("client: read after Close")
	}
	return s.answer.Body.Close()
}
