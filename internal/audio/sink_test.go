package audio

import (
	"bytes"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// The header of a WAV file, mono, 16 bits, 24,000 Hz, without its two sizes.
const (
	headRIFF = "52494646"                                               // RIFF
	headFmt  = "57415645" + "666d7420" + "10000000" + "0100" + "0100" + // WAVE fmt, 16 bytes, PCM, mono
		"c05d0000" + "80bb0000" + "0200" + "1000" // rate, bytes a second, block, bits
	headData = "64617461" // data
)

// countingWriter keeps each call of Write apart.
type countingWriter struct{ calls [][]byte }

func (w *countingWriter) Write(p []byte) (int, error) {
	w.calls = append(w.calls, bytes.Clone(p))
	return len(p), nil
}

func (w *countingWriter) all() []byte { return bytes.Join(w.calls, nil) }

var threePieces = [][]float32{{0.25, -0.25}, {}, {1}, {-1, 0, 0.5}}

const piecesHex = "0020" + "00e0" + "ff7f" + "0080" + "0000" + "0040"

func writeAll(t *testing.T, s Sink, pieces [][]float32) {
	t.Helper()
	for _, p := range pieces {
		if err := s.Write(p); err != nil {
			t.Fatal(err)
		}
	}
}

func TestStream(t *testing.T) {
	for format, want := range map[Format]string{
		WAV: headRIFF + "ffffffff" + headFmt + headData + "ffffffff" + piecesHex,
		PCM: piecesHex,
	} {
		w := &countingWriter{}
		s, err := NewStream(w, format, 24000)
		if err != nil {
			t.Fatal(err)
		}
		if len(w.calls) != 0 {
			t.Errorf("%s: bytes before the first samples", format)
		}
		writeAll(t, s, threePieces)
		if len(w.calls) != 3 {
			t.Errorf("%s: %d writes for 3 pieces with samples", format, len(w.calls))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got := hex.EncodeToString(w.all()); got != want {
			t.Errorf("%s: wrote\n%s, wanted\n%s", format, got, want)
		}
		for i, call := range w.calls {
			if len(call)%2 != 0 {
				t.Errorf("%s: write %d has %d bytes, half a sample", format, i, len(call))
			}
		}
		if err := s.Write([]float32{0}); err == nil {
			t.Errorf("%s: a write after Close went through", format)
		}
		if err := errors.Join(s.Close(), s.Abort()); err != nil {
			t.Errorf("%s: ending twice: %v", format, err)
		}
		if got := hex.EncodeToString(w.all()); got != want {
			t.Errorf("%s: bytes after the end", format)
		}
	}
}

func TestStreamWithoutSamples(t *testing.T) {
	w := &countingWriter{}
	s, _ := NewStream(w, WAV, 24000)
	if err := s.Close(); err != nil || len(w.all()) != wavHeaderBytes {
		t.Errorf("closed with %d bytes (%v), wanted the header", len(w.all()), err)
	}
	w = &countingWriter{}
	s, _ = NewStream(w, WAV, 24000)
	if err := s.Abort(); err != nil || len(w.all()) != 0 {
		t.Errorf("aborted with %d bytes (%v), wanted none", len(w.all()), err)
	}
	if err := s.Close(); err == nil {
		t.Error("Close after Abort reports success")
	}
}

func TestStreamErrors(t *testing.T) {
	r, w := io.Pipe()
	r.CloseWithError(syscall.EPIPE)
	s, _ := NewStream(w, WAV, 24000)
	first := s.Write([]float32{0})
	if !errors.Is(first, syscall.EPIPE) {
		t.Errorf("error %v, wanted EPIPE", first)
	}
	if err := s.Write([]float32{0}); err != first {
		t.Errorf("second write: %v, wanted the first error", err)
	}
	if err := s.Close(); err != first {
		t.Errorf("close: %v, wanted the first error", err)
	}

	out := &countingWriter{}
	s, _ = NewStream(out, PCM, 24000)
	writeAll(t, s, threePieces)
	before := len(out.all())
	var bad *SampleError
	if err := s.Write([]float32{0, float32(math.NaN())}); !errors.As(err, &bad) || bad.Index != 7 {
		t.Errorf("error %v, wanted a SampleError at 7 of the stream", err)
	}
	if len(out.all()) != before {
		t.Error("samples of a failed write were sent")
	}
}

func TestSinkArguments(t *testing.T) {
	for _, test := range []struct {
		format Format
		rate   int
	}{{"ogg", 24000}, {"", 24000}, {WAV, 0}, {WAV, -1}, {PCM, 999}, {WAV, 768001}} {
		if _, err := NewStream(io.Discard, test.format, test.rate); err == nil {
			t.Errorf("stream of %q at %d Hz was made", test.format, test.rate)
		}
		path := filepath.Join(t.TempDir(), "x")
		if _, err := Create(path, test.format, test.rate); err == nil {
			t.Errorf("file of %q at %d Hz was made", test.format, test.rate)
		}
	}
}

// names returns what is in a directory.
func names(t *testing.T, dir string) []string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

func TestFile(t *testing.T) {
	for format, want := range map[Format]string{
		WAV: headRIFF + "30000000" + headFmt + headData + "0c000000" + piecesHex,
		PCM: piecesHex,
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "out")
		s, err := Create(path, format, 24000)
		if err != nil {
			t.Fatal(err)
		}
		writeAll(t, s, threePieces)
		if _, err := os.Stat(path); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the file has its name before Close (%v)", format, err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%s: the file is\n%x (%v), wanted\n%s", format, got, err, want)
		}
		if err := s.Abort(); err != nil {
			t.Errorf("%s: Abort after Close: %v", format, err)
		}
		if err := s.Write([]float32{0}); err == nil {
			t.Errorf("%s: a write after Close went through", format)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: second Close: %v", format, err)
		}
		if n := names(t, dir); !slices.Equal(n, []string{"out"}) {
			t.Errorf("%s: the directory holds %v, wanted out", format, n)
		}
	}
}

