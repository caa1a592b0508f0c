package audio

import (
	"fmt"
	"math"
	"slices"
	"testing"
)

var someSpeeds = []float64{0.25, 0.5, 0.8, 0.97, 1.03, 1.25, 2, 4}

func stretched(t *testing.T, samples []float32, rate int, speed float64) []float32 {
	t.Helper()
	s, err := NewStretch(rate, speed)
	if err != nil {
		t.Fatal(err)
	}
	return s.Flush(s.Write(nil, samples))
}

// voiced is a sound like a voice of the given pitch: harmonics under a formant-like
// slope to 4,000 Hz, the pitch going up and down by wobble, the level swelling.
func voiced(n int, rate, pitch, wobble float64) []float32 {
	out := make([]float32, n)
	phase := 0.0
	for i := range out {
		at := float64(i) / rate
		phase += 2 * math.Pi * pitch * (1 + wobble*math.Sin(2*math.Pi*1.3*at)) / rate
		sum := 0.0
		for h := 1.0; h*pitch < 4000; h++ {
			sum += math.Sin(h*phase+h*h) / (1 + math.Abs(h*pitch-600)/300)
		}
		out[i] = float32(0.12 * sum * (1 + 0.3*math.Sin(2*math.Pi*2.1*at)))
	}
	return out
}

// pitch finds the period of x between two lengths by its autocorrelation, the peak
// refined by a parabola, and returns rate over it.
func pitch(x []float32, rate, low, high float64) float64 {
	from, to := int(rate/high)-2, int(rate/low)+2
	x = x[:min(len(x), 5000)]
	score := func(lag int) float64 {
		a, b, ab := 0.0, 0.0, 0.0
		for i := range x[:len(x)-to-1] {
			p, q := float64(x[i]), float64(x[i+lag])
			a, b, ab = a+p*p, b+q*q, ab+p*q
		}
		return ab / math.Sqrt(a*b)
	}
	best, at := -1.0, from
	for lag := from; lag <= to; lag++ {
		if s := score(lag); s > best {
			best, at = s, lag
		}
	}
	before, after := score(at-1), score(at+1)
	return rate / (float64(at) + 0.5*(before-after)/(before-2*best+after))
}

func TestStretchKeepsPitch(t *testing.T) {
	const rate = 24000
	for _, hertz := range []float64{62, 110, 220, 441, 1000, 3000} {
		for _, speed := range someSpeeds {
			got := stretched(t, sine(rate, rate, hertz, 0), rate, speed)
			middle := got[len(got)/8 : len(got)*7/8]
			lower, upper := hertz*0.72, hertz*1.4
			if p := pitch(middle, rate, lower, upper); math.Abs(p/hertz-1) > 0.01 {
				t.Errorf("%v Hz at speed %v is %.1f Hz, wanted it within 1 %%", hertz, speed, p)
			}
		}
	}
	for _, hertz := range []float64{75, 120, 210, 330} {
		for _, speed := range someSpeeds {
			got := stretched(t, voiced(2*rate, rate, hertz, 0), rate, speed)
			if p := pitch(got[len(got)/8:len(got)*7/8], rate, hertz*0.72, hertz*1.4); math.Abs(p/hertz-1) > 0.01 {
				t.Errorf("a voice of %v Hz at speed %v has %.1f Hz, wanted it within 1 %%", hertz, speed, p)
			}
		}
	}
}

// steepest is the greatest step from one sample to the next.
func steepest(x []float32) float64 {
	most := 0.0
	for i := 1; i < len(x); i++ {
		most = max(most, math.Abs(float64(x[i])-float64(x[i-1])))
	}
	return most
}

// bent is the greatest second difference: a click has one, even in a loud sound.
func bent(x []float32) float64 {
	most := 0.0
	for i := 2; i < len(x); i++ {
		most = max(most, math.Abs(float64(x[i])-2*float64(x[i-1])+float64(x[i-2])))
	}
	return most
}

