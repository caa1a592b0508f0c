package mp3

import (
	"bytes"
	"errors"
	"io"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	decoder "github.com/hajimehoshi/go-mp3"
)

// encode returns the stream of samples, given in one call.
func encode(t testing.TB, o Options, samples []float32) []byte {
	t.Helper()
	var out bytes.Buffer
	e, err := NewEncoder(&out, o)
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Write(samples); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

// decode returns what go-mp3 makes of a stream: the left of its two equal channels.
func decode(t testing.TB, stream []byte) []float64 {
	t.Helper()
	d, err := decoder.NewDecoder(bytes.NewReader(stream))
	if err != nil {
		t.Fatal(err)
	}
	pcm, err := io.ReadAll(d)
	if err != nil {
		t.Fatal(err)
	}
	out := make([]float64, len(pcm)/4)
	for i := range out {
		out[i] = float64(int16(uint16(pcm[4*i])|uint16(pcm[4*i+1])<<8)) / 32767
	}
	return out
}

// decodable says whether go-mp3 reads streams of o. It knows no MPEG-2.5, and takes
// padded frames for a byte too short at some bit rates of 22,050 Hz.
func decodable(o Options) bool {
	f, _, _ := resolve(o)
	return f.version != versionMPEG25 && !(o.SampleRate == 22050 && 144*o.Bitrate/o.SampleRate%2 == 0)
}

// each calls f for every sample rate and bit rate.
func each(f func(o Options)) {
	for _, rate := range SampleRates() {
		for _, bitrate := range Bitrates(rate) {
			f(Options{rate, bitrate})
		}
	}
}

// signals are half a second of sounds that are hard in different ways, at any rate.
var signals = map[string]func(i, rate int) float64{
	"silence": func(i, rate int) float64 { return 0 },
	"sine":    func(i, rate int) float64 { return 0.5 * math.Sin(2*math.Pi*float64(i)*440/float64(rate)) },
	"sweep": func(i, rate int) float64 {
		x := float64(i) / float64(rate)
		return 0.7 * math.Sin(2*math.Pi*float64(rate)*0.48*x*x)
	},
	"square": func(i, rate int) float64 { return 1 - 2*float64(i*200/rate%2) },
	"noise":  func(i, rate int) float64 { return 2*float64(uint32(i*i*747796405+i*277803737)>>8)/(1<<24) - 1 },
	"clicks": func(i, rate int) float64 {
		p := float64(i%(rate/8)) / float64(rate)
		return 0.9 * math.Exp(-p*300) * math.Cos(2*math.Pi*2500*p)
	},
	"whisper": func(i, rate int) float64 { return float64(i*7919%5-2) / 32768 },
}

func signal(name string, rate int) []float32 {
	out := make([]float32, rate/2)
	for i := range out {
		out[i] = float32(signals[name](i, rate))
	}
	return out
}

// TestStreams checks for every rate, bit rate and signal that the bit stream is legal
// and has the promised number of frames, and that go-mp3 gives all samples back.
func TestStreams(t *testing.T) {
	each(func(o Options) {
		for name := range signals {
			samples := signal(name, o.SampleRate)
			stream := encode(t, o, samples)
			frames := checkStream(t, stream, o)
			perFrame := granuleLines * formatOf(o.SampleRate).granules
			if want := (len(samples)+Delay+perFrame-1)/perFrame + 1; frames != want {
				t.Errorf("%v %s: %d frames, wanted %d", o, name, frames, want)
			}
			if !decodable(o) {
				continue
			}
			if got := len(decode(t, stream)); got != frames*perFrame {
				t.Errorf("%v %s: go-mp3 gives %d samples of %d", o, name, got, frames*perFrame)
			}
		}
	})
}

// TestPrefixes checks that a stream cut after any frame decodes to a prefix.
func TestPrefixes(t *testing.T) {
	o := Options{24000, 64000}
	stream := encode(t, o, signal("clicks", 24000))
	whole := decode(t, stream)
	const frame = 192
	for cut := frame; cut < len(stream); cut += frame {
		part := decode(t, stream[:cut])
		if len(part) != cut/frame*granuleLines {
			t.Fatalf("%d bytes give %d samples", cut, len(part))
		}
		for i, x := range part {
			if x != whole[i] {
				t.Fatalf("%d bytes: sample %d is %v, of the whole stream %v", cut, i, x, whole[i])
			}
		}
	}
}

// TestSilence checks that nothing becomes exactly nothing.
func TestSilence(t *testing.T) {
	for i, x := range decode(t, encode(t, Options{24000, 8000}, make([]float32, 24000))) {
		if x != 0 {
			t.Fatalf("sample %d is %v", i, x)
		}
	}
}

// TestNoSamples checks that an empty utterance is a legal stream of silence.
func TestNoSamples(t *testing.T) {
	o := Options{24000, 64000}
	if frames := checkStream(t, encode(t, o, nil), o); frames != 3 {
		t.Errorf("%d frames, wanted the 2 that the delay takes and one more", frames)
	}
}

// TestChunks checks that bytes do not depend on how samples are cut into calls.
func TestChunks(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, rate := range []int{8000, 24000, 44100} {
		o := Options{SampleRate: rate}
		samples := signal("noise", rate)
		want := encode(t, o, samples)
		for range 10 {
			var out bytes.Buffer
			e, err := NewEncoder(&out, o)
			if err != nil {
				t.Fatal(err)
			}
			for rest := samples; len(rest) > 0; {
				n := min(len(rest), r.IntN(3000))
				if err := e.Write(rest[:n]); err != nil {
					t.Fatal(err)
				}
				rest = rest[n:]
			}
			if err := e.Close(); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(out.Bytes(), want) {
				t.Errorf("%d Hz: other bytes in pieces", rate)
			}
		}
	}
}

// TestPromptness checks that frames leave with the samples that complete them: at most
// two frames and a granule are held back.
func TestPromptness(t *testing.T) {
	each(func(o Options) {
		var out bytes.Buffer
		e, err := NewEncoder(&out, o)
		if err != nil {
			t.Fatal(err)
		}
		samples := signal("sweep", o.SampleRate)
		frame := granuleLines * e.format.granules
		for given := 0; given+240 <= len(samples); given += 240 {
			if err := e.Write(samples[given : given+240]); err != nil {
				t.Fatal(err)
			}
			encoded := (given + 240 - lookahead) / frame
			if want := (encoded - reserveFrames - 1) * e.stream.frameBytes; out.Len() < want {
				t.Fatalf("%v: %d bytes after %d samples, wanted %d", o, out.Len(), given+240, want)
			}
		}
	})
}

func TestOptions(t *testing.T) {
	for _, test := range []struct {
		o    Options
		want string
	}{
		{Options{0, 0}, "mp3: sample rate 0 Hz, allowed is [8000 11025 12000 16000 22050 24000 32000 44100 48000]"},
		{Options{24001, 64000}, "mp3: sample rate 24001 Hz, allowed is [8000 11025"},
		{Options{24000, 320000}, "mp3: bit rate 320000 bit/s at 24000 Hz, allowed is [8000 16000"},
		{Options{44100, 8000}, "mp3: bit rate 8000 bit/s at 44100 Hz, allowed is [32000 40000"},
		{Options{24000, -1}, "mp3: bit rate -1 bit/s at 24000 Hz, allowed is"},
	} {
		_, err := NewEncoder(io.Discard, test.o)
		if err == nil || !strings.HasPrefix(err.Error(), test.want) {
			t.Errorf("%v: error %v, wanted %s", test.o, err, test.want)
		}
	}
	for _, rate := range SampleRates() {
		if _, err := NewEncoder(io.Discard, Options{SampleRate: rate, Bitrate: DefaultBitrate(rate)}); err != nil {
			t.Error(err)
		}
	}
	if DefaultBitrate(1) != 0 || Bitrates(1) != nil {
		t.Error("a rate that cannot be encoded has bit rates")
	}
}

func TestBadSamples(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1))} {
		var out bytes.Buffer
		e, err := NewEncoder(&out, Options{SampleRate: 24000})
		if err != nil {
			t.Fatal(err)
		}
		if err := e.Write(make([]float32, 100)); err != nil {
			t.Fatal(err)
		}
		err = e.Write([]float32{0, 0, bad})
		var sample *SampleError
		if !errors.As(err, &sample) || sample.Index != 102 {
			t.Errorf("%v: error %v, wanted a SampleError at 102", bad, err)
		}
		if again := e.Close(); again != err || out.Len() != 0 {
			t.Errorf("%v: Close says %v and %d bytes were written", bad, again, out.Len())
		}
	}
}