func TestFileWithoutSamples(t *testing.T) {
	for format, want := range map[Format]string{WAV: headRIFF + "24000000" + headFmt + headData + "00000000", PCM: ""} {
		path := filepath.Join(t.TempDir(), "out")
		s, err := Create(path, format, 24000)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || hex.EncodeToString(got) != want {
			t.Errorf("%s: the file is %x (%v), wanted %s", format, got, err, want)
		}
	}
}

func TestFileAbort(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "old.wav")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	ends := map[string]func(Sink) error{
		"abort": func(s Sink) error { return s.Abort() },
		"NaN":   func(s Sink) error { s.Write([]float32{float32(math.NaN())}); return nil },
		"disk": func(s Sink) error {
			s.(*file).pending.File.Close() // every write fails from here on
			var list []error
			for range 3 {
				list = append(list, s.Write([]float32{0}))
			}
			if list[0] == nil || list[0] != list[1] || list[1] != list[2] {
				t.Errorf("writes to a broken file gave %v, wanted one error three times", list)
			}
			return nil
		},
		"sizes": func(s Sink) error { s.(*file).pending.File.Close(); s.Close(); return nil },
	}
	for _, format := range []Format{WAV, PCM} {
		for name, end := range ends {
			s, err := Create(path, format, 24000)
			if err != nil {
				t.Fatal(err)
			}
			writeAll(t, s, threePieces)
			if err := end(s); err != nil {
				t.Errorf("%s, %s: %v", format, name, err)
			}
			if err := s.Close(); err == nil {
				t.Errorf("%s, %s: Close reports success", format, name)
			}
			if err := s.Abort(); err != nil {
				t.Errorf("%s, %s: second Abort: %v", format, name, err)
			}
			if n := names(t, dir); !slices.Equal(n, []string{"old.wav"}) {
				t.Errorf("%s, %s: the directory holds %v, wanted old.wav", format, name, n)
			}
			if got, err := os.ReadFile(path); err != nil || string(got) != "old" {
				t.Errorf("%s, %s: the old file is %q (%v)", format, name, got, err)
			}
		}
	}
}

