package audio

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"
)

// childFormats are the formats of the program on PATH; without any the test is
// skipped.
func childFormats(t *testing.T) []Format {
	t.Helper()
	var list []Format
	for _, format := range Formats() {
		if format.find().encoder != "" {
			list = append(list, format)
		}
	}
	if len(list) == 0 {
		t.Skip("no ffmpeg here")
	}
	return list
}

// lockedWriter is for a writer that a goroutine uses.
type lockedWriter struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (w *lockedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Write(p)
}

func (w *lockedWriter) size() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.buf.Len()
}

// decodeChild decodes with the same program to samples of one rate.
func decodeChild(t *testing.T, data []byte, rate int) []float32 {
	t.Helper()
	cmd := exec.Command(childName, "-v", "error", "-i", "pipe:0", "-f", "s16le", "-ac", "1", "-ar", strconv.Itoa(rate), "pipe:1")
	cmd.Stdin = bytes.NewReader(data)
	pcm, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float32, len(pcm)/2)
	for i := range out {
		out[i] = float32(int16(uint16(pcm[2*i])|uint16(pcm[2*i+1])<<8)) / 32768
	}
	return out
}

func TestChildEncodes(t *testing.T) {
	samples := sine(48000, 24000, 440, 0)
	clear(samples[:7200]) // the tone begins at 0.3 s
	for _, format := range childFormats(t) {
		magic := map[Format]string{Opus: "OggS", AAC: "\xff\xf1"}[format]
		for _, rate := range []int{0, 16000, 48000} {
			w := &lockedWriter{}
			s, err := NewEncoder(w, 24000, Encoding{Format: format, SampleRate: rate})
			if err != nil {
				t.Fatal(err)
			}
			writeCut(t, s, samples, 1920)
			if err := errors.Join(s.Close(), s.Abort(), s.Close()); err != nil {
				t.Fatal(err)
			}
			data := w.buf.Bytes()
			if !bytes.HasPrefix(data, []byte(magic)) {
				t.Errorf("%s begins with %q, wanted %q", format, data[:min(8, len(data))], magic)
			}
			got := decodeChild(t, data, 24000)
			if d := len(got) - len(samples); d < -240 || d > 4096 {
				t.Errorf("%s at %d Hz: %d samples, wanted some %d", format, rate, len(got), len(samples))
			}
			begin := slices.IndexFunc(got, func(x float32) bool { return x > 0.1 })
			if lag := begin - 7200; lag < -240 || lag > 2500 || format == Opus && lag > 240 {
				t.Errorf("%s at %d Hz: the tone begins %d samples late", format, rate, lag)
			}
			if p := pitch(got[12000:40000], 24000, 330, 600); p < 437 || p > 443 {
				t.Errorf("%s at %d Hz: %.1f Hz, wanted 440", format, rate, p)
			}
			if err := s.Write([]float32{0}); err == nil {
				t.Errorf("%s: a write after Close went through", format)
			}
		}
	}
}

func TestChildFile(t *testing.T) {
	for _, format := range childFormats(t) {
		dir := t.TempDir()
		path := filepath.Join(dir, "out"+Extensions(format)[0])
		s, err := CreateEncoder(path, 24000, Encoding{Format: format, Speed: 2, Bitrate: 32000})
		if err != nil {
			t.Fatal(err)
		}
		writeCut(t, s, sine(48000, 24000, 440, 0), 1920)
		if len(names(t, dir)) != 1 || names(t, dir)[0] == filepath.Base(path) {
			t.Errorf("%s: the directory holds %v before Close", format, names(t, dir))
		}
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if n := len(decodeChild(t, data, 24000)); n < 23700 || n > 28000 {
			t.Errorf("%s: %d samples, wanted some 24000", format, n)
		}
		if s, err = CreateEncoder(path, 24000, Encoding{Format: format}); err != nil {
			t.Fatal(err)
		}
		writeCut(t, s, make([]float32, 5000), 1920)
		if err := s.Abort(); err != nil || s.Close() == nil {
			t.Errorf("%s: Abort gives %v, or Close reports success after it", format, err)
		}
		if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, data) || len(names(t, dir)) != 1 {
			t.Errorf("%s: Abort left %v, or touched the old file (%v)", format, names(t, dir), err)
		}
	}
}