// failing writes some bytes and then fails.
type failing struct{ left int }

func (f *failing) Write(p []byte) (int, error) {
	if f.left -= len(p); f.left < 0 {
		return 0, io.ErrClosedPipe
	}
	return len(p), nil
}

func TestWriterFails(t *testing.T) {
	e, err := NewEncoder(&failing{1000}, Options{SampleRate: 24000})
	if err != nil {
		t.Fatal(err)
	}
	err = e.Write(make([]float32, 24000))
	if !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("error %v", err)
	}
	if again := e.Write(nil); again != err {
		t.Errorf("then %v", again)
	}
	if again := e.Close(); again != err {
		t.Errorf("Close: %v", again)
	}
}

func TestClosed(t *testing.T) {
	var out bytes.Buffer
	e, err := NewEncoder(&out, Options{SampleRate: 24000})
	if err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	size := out.Len()
	if err := e.Close(); err != nil || out.Len() != size {
		t.Errorf("second Close: %v, %d bytes more", err, out.Len()-size)
	}
	if err := e.Write(make([]float32, 1)); err == nil || out.Len() != size {
		t.Error("Write after Close succeeded")
	}
}

func TestAllocs(t *testing.T) {
	for _, rate := range []int{24000, 48000} {
		e, err := NewEncoder(io.Discard, Options{SampleRate: rate})
		if err != nil {
			t.Fatal(err)
		}
		samples := signal("clicks", rate)
		if n := testing.AllocsPerRun(5, func() { _ = e.Write(samples) }); n != 0 {
			t.Errorf("%d Hz: %v allocations in half a second", rate, n)
		}
	}
}