// Smooth sounds stay smooth and as loud as they were.
func TestStretchIsSmooth(t *testing.T) {
	for _, rate := range []int{8000, 24000, 48000} {
		sounds := map[string][]float32{
			"62 Hz":   sine(rate, float64(rate), 62, 0),
			"200 Hz":  sine(rate, float64(rate), 200, 0),
			"1900 Hz": sine(rate, float64(rate), 1900, 0),
			"voice":   voiced(2*rate, float64(rate), 104, 0.2),
			"high":    voiced(2*rate, float64(rate), 260, 0.1),
			"chirp":   {},
		}
		chirp := make([]float32, rate)
		for i := range chirp {
			at := float64(i) / float64(rate)
			chirp[i] = float32(0.4 * math.Sin(2*math.Pi*(80*at+600*at*at)))
		}
		sounds["chirp"] = chirp
		for name, in := range sounds {
			for _, speed := range someSpeeds {
				got := stretched(t, in, rate, speed)
				if a, b := steepest(got), steepest(in); a > 1.5*b {
					t.Errorf("%s at %d Hz and speed %v steps by %.4f, the input by %.4f at most", name, rate, speed, a, b)
				}
				fade := 2 * math.Pow(math.Pi*hopsPerSecond/float64(rate), 2) // a cross-fade bends too
				if a, b := bent(got), bent(in); a > 1.5*b+fade {
					t.Errorf("%s at %d Hz and speed %v bends by %.5f, the input by %.5f at most", name, rate, speed, a, b)
				}
				if level := decibels(rms(got) / rms(in)); math.Abs(level) > 1 {
					t.Errorf("%s at %d Hz and speed %v is %.2f dB louder, wanted it within 1 dB", name, rate, speed, level)
				}
			}
		}
	}
}

// Noise has no period to find; its power stays all the same.
func TestStretchKeepsPowerOfNoise(t *testing.T) {
	in := noise(48000, 4)
	for _, speed := range someSpeeds {
		if level := decibels(rms(stretched(t, in, 24000, speed)) / rms(in)); math.Abs(level) > 1 {
			t.Errorf("speed %v: %.2f dB louder, wanted it within 1 dB", speed, level)
		}
	}
}

// What happens in the input happens at its time over the speed, and the ends of the
// output are those of the input.
func TestStretchKeepsTime(t *testing.T) {
	const rate = 24000
	for _, speed := range someSpeeds {
		in := make([]float32, 2*rate)
		for _, at := range []float64{0.3, 1.1, 1.7} {
			copy(in[int(at*rate):], sine(rate/20, rate, 440, 0)) // 50 ms
		}
		got := stretched(t, in, rate, speed)
		for _, at := range []float64{0.3, 1.1, 1.7} {
			middle := int((at + 0.025) * rate / speed)
			if level := rms(got[middle-rate/400 : middle+rate/400]); level < 0.1 {
				t.Errorf("speed %v: the tone at %v s is not at %v s", speed, at, at/speed)
			}
			half := int(0.035*rate/speed) + rate/50 // to either side, 10 ms off, and two cross-fades
			for _, quiet := range []int{middle - half - 100, middle + half} {
				if level := rms(got[quiet : quiet+100]); level > 0.01 {
					t.Errorf("speed %v: sound (%.3f) beside the tone at %v s", speed, level, at/speed)
				}
			}
		}
		whole := voiced(rate, rate, 130, 0.1)
		got = stretched(t, whole, rate, speed)
		last := got[len(got)-20:]
		for i, x := range whole[len(whole)-20:] {
			if math.Abs(float64(last[i]-x)) > 0.02 {
				t.Errorf("speed %v: it ends with %v, wanted %v", speed, last, whole[len(whole)-20:])
				break
			}
		}
		if got[0] != whole[0] {
			t.Errorf("speed %v: it begins with %v, wanted %v", speed, got[0], whole[0])
		}
	}
}

func TestStretchLength(t *testing.T) {
	for _, rate := range []int{8000, 11025, 24000, 48000} {
		for _, speed := range append([]float64{0.3333, 1, math.Pi, 3.9}, someSpeeds...) {
			for _, n := range []int{0, 1, 2, 3, 79, 80, 81, 240, 479, 480, 721, 1920, 5000, 23999} {
				got := len(stretched(t, noise(n, 5), rate, speed))
				if want := int(math.Round(float64(n) / speed)); got != want {
					t.Errorf("%d samples at speed %v became %d, wanted %d", n, speed, got, want)
				}
			}
		}
	}
}