// Sound comes out while it goes in.
func TestChildStreams(t *testing.T) {
	for _, format := range childFormats(t) {
		w := &lockedWriter{}
		s, err := NewStream(w, format, 24000)
		if err != nil {
			t.Fatal(err)
		}
		writeCut(t, s, noise(6*1920, 1), 1920)
		for begun := time.Now(); w.size() < 1000; time.Sleep(time.Millisecond) {
			if time.Since(begun) > 20*time.Second {
				t.Fatalf("%s: %d bytes of half a second came out", format, w.size())
			}
		}
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}
}

// gone reports whether a process has ended and been waited for.
func gone(s Sink) bool {
	return s.(*stream).body.(*child).cmd.ProcessState != nil
}

// A writer that fails, and an utterance that is given up, leave no process behind.
func TestChildEnds(t *testing.T) {
	for _, format := range childFormats(t) {
		before := runtime.NumGoroutine()
		broken := errors.New("gone away")
		r, w := io.Pipe()
		r.CloseWithError(broken)
		s, err := NewStream(w, format, 24000)
		if err != nil {
			t.Fatal(err)
		}
		for err = nil; err == nil; {
			err = s.Write(noise(1920, 2))
		}
		if !errors.Is(err, broken) || !gone(s) {
			t.Errorf("%s: error %v, wanted %q and no process (%v)", format, err, broken, gone(s))
		}
		if end := s.Close(); end != err {
			t.Errorf("%s: Close gives %v, wanted %v", format, end, err)
		}

		if s, err = NewStream(io.Discard, format, 24000); err != nil {
			t.Fatal(err)
		}
		writeCut(t, s, noise(1920, 2), 1920)
		if err := s.Abort(); err != nil || !gone(s) {
			t.Errorf("%s: Abort gives %v and leaves a process (%v)", format, err, !gone(s))
		}
		if err := s.Close(); err == nil {
			t.Errorf("%s: Close after Abort reports success", format)
		}
		for begun := time.Now(); runtime.NumGoroutine() > before; time.Sleep(time.Millisecond) {
			if time.Since(begun) > 10*time.Second {
				t.Fatalf("%s: %d goroutines, %d before", format, runtime.NumGoroutine(), before)
			}
		}
	}
}

// fakeChild puts a shell script in the place of ffmpeg.
func fakeChild(t *testing.T, script string) {
	t.Helper()
	if runtime.GOOS == "windows" {
		t.Skip("shell scripts")
	}
	dir := t.TempDir()
	text := "#!/bin/sh\ncase \"$*\" in *-encoders*) echo ' A....D libopus  Opus'; exit;; esac\n" + script
	if err := os.WriteFile(filepath.Join(dir, childName), []byte(text), 0o700); err != nil {
		t.Fatal(err)
	}
	t.Setenv("PATH", dir+string(os.PathListSeparator)+os.Getenv("PATH"))
}

