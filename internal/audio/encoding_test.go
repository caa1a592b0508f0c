package audio

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	gomp3 "github.com/hajimehoshi/go-mp3"
)

// encoded writes samples of 24,000 Hz through an encoder, in pieces of size.
func encoded(t *testing.T, e Encoding, samples []float32, size int) *countingWriter {
	t.Helper()
	w := &countingWriter{}
	s, err := NewEncoder(w, 24000, e)
	if err != nil {
		t.Fatal(err)
	}
	writeCut(t, s, samples, size)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	return w
}

// ourFormats are those that need no other program.
var ourFormats = []Format{MP3, FLAC, WAV, PCM}

// An encoder is a stretch, then a resampler, then a stream.
func TestEncoderIsAChain(t *testing.T) {
	samples := voiced(30000, 24000, 150, 0.2)
	for _, format := range ourFormats {
		for _, e := range []Encoding{
			{Format: format}, {Format: format, Speed: 1, SampleRate: 24000},
			{Format: format, SampleRate: 8000}, {Format: format, SampleRate: 44100, Speed: 0.7},
			{Format: format, Speed: 1.5}, {Format: format, SampleRate: 48000, Speed: 4},
		} {
			want, rate := samples, 24000
			if e.Speed != 0 {
				want = stretched(t, want, rate, e.Speed)
			}
			if e.SampleRate != 0 {
				rate = e.SampleRate
				want = resampled(t, want, 24000, rate)
			}
			w := &countingWriter{}
			s, err := NewStream(w, format, rate)
			if err != nil {
				t.Fatal(err)
			}
			writeCut(t, s, want, 1920)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			for _, size := range []int{1920, 313, 100000} {
				got := encoded(t, e, samples, size)
				if !bytes.Equal(got.all(), w.all()) {
					t.Errorf("%+v, pieces of %d: %d bytes, wanted %d of other content", e, size, len(got.all()), len(w.all()))
				}
				for i, call := range got.calls {
					if (format == WAV || format == PCM) && len(call)%2 != 0 {
						t.Errorf("%+v: write %d has half a sample", e, i)
					}
					if len(call) == 0 {
						t.Errorf("%+v: write %d is empty", e, i)
					}
				}
			}
		}
	}
}

// Sound leaves while it is made, in every format of our own.
func TestEncoderStreams(t *testing.T) {
	samples := voiced(24000, 24000, 150, 0)
	for _, format := range ourFormats {
		for _, e := range []Encoding{{Format: format}, {Format: format, SampleRate: 16000}, {Format: format, SampleRate: 48000, Speed: 0.5}} {
			w := &countingWriter{}
			s, err := NewEncoder(w, 24000, e)
			if err != nil {
				t.Fatal(err)
			}
			if len(w.calls) != 0 {
				t.Errorf("%+v: bytes before the first samples", e)
			}
			writeCut(t, s, samples[:2*1920], 1920)
			if len(w.all()) <= wavHeaderBytes {
				t.Errorf("%+v: %d bytes after two frames", e, len(w.all()))
			}
			writeCut(t, s, samples[2*1920:], 1920)
			middle := len(w.all())
			if err := s.Close(); err != nil || middle*4 < len(w.all())*3 {
				t.Errorf("%+v: %d of %d bytes before the end (%v)", e, middle, len(w.all()), err)
			}
		}
	}
}

func TestMP3Decodes(t *testing.T) {
	samples := voiced(48000, 24000, 150, 0.2)
	for _, rate := range []int{16000, 24000, 48000} {
		w := encoded(t, Encoding{Format: MP3, SampleRate: rate}, samples, 1920)
		d, err := gomp3.NewDecoder(bytes.NewReader(w.all()))
		if err != nil {
			t.Fatal(err)
		}
		pcm, err := io.ReadAll(d)
		if err != nil || d.SampleRate() != rate {
			t.Errorf("decoded at %d Hz (%v), wanted %d", d.SampleRate(), err, rate)
		}
		if n, most := len(pcm)/4, rate*2+rate/4; n < rate*2 || n > most {
			t.Errorf("%d samples at %d Hz, wanted %d to %d", n, rate, rate*2, most)
		}
	}
}