func TestStretchCutting(t *testing.T) {
	for _, rate := range []int{8000, 24000, 192000} {
		sounds := [][]float32{voiced(rate/2, float64(rate), 140, 0.2), noise(rate/4, 6), make([]float32, rate/10)}
		for _, speed := range append([]float64{1, 3.3}, someSpeeds...) {
			for i, in := range sounds {
				t.Run(fmt.Sprintf("%d Hz, %v, %d", rate, speed, i), func(t *testing.T) {
					s, err := NewStretch(rate, speed)
					if err != nil {
						t.Fatal(err)
					}
					testCutting(t, s, in)
				})
			}
		}
	}
}

// The delay that the type promises.
func TestStretchDelay(t *testing.T) {
	const rate, hop = 24000, 240
	in := voiced(rate, rate, 140, 0.2)
	for _, speed := range someSpeeds {
		s, err := NewStretch(rate, speed)
		if err != nil {
			t.Fatal(err)
		}
		var out []float32
		for i := range in {
			out = s.Write(out, in[i:i+1])
			if i == 6*hop && len(out) == 0 {
				t.Errorf("speed %v: no output after 60 ms of input", speed)
			}
			if behind := float64(i+1) - float64(len(out))*speed; behind > 6*hop+1 {
				t.Fatalf("speed %v: the output is %.0f samples behind, wanted at most %d", speed, behind, 6*hop)
			}
		}
	}
}

func TestStretchSpeedOne(t *testing.T) {
	in := noise(5000, 2)
	in[7] = float32(math.Copysign(0, -1))
	got := stretched(t, in, 24000, 1)
	for i := range in {
		if math.Float32bits(got[i]) != math.Float32bits(in[i]) {
			t.Fatalf("sample %d is %v, wanted %v", i, got[i], in[i])
		}
	}
}

// Sounds that break sums go through without a panic and in full length.
func TestStretchOfNoSound(t *testing.T) {
	for _, bad := range []float32{float32(math.NaN()), float32(math.Inf(1)), math.MaxFloat32, math.SmallestNonzeroFloat32} {
		in := slices.Repeat([]float32{bad, -bad, 0}, 3000)
		for _, speed := range someSpeeds {
			if got, want := len(stretched(t, in, 24000, speed)), int(math.Round(9000/speed)); got != want {
				t.Errorf("%v at speed %v: %d samples, wanted %d", bad, speed, got, want)
			}
		}
	}
}

func TestStretchRefuses(t *testing.T) {
	for _, speed := range []float64{0, -1, 0.2499, 4.0001, 5, math.NaN(), math.Inf(1), math.Inf(-1)} {
		want := fmt.Sprintf("audio: speed %v, allowed is 0.25 to 4", speed)
		if _, err := NewStretch(24000, speed); err == nil || err.Error() != want {
			t.Errorf("error %v, wanted %q", err, want)
		}
	}
	const want = "audio: stretching at 7 Hz, allowed is 8000 to 192000"
	if _, err := NewStretch(7, 2); err == nil || err.Error() != want {
		t.Errorf("error %v, wanted %q", err, want)
	}
}

func TestStretchDoesNotAllocate(t *testing.T) {
	in, out := voiced(1920, 24000, 140, 0), make([]float32, 0, 5*1920)
	for _, speed := range []float64{0.25, 0.9, 1, 1.1, 4} {
		s, err := NewStretch(24000, speed)
		if err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(20, func() { s.Flush(s.Write(out, in)) }); n != 0 {
			t.Errorf("speed %v: %v allocations, wanted 0", speed, n)
		}
	}
}

func BenchmarkStretch(b *testing.B) {
	in, out := voiced(24000, 24000, 140, 0.2), make([]float32, 0, 100000)
	for _, speed := range []float64{0.25, 0.8, 1.25, 4} {
		b.Run(fmt.Sprint(speed), func(b *testing.B) {
			s, err := NewStretch(24000, speed)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				s.Flush(s.Write(out, in))
			}
		})
	}
}
