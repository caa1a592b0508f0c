package audio

import (
	"fmt"
	"io"
)

// stream is the Sink of a writer that cannot go back.
type stream struct {
	body    body
	own     io.Closer // closed at the end; nil if the writer is the caller's
	written int64     // samples
	err     error     // the failure, or errClosed after Abort
	closed  bool
}

// NewStream returns a Sink that writes to w as samples come. A WAV header carries
// 0xFFFFFFFF in both size fields, since the length is not known when it is sent; it
// goes out with the first samples (or at Close, if there are none), so that an
// utterance which fails before has sent nothing. The sink never closes w.
//
// PCM and WAV hand each Write on in one call of w.Write, FLAC and MP3 what it has
// completed, if anything: whole samples, whole blocks. Opus and AAC come from another
// process: until Close or Abort has returned a goroutine of the sink writes to w, and
// nobody else may. Both wait for the call of w.Write that is under way.
func NewStream(w io.Writer, format Format, rate int) (Sink, error) {
	return newStream(w, nil, format, rate, 0)
}

func newStream(w io.Writer, own io.Closer, format Format, rate, bitrate int) (Sink, error) {
	if err := check(format, rate, bitrate); err != nil {
		return nil, err
	}
	body, err := newBody(w, format, rate, bitrate)
	if err != nil {
		return nil, fmt.Errorf("audio: stream: %w", err)
	}
	return &stream{body: body, own: own}, nil
}

// newBody returns what writes a checked format to w.
func newBody(w io.Writer, format Format, rate, bitrate int) (body, error) {
	if form := format.find(); form.encoder != "" {
		return startChild(w, form, rate, bitrate)
	}
	c, err := newCoder(format, rate, bitrate)
	if err != nil {
		return nil, err
	}
	return &coded{w: w, coder: c}, nil
}

// check refuses formats and rates that no sink can write.
func check(format Format, rate, bitrate int) error {
	if err := format.check(); err != nil {
		return fmt.Errorf("audio: %w", err)
	}
	form := format.find()
	if err := form.checkRate(rate); err != nil {
		return err
	}
	return form.checkBitrate(bitrate, rate)
}

// coded is the body of the formats that are encoded in this process.
type coded struct {
	w     io.Writer
	coder coder
	buf   []byte // scratch
}

func (c *coded) write(samples []float32) (err error) {
	if c.buf, err = c.coder.write(c.buf[:0], samples); err != nil {
		return err
	}
	return c.send()
}

func (c *coded) end() (err error) {
	if c.buf, err = c.coder.end(c.buf[:0]); err != nil {
		return err
	}
	return c.send()
}

func (c *coded) abort() {}

func (c *coded) send() error {
	if len(c.buf) == 0 {
		return nil
	}
	_, err := c.w.Write(c.buf)
	return err
}

func (s *stream) Write(samples []float32) error {
	switch {
	case s.err != nil:
		return s.err
	case s.closed:
		return errClosed
	}
	if i := firstNonFinite(samples); i >= 0 {
		s.err = &SampleError{s.written + int64(i), samples[i]}
		s.body.abort()
		return s.err
	}
	s.written += int64(len(samples))
	if err := s.body.write(samples); err != nil {
		s.err = fmt.Errorf("audio: stream: %w", err)
		s.body.abort()
	}
	return s.err
}

func (s *stream) Close() error {
	if s.closed {
		return s.err
	}
	if s.err != nil {
		_ = s.release() // the first error is the one to report
		return s.err
	}
	if err := s.body.end(); err != nil {
		s.err = fmt.Errorf("audio: stream: %w", err)
	}
	if err := s.release(); err != nil && s.err == nil {
		s.err = fmt.Errorf("audio: stream: %w", err)
	}
	return s.err
}

func (s *stream) Abort() error {
	if s.closed {
		return nil
	}
	if s.err == nil {
		s.err = errClosed
	}
	return s.release()
}

// release ends the sink and closes what it opened itself.
func (s *stream) release() error {
	s.closed = true
	s.body.abort()
	if s.own == nil {
		return nil
	}
	return s.own.Close()
}
