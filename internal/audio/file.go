package audio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	goaudio "github.com/go-audio/audio"
	"github.com/go-audio/wav"
)

// errTooLong says that a WAV file is full.
var errTooLong = errors.New("the utterance is longer than a WAV file can hold")

// file is the Sink of a regular file: exact sizes, and its name only at the end.
type file struct {
	path    string // for messages
	format  Format
	rate    int
	pending *pendingFile
	encoder *wav.Encoder // of format WAV
	samples goaudio.IntBuffer
	bytes   []byte // scratch of format PCM
	written int64  // samples
	err     error  // the failure, or errClosed after Abort
	closed  bool
}

// Create returns a Sink that writes the file path. The samples go to a temporary file
// in the same directory, which gets its name at Close, on the disk and with the right
// sizes, and is removed by Abort or after a failure; an older file of that name stays
// until then. If path is a device or a pipe, the form of NewStream is written to it.
func Create(path string, format Format, rate int) (Sink, error) {
	if err := check(format, rate); err != nil {
		return nil, err
	}
	if path == "" {
		return nil, errors.New("audio: no file name")
	}
	info, err := os.Stat(path)
	switch {
	case err == nil && info.IsDir():
		return nil, fmt.Errorf("audio: %s: is a directory", path)
	case err == nil && !info.Mode().IsRegular():
		return createStream(path, format, rate)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("audio: %s: %w", path, cause(err))
	}
	f := &file{path: path, format: format, rate: rate}
	if f.pending, err = createPending(path); err != nil {
		return nil, fmt.Errorf("audio: %s: %w", path, err)
	}
	if format == WAV {
		f.samples.Format = &goaudio.Format{NumChannels: 1, SampleRate: rate}
		f.samples.SourceBitDepth = 16
		f.encoder = wav.NewEncoder(f.pending, rate, 16, 1, formatPCM)
		// The encoder writes its headers with the first samples and would leave the
		// data chunk out of a file that gets none.
		if err := f.encoder.Write(&f.samples); err != nil {
			return nil, f.fail(err)
		}
	}
	return f, nil
}

// createStream opens a device or a pipe.
func createStream(path string, format Format, rate int) (Sink, error) {
	out, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("audio: %s: %w", path, cause(err))
	}
	sink, err := NewStream(out, format, rate)
	if err != nil {
		out.Close()
		return nil, err
	}
	sink.(*stream).own = out
	return sink, nil
}

func (f *file) Write(samples []float32) error {
	switch {
	case f.err != nil:
		return f.err
	case f.closed:
		return errClosed
	}
	if i := firstNonFinite(samples); i >= 0 {
		return f.fail(&SampleError{f.written + int64(i), samples[i]})
	}
	write := f.writePCM
	if f.format == WAV {
		write = f.writeWAV
	}
	if err := write(samples); err != nil {
		return f.fail(err)
	}
	f.written += int64(len(samples))
	return nil
}

func (f *file) writePCM(samples []float32) (err error) {
	if f.bytes, err = AppendPCM16(f.bytes[:0], samples); err != nil {
		return err
	}
	_, err = f.pending.Write(f.bytes)
	return err
}

func (f *file) writeWAV(samples []float32) error {
	if 2*(f.written+int64(len(samples))) > maxWAVData {
		most := time.Duration(maxWAVData/2/int64(f.rate)) * time.Second
		return fmt.Errorf("%w (4 GiB, %v at %d Hz)", errTooLong, most, f.rate)
	}
	f.samples.Data = f.samples.Data[:0]
	for _, x := range samples {
		f.samples.Data = append(f.samples.Data, int(toPCM16(x)))
	}
	return f.encoder.Write(&f.samples)
}

func (f *file) Close() error {
	if f.closed {
		return f.err
	}
	if f.encoder != nil {
		if err := f.encoder.Close(); err != nil { // writes the sizes
			return f.fail(err)
		}
	}
	f.closed = true
	if err := f.pending.commit(); err != nil {
		return f.fail(err)
	}
	return nil
}

func (f *file) Abort() error {
	if f.closed {
		return nil
	}
	f.closed = true
	f.err = errClosed
	if err := f.pending.abort(); err != nil {
		return fmt.Errorf("audio: %s: cannot remove the unfinished file: %w", f.path, err)
	}
	return nil
}

// fail ends the sink for good and removes the file. It returns the error to report.
func (f *file) fail(err error) error {
	f.closed = true
	_ = f.pending.abort() // the first error is the one to report
	f.err = fmt.Errorf("audio: %s: %w", f.path, cause(err))
	var bad *SampleError
	if errors.As(err, &bad) {
		f.err = bad // it names the package and says nothing about the file
	}
	return f.err
}
