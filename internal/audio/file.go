package audio

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"time"

	goaudio "github.com/go-audio/audio"
	"github.com/go-audio/wav"

	"github.com/mynah-tts/mynah/internal/osfile"
)

// errTooLong says that a WAV file is full.
var errTooLong = errors.New("the utterance is longer than a WAV file can hold")

// file is the Sink of a regular file: exact sizes, and its name only at the end.
type file struct {
	path    string // for messages
	pending *osfile.Pending
	body    body
	written int64 // samples
	err     error // the failure, or errClosed after Abort
	closed  bool
}

// Create returns a Sink that writes the file path. The samples go to a temporary file
// in the same directory, which gets its name at Close, on the disk and with the right
// sizes, and is removed by Abort or after a failure; an older file of that name stays
// until then. If path is a device or a pipe, the form of NewStream is written to it.
func Create(path string, format Format, rate int) (Sink, error) {
	return create(path, format, rate, 0)
}

func create(path string, format Format, rate, bitrate int) (Sink, error) {
	if err := check(format, rate, bitrate); err != nil {
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
		return createStream(path, format, rate, bitrate)
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("audio: %s: %w", path, osfile.Cause(err))
	}
	f := &file{path: path}
	if f.pending, err = osfile.CreatePending(path); err != nil {
		return nil, fmt.Errorf("audio: %s: %w", path, err)
	}
	if f.body, err = newFileBody(f, format, rate, bitrate); err != nil {
		return nil, f.fail(err)
	}
	return f, nil
}

// createStream opens a device or a pipe.
func createStream(path string, format Format, rate, bitrate int) (Sink, error) {
	out, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return nil, fmt.Errorf("audio: %s: %w", path, osfile.Cause(err))
	}
	sink, err := newStream(out, out, format, rate, bitrate)
	if err != nil {
		out.Close()
		return nil, err
	}
	return sink, nil
}

// newFileBody returns what writes a format to a file: as to a stream, but where a
// header holds what is known at the end only.
func newFileBody(f *file, format Format, rate, bitrate int) (body, error) {
	if format == WAV {
		return newWAVFile(f, rate)
	}
	b, err := newBody(f.pending, format, rate, bitrate)
	if c, ok := b.(*coded); ok && err == nil {
		return &finished{c, f.pending}, nil
	}
	return b, err
}

// finished is a coded body whose header, if it has one, is written again at the end.
type finished struct {
	*coded
	file *osfile.Pending
}

func (f *finished) end() error {
	if err := f.coded.end(); err != nil {
		return err
	}
	h, ok := f.coder.(header)
	if !ok {
		return nil
	}
	bytes, err := h.header()
	if err != nil {
		return err
	}
	_, err = f.file.WriteAt(bytes, 0)
	return err
}

// wavFile is the body of a WAV file with exact sizes.
type wavFile struct {
	file    *file
	rate    int
	encoder *wav.Encoder
	samples goaudio.IntBuffer
}

func newWAVFile(f *file, rate int) (*wavFile, error) {
	w := &wavFile{file: f, rate: rate, encoder: wav.NewEncoder(f.pending, rate, 16, 1, formatPCM)}
	w.samples.Format = &goaudio.Format{NumChannels: 1, SampleRate: rate}
	w.samples.SourceBitDepth = 16
	// The encoder writes its headers with the first samples and would leave the data
	// chunk out of a file that gets none.
	return w, w.encoder.Write(&w.samples)
}

func (w *wavFile) write(samples []float32) error {
	if 2*(w.file.written+int64(len(samples))) > maxWAVData {
		most := time.Duration(maxWAVData/2/int64(w.rate)) * time.Second
		return fmt.Errorf("%w (4 GiB, %v at %d Hz)", errTooLong, most, w.rate)
	}
	w.samples.Data = w.samples.Data[:0]
	for _, x := range samples {
		w.samples.Data = append(w.samples.Data, int(toPCM16(x)))
	}
	return w.encoder.Write(&w.samples)
}

func (w *wavFile) end() error { return w.encoder.Close() } // writes the sizes

func (w *wavFile) abort() {}

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
	if err := f.body.write(samples); err != nil {
		return f.fail(err)
	}
	f.written += int64(len(samples))
	return nil
}

func (f *file) Close() error {
	if f.closed {
		return f.err
	}
	if err := f.body.end(); err != nil {
		return f.fail(err)
	}
	f.closed = true
	if err := f.pending.Commit(); err != nil {
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
	f.body.abort()
	if err := f.pending.Abort(); err != nil {
		return fmt.Errorf("audio: %s: cannot remove the unfinished file: %w", f.path, err)
	}
	return nil
}

// fail ends the sink for good and removes the file. It returns the error to report.
func (f *file) fail(err error) error {
	f.closed = true
	if f.body != nil {
		f.body.abort()
	}
	_ = f.pending.Abort() // the first error is the one to report
	f.err = fmt.Errorf("audio: %s: %w", f.path, osfile.Cause(err))
	var bad *SampleError
	if errors.As(err, &bad) {
		f.err = bad // it names the package and says nothing about the file
	}
	return f.err
}