func TestChildFails(t *testing.T) {
	for _, test := range []struct{ name, script, says string }{
		{"at once", "echo first >&2; echo 'no such thing' >&2; exit 3", "ffmpeg: exit status 3: no such thing"},
		{"at the end", "cat; echo 'disk is full' >&2; exit 1", "ffmpeg: exit status 1: disk is full"},
		{"without a word", "exit 1", "ffmpeg: exit status 1"},
		{"without output", "exit 0", "ffmpeg: ended without output"},
		{"before its input", "echo x; exit 0", "ffmpeg: ended before its input"},
		{"killed", "kill -9 $$", "ffmpeg: signal: killed"},
	} {
		fakeChild(t, test.script)
		for _, before := range []bool{false, true} { // its end is noticed before the first sample, or when it comes
			s, err := NewStream(io.Discard, Opus, 24000)
			if err != nil {
				t.Fatal(err)
			}
			if before && test.name != "at the end" { // that one waits for samples
				<-s.(*stream).body.(*child).copied
			}
			for range 100 {
				if err = s.Write(noise(1920, 1)); err != nil {
					break
				}
			}
			if err == nil {
				err = s.Close()
			}
			if want := "audio: stream: " + test.says; err == nil || err.Error() != want {
				t.Errorf("%s (%v): error %v, wanted %q", test.name, before, err, want)
			}
			if end := s.Close(); end != err || !gone(s) {
				t.Errorf("%s (%v): Close gives %v, wanted the same error and no process", test.name, before, end)
			}
		}
	}
}

// A child that hangs, with a child of its own, is ended by Abort.
func TestChildHangs(t *testing.T) {
	fakeChild(t, "sleep 100 | cat")
	s, err := NewStream(io.Discard, Opus, 24000)
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Write([]float32{0}); err != nil {
		t.Fatal(err)
	}
	if err := s.Abort(); err != nil || !gone(s) {
		t.Errorf("Abort gives %v and leaves a process (%v)", err, !gone(s))
	}
}

// A program that hangs when it is asked, with a child of its own, holds nobody up for long.
func TestChildHangsWhenAsked(t *testing.T) {
	fakeChild(t, "")
	path := filepath.Join(strings.Split(os.Getenv("PATH"), string(os.PathListSeparator))[0], childName)
	if err := os.WriteFile(path, []byte("#!/bin/sh\nsleep 60 | cat"), 0o700); err != nil {
		t.Fatal(err)
	}
	defer func(before time.Duration) { probeTimeout = before }(probeTimeout)
	probeTimeout = 50 * time.Millisecond
	begun := time.Now()
	_, err := ParseFormat("aac")
	if took := time.Since(begun); err == nil || !strings.Contains(err.Error(), "the one on PATH fails: no answer within 50ms; allowed is") || took > 30*time.Second {
		t.Errorf("error %v after %v", err, took)
	}
}

func TestNoChild(t *testing.T) {
	check := func(want string) {
		t.Helper()
		if _, err := ParseFormat("OPUS"); err == nil || err.Error() != want {
			t.Errorf("error %v, wanted %q", err, want)
		}
		if _, err := NewEncoder(io.Discard, 24000, Encoding{Format: Opus}); err == nil || err.Error() != want {
			t.Errorf("error %v, wanted %q", err, want)
		}
	}
	t.Setenv("PATH", t.TempDir())
	if list := Formats(); !slices.Equal(list, ourFormats) {
		t.Errorf("there are %v, wanted %v", list, ourFormats)
	}
	check(`audio: format "opus" needs the program ffmpeg on PATH, and there is none; allowed is mp3, flac, wav or pcm`)
	fakeChild(t, "exit 1")
	if list := Formats(); !slices.Contains(list, Opus) || slices.Contains(list, AAC) {
		t.Errorf("there are %v, wanted opus but no aac", list)
	}
	if _, err := ParseFormat("aac"); err == nil || !strings.Contains(err.Error(), "needs a program ffmpeg with the encoder aac") {
		t.Errorf("error %v, wanted one about the encoder", err)
	}
	for file, says := range map[string]string{"#!/bin/sh\necho 'no libavcodec' >&2; exit 127": "exit status 127", "of another machine": "exec format error"} {
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, childName), []byte(file), 0o700); err != nil {
			t.Fatal(err)
		}
		t.Setenv("PATH", dir)
		check(`audio: format "opus" needs the program ffmpeg, and the one on PATH fails: ` + says + `; allowed is mp3, flac, wav or pcm`)
	}
}