func TestCreateEncoder(t *testing.T) {
	samples := voiced(30000, 24000, 150, 0.2)
	for _, format := range ourFormats {
		dir := t.TempDir()
		path := filepath.Join(dir, "out")
		e := Encoding{Format: format, SampleRate: 16000, Speed: 1.25}
		s, err := CreateEncoder(path, 24000, e)
		if err != nil {
			t.Fatal(err)
		}
		writeCut(t, s, samples, 1920)
		if n := names(t, dir); len(n) != 1 || n[0] == "out" {
			t.Errorf("%s: the directory holds %v before Close", format, n)
		}
		if err := errors.Join(s.Close(), s.Abort(), s.Close()); err != nil {
			t.Fatal(err)
		}
		got, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		stream := encoded(t, e, samples, 1920).all()
		heads := map[Format]int{WAV: wavHeaderBytes, FLAC: 42}
		if len(got) != len(stream) || !bytes.Equal(got[heads[format]:], stream[heads[format]:]) {
			t.Errorf("%s: the file has %d bytes, the stream %d, or others behind the header", format, len(got), len(stream))
		}
		if format == WAV {
			clip, err := ReadWAV(bytes.NewReader(got), Limits{1 << 20, 100})
			if err != nil || clip.Rate != 16000 || len(clip.Samples) != 16000 {
				t.Errorf("the file is %+v (%v), wanted a second of 16,000 Hz", clip, err)
			}
		}

		if s, err = CreateEncoder(path, 24000, e); err != nil {
			t.Fatal(err)
		}
		writeCut(t, s, samples, 1920)
		if err := s.Abort(); err != nil || s.Close() == nil {
			t.Errorf("%s: Abort gives %v, or Close reports success after it", format, err)
		}
		if again, err := os.ReadFile(path); err != nil || !bytes.Equal(again, got) || len(names(t, dir)) != 1 {
			t.Errorf("%s: Abort left %v, or touched the old file (%v)", format, names(t, dir), err)
		}
	}
}

// A bad sample is found by its place in what the encoder was given, and ends it.
func TestEncoderRefusesNaN(t *testing.T) {
	for _, format := range ourFormats {
		for _, e := range []Encoding{{Format: format}, {Format: format, SampleRate: 48000}, {Format: format, Speed: 2}} {
			w := &countingWriter{}
			s, err := NewEncoder(w, 24000, e)
			if err != nil {
				t.Fatal(err)
			}
			writeCut(t, s, make([]float32, 5000), 1920)
			before := len(w.all())
			var bad *SampleError
			err = s.Write([]float32{0, 0, float32(math.NaN())})
			if !errors.As(err, &bad) || bad.Index != 5002 {
				t.Errorf("%+v: error %v, wanted a SampleError at 5002", e, err)
			}
			if again := s.Write([]float32{0}); again != err {
				t.Errorf("%+v: the next write gives %v, wanted the same error", e, again)
			}
			if end := s.Close(); end != err {
				t.Errorf("%+v: Close gives %v, wanted the same error", e, end)
			}
			if len(w.all()) != before {
				t.Errorf("%+v: bytes after the error", e)
			}
		}
	}
}

func TestEncoderOfABrokenWriter(t *testing.T) {
	for _, format := range ourFormats {
		for _, e := range []Encoding{{Format: format}, {Format: format, SampleRate: 48000, Speed: 0.5}} {
			r, w := io.Pipe()
			r.CloseWithError(syscall.EPIPE)
			s, err := NewEncoder(w, 24000, e)
			if err != nil {
				t.Fatal(err)
			}
			for range 10 {
				if err = s.Write(make([]float32, 1920)); err != nil {
					break
				}
			}
			if !errors.Is(err, syscall.EPIPE) {
				t.Errorf("%+v: error %v, wanted EPIPE", e, err)
			}
			if end := s.Close(); end != err {
				t.Errorf("%+v: Close gives %v, wanted %v", e, end, err)
			}
		}
	}
}

