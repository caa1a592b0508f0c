package audio

import (
	"bytes"
	"crypto/md5"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mewkiz/flac"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// speech is what the built-in voice says in the reference.
func speech(t testing.TB) []float32 {
	t.Helper()
	path := paritytest.Voice(t, "english.safetensors")
	return paritytest.Open(t, filepath.Dir(path), filepath.Base(path)).F32(t, "2_streaming/waveform")
}

// flacSounds are sounds that lead to all kinds of blocks.
func flacSounds(t testing.TB) map[string][]float32 {
	loud := make([]float32, 5000)
	for i := range loud {
		loud[i] = float32(1 - 2*(i/7%2)) // full scale
	}
	random := rand.New(rand.NewPCG(3, 3))
	faint := make([]float32, 4000)
	for i := range faint {
		faint[i] = float32(random.IntN(3)-1) / 32768
	}
	impulse := make([]float32, 3840)
	impulse[1000] = -1
	return map[string][]float32{
		"speech": speech(t), "noise": noise(10000, 9), "silence": make([]float32, 9000), "full scale": loud,
		"sine": sine(20000, 24000, 440, 0), "voice": voiced(24000, 24000, 130, 0.2), "faint": faint, "impulse": impulse,
		"one": {0.5}, "two": {0.5, -0.5}, "a block": noise(1920, 1), "a block and one": noise(1921, 1), "none": {},
	}
}

// decodeFLAC returns the samples of a FLAC stream, as 16-bit PCM.
func decodeFLAC(t *testing.T, data []byte) (*flac.Stream, []byte) {
	t.Helper()
	stream, err := flac.New(bytes.NewReader(data))
	if err != nil {
		t.Fatal(err)
	}
	var pcm []byte
	for {
		f, err := stream.ParseNext()
		if errors.Is(err, io.EOF) {
			return stream, pcm
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, x := range f.Subframes[0].Samples {
			pcm = append(pcm, byte(x), byte(x>>8))
		}
	}
}

func pcmOf(t *testing.T, samples []float32) []byte {
	t.Helper()
	pcm, err := AppendPCM16(nil, samples)
	if err != nil {
		t.Fatal(err)
	}
	return pcm
}

// writeCut writes samples in pieces of the given size.
func writeCut(t *testing.T, s Sink, samples []float32, size int) {
	t.Helper()
	for len(samples) > 0 {
		n := min(size, len(samples))
		if err := s.Write(samples[:n]); err != nil {
			t.Fatal(err)
		}
		samples = samples[n:]
	}
}

func TestFLACStream(t *testing.T) {
	for name, samples := range flacSounds(t) {
		for _, rate := range []int{8000, 24000, 44100, 96001} {
			w := &countingWriter{}
			s, err := NewStream(w, FLAC, rate)
			if err != nil {
				t.Fatal(err)
			}
			writeCut(t, s, samples, 1920)
			if err := s.Close(); err != nil {
				t.Fatal(err)
			}
			stream, got := decodeFLAC(t, w.all())
			if !bytes.Equal(got, pcmOf(t, samples)) {
				t.Errorf("%s at %d Hz: the stream decodes to other samples", name, rate)
			}
			info := stream.Info
			if info.SampleRate != uint32(rate) || info.NChannels != 1 || info.BitsPerSample != 16 {
				t.Errorf("%s: the header says %d Hz, %d channels, %d bits", name, info.SampleRate, info.NChannels, info.BitsPerSample)
			}
			if info.NSamples != 0 || info.MD5sum != [16]byte{} {
				t.Errorf("%s: a stream knows that it has %d samples, sum %x", name, info.NSamples, info.MD5sum)
			}
			other := &countingWriter{}
			s, _ = NewStream(other, FLAC, rate)
			writeCut(t, s, samples, 777)
			if err := s.Close(); err != nil || !bytes.Equal(other.all(), w.all()) {
				t.Errorf("%s: other pieces give other bytes (%v)", name, err)
			}
		}
	}
}

// At the codec's rate each frame of it leaves at once.
func TestFLACHoldsNothingBack(t *testing.T) {
	w := &countingWriter{}
	s, err := NewStream(w, FLAC, 24000)
	if err != nil {
		t.Fatal(err)
	}
	samples := speech(t)
	for i := range 10 {
		if err := s.Write(samples[1920*i : 1920*(i+1)]); err != nil {
			t.Fatal(err)
		}
		if len(w.calls) != i+1 {
			t.Fatalf("%d writes after %d frames", len(w.calls), i+1)
		}
		if _, got := decodeFLAC(t, w.all()); len(got) != 2*1920*(i+1) {
			t.Fatalf("%d samples can be decoded after %d frames", len(got)/2, i+1)
		}
	}
}

func TestFLACFile(t *testing.T) {
	for name, samples := range flacSounds(t) {
		path := filepath.Join(t.TempDir(), "out.flac")
		s, err := Create(path, FLAC, 24000)
		if err != nil {
			t.Fatal(err)
		}
		writeCut(t, s, samples, 1000)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		stream, got := decodeFLAC(t, data)
		want := pcmOf(t, samples)
		if !bytes.Equal(got, want) {
			t.Errorf("%s: the file decodes to other samples", name)
		}
		info := stream.Info
		if info.NSamples != uint64(len(samples)) || info.MD5sum != md5.Sum(want) {
			t.Errorf("%s: the header says %d samples, sum %x; wanted %d, %x", name, info.NSamples, info.MD5sum, len(samples), md5.Sum(want))
		}
		if info.BlockSizeMin != 1920 || info.BlockSizeMax != 1920 {
			t.Errorf("%s: blocks of %d to %d, wanted 1920", name, info.BlockSizeMin, info.BlockSizeMax)
		}
		checkFLACProgram(t, name, path, want)
	}
}

// checkFLACProgram lets the reference decoder judge a file, where there is one.
func checkFLACProgram(t *testing.T, name, path string, want []byte) {
	t.Helper()
	program, err := exec.LookPath("flac")
	if err != nil {
		return
	}
	if out, err := exec.Command(program, "-t", "-w", "-s", path).CombinedOutput(); err != nil && len(want) > 0 {
		t.Errorf("%s: flac -t: %v: %s", name, err, out)
	}
	got, err := exec.Command(program, "-d", "-s", "-c", "--force-raw-format", "--endian=little", "--sign=signed", path).Output()
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s: flac -d gives %d bytes (%v), wanted the %d of the samples", name, len(got), err, len(want))
	}
}

// Prediction pays: speech takes little more than what the reference encoder needs at
// its best, and the library's own choice of polynomials needs more.
func TestFLACRatio(t *testing.T) {
	var out bytes.Buffer
	samples := speech(t)
	s, err := NewStream(&out, FLAC, 24000)
	if err != nil {
		t.Fatal(err)
	}
	writeCut(t, s, samples, 1920)
	if err := s.Close(); err != nil {
		t.Fatal(err)
	}
	ratio := float64(out.Len()) / float64(2*len(samples))
	t.Logf("speech: %.3f of the size of PCM", ratio)
	if ratio > 0.6 {
		t.Errorf("speech takes %.3f of the size of PCM, wanted at most 0.6", ratio)
	}
	program, err := exec.LookPath("flac")
	if err != nil {
		return
	}
	cmd := exec.Command(program, "-8", "--no-padding", "-s", "-c", "--force-raw-format", "--endian=little", "--sign=signed",
		"--channels=1", "--bps=16", "--sample-rate=24000", "-")
	cmd.Stdin = bytes.NewReader(pcmOf(t, samples))
	best, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("flac -8: %.3f", float64(len(best))/float64(2*len(samples)))
	if float64(out.Len()) > 1.05*float64(len(best)) {
		t.Errorf("speech takes %d bytes, flac -8 needs %d", out.Len(), len(best))
	}
}

// FuzzFLAC encodes any samples and wants them back.
func FuzzFLAC(f *testing.F) {
	f.Add([]byte{0, 0x80, 0xff, 0x7f, 1, 0}, uint16(3))
	f.Add(bytes.Repeat([]byte{0, 0x80, 0xff, 0x7f}, 700), uint16(60))
	f.Add(bytes.Repeat([]byte{7, 0}, 200), uint16(1))
	f.Fuzz(func(t *testing.T, data []byte, size uint16) {
		samples := make([]float32, len(data)/2)
		for i := range samples {
			samples[i] = float32(int16(uint16(data[2*i])|uint16(data[2*i+1])<<8)) / 32768
		}
		var out bytes.Buffer
		s, err := NewStream(&out, FLAC, 1000) // blocks of 80 samples
		if err != nil {
			t.Fatal(err)
		}
		writeCut(t, s, samples, int(size)+1)
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, got := decodeFLAC(t, out.Bytes()); !bytes.Equal(got, data[:len(samples)*2]) {
			t.Fatalf("%d samples came back as %d, or others", len(samples), len(got)/2)
		}
	})
}

func TestQuantizeCoefficients(t *testing.T) {
	for _, a := range [][]float64{{1.9, -0.95}, {0.001}, {-3.99, 6, -4, 1}, {100, 1}, {1e-30}, {0, 0}, {5000}} {
		coeffs, shift := quantize(a)
		for i, c := range coeffs {
			if c < -1<<(coeffBits-1) || c >= 1<<(coeffBits-1) || shift < 0 || shift > 15 {
				t.Errorf("%v became %v, shift %d: too large", a, coeffs, shift)
			}
			if got := math.Ldexp(float64(c), -int(shift)); math.Abs(got-a[i]) > math.Ldexp(1, -int(shift)) {
				t.Errorf("%v became %v, shift %d: %v for %v", a, coeffs, shift, got, a[i])
			}
		}
		if fmt.Sprint(a) == "[5000]" && coeffs != nil {
			t.Errorf("%v became %v, wanted none: it needs more bits than there are", a, coeffs)
		}
	}
}

func BenchmarkFLAC(b *testing.B) {
	samples := speech(b)
	b.ReportAllocs()
	b.SetBytes(int64(2 * len(samples)))
	for b.Loop() {
		s, err := NewStream(io.Discard, FLAC, 24000)
		if err != nil {
			b.Fatal(err)
		}
		for begin := 0; begin < len(samples); begin += 1920 {
			if err := s.Write(samples[begin:min(begin+1920, len(samples))]); err != nil {
				b.Fatal(err)
			}
		}
		if err := s.Close(); err != nil {
			b.Fatal(err)
		}
	}
}
