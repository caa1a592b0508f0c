package audio

import (
	"encoding/binary"
	"fmt"
	"io"
)

// stream is the Sink of a writer that cannot go back: one header, whole samples, and
// nothing after them.
type stream struct {
	w       io.Writer
	own     io.Closer // closed at the end; nil if the writer is the caller's
	buf     []byte    // the header until it is sent, then scratch
	pending bool      // buf holds the header
	written int64     // samples
	err     error     // the failure, or errClosed after Abort
	closed  bool
}

// NewStream returns a Sink that writes to w as samples come, each Write in one call
// of w.Write. A WAV header carries 0xFFFFFFFF in both size fields, since the length
// is not known when it is sent; it goes out with the first samples (or at Close, if
// there are none), so that an utterance which fails before has sent nothing. The
// sink never closes w.
func NewStream(w io.Writer, format Format, rate int) (Sink, error) {
	if err := check(format, rate); err != nil {
		return nil, err
	}
	s := &stream{w: w}
	if format == WAV {
		s.buf, s.pending = wavHeader(rate), true
	}
	return s, nil
}

// wavHeader is the header of a WAV stream: mono 16-bit PCM of unknown length.
func wavHeader(rate int) []byte {
	le := binary.LittleEndian
	h := make([]byte, 0, wavHeaderBytes)
	h = le.AppendUint32(append(h, "RIFF"...), unknownSize)
	h = le.AppendUint32(append(h, "WAVEfmt "...), 16)
	h = le.AppendUint16(h, formatPCM)
	h = le.AppendUint16(h, 1)              // channels
	h = le.AppendUint32(h, uint32(rate))   // samples a second
	h = le.AppendUint32(h, uint32(rate*2)) // bytes a second
	h = le.AppendUint16(h, 2)              // bytes of a sample of all channels
	h = le.AppendUint16(h, 16)             // bits of a sample
	return le.AppendUint32(append(h, "data"...), unknownSize)
}

func (s *stream) Write(samples []float32) error {
	switch {
	case s.err != nil:
		return s.err
	case s.closed:
		return errClosed
	case len(samples) == 0:
		return nil
	}
	if !s.pending {
		s.buf = s.buf[:0]
	}
	buf, err := AppendPCM16(s.buf, samples)
	if err != nil {
		s.err = atOffset(err, s.written)
		return s.err
	}
	s.buf, s.pending = buf, false
	s.written += int64(len(samples))
	s.send()
	return s.err
}

// send writes buf.
func (s *stream) send() {
	if _, err := s.w.Write(s.buf); err != nil {
		s.err = fmt.Errorf("audio: stream: %w", err)
	}
}

func (s *stream) Close() error {
	if s.closed {
		return s.err
	}
	if s.err == nil && s.pending {
		s.send()
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
	if s.own == nil {
		return nil
	}
	return s.own.Close()
}