func TestEncodingRefuses(t *testing.T) {
	nan := math.NaN()
	for _, test := range []struct {
		source   int
		encoding Encoding
		says     string
	}{
		{24000, Encoding{Format: "ogg"}, `audio: format "ogg", allowed is mp3, `},
		{24000, Encoding{}, `audio: format "", allowed is mp3, `},
		{24000, Encoding{Format: WAV, Speed: nan}, "audio: speed NaN, allowed is 0.25 to 4"},
		{24000, Encoding{Format: WAV, Speed: -1}, "audio: speed -1, allowed is 0.25 to 4"},
		{24000, Encoding{Format: WAV, Speed: 4.01}, "audio: speed 4.01, allowed is 0.25 to 4"},
		{24000, Encoding{Format: WAV, SampleRate: -5}, "audio: sample rate -5 Hz, allowed is 1000 to 768000"},
		{24000, Encoding{Format: PCM, SampleRate: 7999}, "audio: resampling from 24000 to 7999 Hz, allowed is 8000 to 192000"},
		{24000, Encoding{Format: MP3, SampleRate: 44000}, "audio: mp3 at 44000 Hz, allowed is 8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100 or 48000"},
		{5000, Encoding{Format: FLAC, Speed: 2}, "audio: stretching at 5000 Hz, allowed is 8000 to 192000"},
		{700000, Encoding{Format: FLAC}, "audio: flac at 700000 Hz, allowed is 1000 to 655350"},
		{24000, Encoding{Format: MP3, Bitrate: 63000}, "audio: mp3 of 63000 bit/s at 24000 Hz, allowed is 8000, "},
		{24000, Encoding{Format: WAV, Bitrate: 64000}, "audio: bit rate 64000 for wav, which has none to choose"},
	} {
		path := filepath.Join(t.TempDir(), "out")
		_, stream := NewEncoder(io.Discard, test.source, test.encoding)
		_, file := CreateEncoder(path, test.source, test.encoding)
		for _, err := range []error{stream, file, test.encoding.Check(test.source)} {
			if err == nil || !strings.HasPrefix(err.Error(), test.says) || strings.Contains(err.Error(), "\n") {
				t.Errorf("%+v of %d Hz: error %v, wanted %q", test.encoding, test.source, err, test.says)
			}
		}
		if len(names(t, filepath.Dir(path))) > 0 {
			t.Errorf("%+v: there is a file", test.encoding)
		}
	}
	for _, format := range ourFormats {
		if err := (Encoding{Format: format, SampleRate: 16000, Speed: 0.25}).Check(24000); err != nil {
			t.Errorf("%s: %v", format, err)
		}
	}
}

func TestFormats(t *testing.T) {
	list := Formats()
	for _, format := range ourFormats {
		if !slices.Contains(list, format) {
			t.Errorf("%v lacks %s", list, format)
		}
		for _, name := range []string{string(format), strings.ToUpper(string(format))} {
			if got, err := ParseFormat(name); got != format || err != nil {
				t.Errorf("%q is %q (%v)", name, got, err)
			}
		}
	}
	for _, form := range forms {
		extensions := Extensions(form.format)
		if len(extensions) == 0 || !strings.HasPrefix(ContentType(form.format), "audio/") {
			t.Errorf("%s: extensions %v, type %q", form.format, extensions, ContentType(form.format))
		}
		for _, extension := range extensions {
			if got, ok := FormatOf("a.b/x" + strings.ToUpper(extension)); got != form.format || !ok {
				t.Errorf("%s names %q", extension, got)
			}
		}
	}
	for _, path := range []string{"x", "x.", "mp3", "x.mp4", "x.wav.bak", ""} {
		if got, ok := FormatOf(path); ok {
			t.Errorf("%q names %q", path, got)
		}
	}
	if ContentType("ogg") != "" || Extensions("ogg") != nil {
		t.Error("there is something about a format that is not known")
	}
	for _, name := range []string{"", "ogg", "mp3 ", "wave", "\x00"} {
		want := fmt.Sprintf("audio: format %q, allowed is ", name)
		if _, err := ParseFormat(name); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: error %v, wanted %q", name, err, want)
		}
	}
}
