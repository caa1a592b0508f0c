package mp3

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// snr returns the mean ratio of signal to error in dB over spans of 480 samples that
// are not silent, for a decoded signal that is Delay late.
func snr(samples []float32, decoded []float64) float64 {
	var sum, count float64
	for at := 0; at+480 <= len(samples); at += 480 {
		var signal, noise float64
		for i := at; i < at+480; i++ {
			x := float64(samples[i])
			d := x - decoded[i+Delay]
			signal += x * x
			noise += d * d
		}
		if signal > 480e-6 {
			sum += 10 * math.Log10(signal/(noise+1e-15))
			count++
		}
	}
	return sum / count
}

// speech is 1.8 seconds of the built-in voice at 24,000 Hz.
func speech(t testing.TB) []float32 {
	dir := filepath.Dir(paritytest.Voice(t, "english.json"))
	return paritytest.Open(t, dir, "english.safetensors").F32(t, "0_non_streaming/waveform")
}

// TestSpeech bounds the error on speech. (Of another sample LAME 3.100 had 24 dB at 64 kbit/s, and this encoder 31.)
func TestSpeech(t *testing.T) {
	samples := speech(t)
	for bitrate, least := range map[int]float64{16000: 9, 32000: 19, 64000: 28, 160000: 47} {
		got := snr(samples, decode(t, encode(t, Options{24000, bitrate}, samples)))
		t.Logf("%d bit/s: %.1f dB", bitrate, got)
		if got < least {
			t.Errorf("%d bit/s: %.1f dB, wanted %v", bitrate, got, least)
		}
	}
}

// TestSignals bounds the error on synthetic sounds at the default bit rates.
func TestSignals(t *testing.T) {
	least := map[string]float64{"sine": 50, "sweep": 50, "square": 25, "noise": 5, "clicks": 15}
	for _, rate := range []int{16000, 24000, 32000, 44100, 48000} {
		for name, want := range least {
			samples := signal(name, rate)
			got := snr(samples, decode(t, encode(t, Options{SampleRate: rate}, samples)))
			t.Logf("%d Hz, %s: %.1f dB", rate, name, got)
			if got < want {
				t.Errorf("%d Hz, %s: %.1f dB, wanted %v", rate, name, got, want)
			}
		}
	}
}

// TestPreEcho checks that a click after silence is not announced: the error more than
// 20 ms before it, a short window and the filters, lies 46 dB below it.
func TestPreEcho(t *testing.T) {
	for at := 6000; at < 6000+granuleLines; at += 37 {
		samples := make([]float32, 12000)
		for i := at; i < len(samples); i++ {
			p := float64(i-at) / 24000
			samples[i] = float32(0.9 * math.Exp(-p*200) * math.Sin(2*math.Pi*3000*p+1))
		}
		var loudest float64
		for _, x := range decode(t, encode(t, Options{24000, 64000}, samples))[:at+Delay-480] {
			loudest = max(loudest, math.Abs(x))
		}
		if loudest > 0.9*0.005 {
			t.Errorf("click at %d: %.1f dB before it", at, 20*math.Log10(loudest/0.9))
		}
	}
}

// TestOtherDecoders compares with what mpg123, ffmpeg and sox decode, at all rates,
// MPEG-2.5 included. Those that are not installed are skipped.
func TestOtherDecoders(t *testing.T) {
	commands := map[string]func(in, out string, rate int) []string{
		"mpg123": func(in, out string, rate int) []string {
			return []string{"-q", "--no-gapless", "-e", "f32", "-O", out, in}
		},
		"ffmpeg": func(in, out string, rate int) []string {
			return []string{"-v", "error", "-xerror", "-y", "-i", in, "-f", "f32le", out}
		},
		"sox": func(in, out string, rate int) []string { return []string{in, "-t", "f32", out} },
	}
	for name, arguments := range commands {
		t.Run(name, func(t *testing.T) {
			path, err := exec.LookPath(name)
			if err != nil {
				t.Skipf("%s is not installed", name)
			}
			for _, rate := range SampleRates() {
				samples := signal("sweep", rate)
				in, out := filepath.Join(t.TempDir(), "a.mp3"), filepath.Join(t.TempDir(), "a.f32")
				if err := os.WriteFile(in, encode(t, Options{SampleRate: rate}, samples), 0o600); err != nil {
					t.Fatal(err)
				}
				if text, err := exec.Command(path, arguments(in, out, rate)...).CombinedOutput(); err != nil || len(text) > 0 {
					t.Fatalf("%d Hz: %v: %s", rate, err, text)
				}
				raw, err := os.ReadFile(out)
				if err != nil {
					t.Fatal(err)
				}
				decoded := make([]float64, len(raw)/4)
				for i := range decoded {
					decoded[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(raw[4*i:])))
				}
				if len(decoded) < len(samples)+Delay {
					t.Fatalf("%d Hz: %d samples of %d", rate, len(decoded), len(samples)+Delay)
				}
				if got := snr(samples, decoded); got < 25 {
					t.Errorf("%d Hz: %.1f dB", rate, got)
				}
			}
		})
	}
}

// digests are the first bytes of the SHA-256 of each rate's stream of a sweep and of
// clicks at its default bit rate: a change of bytes should be meant.
var digests = map[int]string{
	8000:  "3b45236eba59fbf4",
	11025: "a38a3ddb77059c40",
	12000: "3aa74d57098ec867",
	16000: "5fbc270ff6c3c008",
	22050: "93cfbff2b2237492",
	24000: "11dcc5f082c5c8db",
	32000: "b1acb9bf672bb9a6",
	44100: "6073cf8146334579",
	48000: "382a000d92954c54",
}

func TestDigests(t *testing.T) {
	// Where the compiler fuses multiplications and additions, bytes may differ.
	x, y := 1+math.Ldexp(1, -30), -(1 + math.Ldexp(1, -29))
	if variable := []float64{x, y}; variable[0]*variable[0]+variable[1] != 0 {
		t.Skip("fused multiply-add")
	}
	for _, rate := range SampleRates() {
		samples := append(signal("sweep", rate), signal("clicks", rate)...)
		sum := sha256.Sum256(encode(t, Options{SampleRate: rate}, samples))
		if got := hex.EncodeToString(sum[:8]); got != digests[rate] {
			t.Errorf("%d Hz: digest %s, wanted %q", rate, got, digests[rate])
		}
	}
}