func TestFileReplaces(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("modes and links of unix")
	}
	dir := t.TempDir()
	path, link := filepath.Join(dir, "real.pcm"), filepath.Join(dir, "link.pcm")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(path, 0o666); err != nil { // more than the usual mask allows
		t.Fatal(err)
	}
	if err := os.Symlink("real.pcm", link); err != nil {
		t.Fatal(err)
	}
	s, err := Create(link, PCM, 24000)
	if err != nil {
		t.Fatal(err)
	}
	writeAll(t, s, threePieces)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	info, err := os.Lstat(link)
	if err != nil || info.Mode()&fs.ModeSymlink == 0 {
		t.Errorf("the link became %v (%v)", info.Mode(), err)
	}
	info, err = os.Lstat(path)
	if err != nil || info.Mode() != 0o666 || info.Size() != 12 {
		t.Errorf("the file behind the link is %v of %d bytes (%v), wanted mode 666 and 12", info.Mode(), info.Size(), err)
	}
}

func TestFileCannotBeMade(t *testing.T) {
	dir := t.TempDir()
	plain := filepath.Join(dir, "plain")
	if err := os.WriteFile(plain, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, path, says string }{
		{"directory", dir, "is a directory"},
		{"missing parent", filepath.Join(dir, "no", "out.wav"), "directory " + filepath.Join(dir, "no") + " does not exist"},
		{"parent is a file", filepath.Join(plain, "out.wav"), "not a directory"},
		{"empty name", "", "no file name"},
		{"long name", filepath.Join(dir, strings.Repeat("x", 300)), "too long"},
	}
	if runtime.GOOS != "windows" && os.Getuid() != 0 { // root may write everywhere
		locked := filepath.Join(dir, "locked")
		if err := os.Mkdir(locked, 0o500); err != nil {
			t.Fatal(err)
		}
		readOnly := filepath.Join(dir, "readonly.wav")
		if err := os.WriteFile(readOnly, nil, 0o400); err != nil {
			t.Fatal(err)
		}
		tests = append(tests, []struct{ name, path, says string }{
			{"read-only directory", filepath.Join(locked, "out.wav"), "permission denied"},
			{"read-only file", readOnly, "permission denied"},
		}...)
	}
	for _, test := range tests {
		for _, format := range []Format{WAV, PCM} {
			_, err := Create(test.path, format, 24000)
			if err == nil {
				t.Errorf("%s: a file was made", test.name)
				continue
			}
			text := err.Error()
			if !strings.Contains(text, test.says) || !strings.Contains(text, test.path) || strings.Contains(text, ".tmp") || strings.Contains(text, "\n") {
				t.Errorf("%s: error %q, wanted one line with the name and %q", test.name, text, test.says)
			}
		}
	}
}

// A full disk, as far as a test can have one.
func TestDeviceFull(t *testing.T) {
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Skip("no /dev/full here")
	}
	s, err := Create("/dev/full", WAV, 24000)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write([]float32{0}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("error %v, wanted ENOSPC", err)
	}
	if err := s.Close(); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("Close: %v, wanted ENOSPC", err)
	}
	if _, err := os.Stat("/dev/full"); err != nil {
		t.Errorf("the device is gone: %v", err)
	}
}

func TestFourGigabytes(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "day.wav")
	s, err := Create(path, WAV, 24000)
	if err != nil {
		t.Fatal(err)
	}
	s.(*file).written = maxWAVData/2 - 1
	if err := s.Write([]float32{0}); err != nil {
		t.Errorf("the last sample that fits: %v", err)
	}
	err = s.Write([]float32{0})
	if !errors.Is(err, errTooLong) || !strings.Contains(err.Error(), "4 GiB, 24h51m") || !strings.Contains(err.Error(), path) {
		t.Errorf("error %v, wanted that of a full WAV file", err)
	}
	if n := names(t, dir); len(n) != 0 {
		t.Errorf("the directory holds %v, wanted nothing", n)
	}
	s, err = Create(filepath.Join(dir, "day.pcm"), PCM, 24000)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Abort()
	s.(*file).written = maxWAVData / 2
	if err := s.Write([]float32{0}); err != nil {
		t.Errorf("bare PCM has no limit: %v", err)
	}
}