// FuzzEncoder encodes bytes as samples: whatever they are, the stream is legal.
func FuzzEncoder(f *testing.F) {
	f.Add([]byte("seed"), uint8(5), uint8(3), uint8(10))
	f.Add(bytes.Repeat([]byte{0, 127, 255, 128}, 2000), uint8(0), uint8(0), uint8(255))
	f.Add(append(make([]byte, 3000), bytes.Repeat([]byte{1, 200}, 900)...), uint8(6), uint8(0), uint8(64))
	f.Fuzz(func(t *testing.T, data []byte, rate, bitrate, gain uint8) {
		o := Options{SampleRate: SampleRates()[int(rate)%len(formats)]}
		rates := Bitrates(o.SampleRate)
		o.Bitrate = rates[int(bitrate)%len(rates)]
		data = data[:min(len(data), 20000)]
		samples := make([]float32, len(data))
		for i, b := range data {
			samples[i] = (float32(b) - 128) / 128 * float32(gain) / 128
		}
		stream := encode(t, o, samples)
		checkStream(t, stream, o)
	})
}

func BenchmarkEncoder(b *testing.B) {
	samples := make([]float32, 0, 24000)
	for _, name := range []string{"sweep", "clicks"} {
		samples = append(samples, signal(name, 24000)...)
	}
	e, err := NewEncoder(io.Discard, Options{SampleRate: 24000})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if err := e.Write(samples); err != nil {
			b.Fatal(err)
		}
	}
}

// TestWords checks that the Huffman tables are complete prefix codes for all their pairs.
func TestWords(t *testing.T) {
	for table, list := range huffmanWords {
		var sum float64
		seen := map[uint16]bool{}
		for _, w := range list {
			sum += math.Exp2(-float64(w >> 8))
			seen[w&0xff] = true
		}
		if sum != 1 || len(seen) != len(list) {
			t.Errorf("table %d: %d words for %d pairs fill %v of the code", table, len(list), len(seen), sum)
		}
	}
}
