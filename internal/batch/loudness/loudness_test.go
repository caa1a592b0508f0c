package loudness

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func sine(rate, n int, hz, amplitude float64) []float32 {
	s := make([]float32, n)
	for i := range s {
		s[i] = float32(amplitude * math.Sin(2*math.Pi*hz*float64(i)/float64(rate)))
	}
	return s
}

func measure(rate int, samples []float32) float64 {
	m := NewMeter(rate)
	m.Write(samples)
	return m.Integrated()
}

// The coefficients of BS.1770's tables, which are for 48 kHz.
func TestKWeightingIsTheTables(t *testing.T) {
	shelf, pass := kWeighting(48000)
	got := []float64{shelf.b0, shelf.b1, shelf.b2, shelf.a1, shelf.a2, pass.b0, pass.b1, pass.b2, pass.a1, pass.a2}
	want := []float64{
		1.53512485958697, -2.69169618940638, 1.19839281085285, -1.69065929318241, 0.73248077421585,
		1, -2, 1, -1.99004745483398, 0.99007225036621,
	}
	for i := range got {
		if math.Abs(got[i]-want[i]) > 1e-8 {
			t.Errorf("coefficient %d is %.14f, the table has %.14f", i, got[i], want[i])
		}
	}
}

func TestLoudnessOfSines(t *testing.T) {
	for _, c := range []struct {
		name      string
		rate      int
		hz        float64
		amplitude float64
		want      float64
	}{
		{"full scale", 48000, 997, 1, -3.01},
		{"-20 dB", 48000, 997, 0.1, -23.01},
		{"at 24 kHz", 24000, 997, 0.1, -23.01},
		{"at 8 kHz", 8000, 997, 0.1, -23.01},
		{"at 44.1 kHz", 44100, 997, 0.1, -23.01},
	} {
		if got := measure(c.rate, sine(c.rate, 5*c.rate, c.hz, c.amplitude)); math.Abs(got-c.want) > 0.06 {
			t.Errorf("%s: %.3f LUFS, want %.2f", c.name, got, c.want)
		}
	}
}

// Silence between words does not count (gates), and silence alone has no loudness.
func TestGates(t *testing.T) {
	const rate = 24000
	tone := sine(rate, 10*rate, 997, 0.1)
	alone := measure(rate, tone)
	if got := measure(rate, slices.Concat(tone, make([]float32, 20*rate))); math.Abs(got-alone) > 0.15 {
		t.Errorf("%.2f LUFS with silence behind, %.2f without", got, alone)
	}
	if got := measure(rate, slices.Concat(tone, sine(rate, 10*rate, 997, 0.01))); math.Abs(got-alone) > 0.15 {
		t.Errorf("%.2f LUFS with murmur 20 dB below, %.2f without", got, alone)
	}
	for _, n := range []int{0, 1, 1000, 5 * rate} {
		if got := measure(rate, make([]float32, n)); !math.IsInf(got, -1) {
			t.Errorf("%d samples of silence: %v LUFS", n, got)
		}
	}
	if got := measure(rate, sine(rate, rate/5, 997, 0.1)); math.Abs(got-alone) > 0.5 {
		t.Errorf("200 ms: %.2f LUFS, a long tone has %.2f", got, alone)
	}
}

func TestPeakBetweenSamples(t *testing.T) {
	const rate = 48000
	// A quarter of the rate, shifted by 45 degrees: samples at 0.707 of the peak.
	s := make([]float32, rate)
	for i := range s {
		s[i] = float32(0.5 * math.Sin(math.Pi/2*float64(i)+math.Pi/4))
	}
	var p Peak
	p.Write(s[100:]) // both ends are steps, which ring
	if got := p.Value(); got < 0.5 || got > 0.56 {
		t.Errorf("true peak %.4f of a sine of 0.5", got)
	}
	var q Peak
	q.Write(sine(rate, rate, 997, 0.5))
	if got := Decibels(q.Value()); math.Abs(got-Decibels(0.5)) > 0.05 {
		t.Errorf("true peak %.3f dB of a sine of -6.02 dB", got)
	}
}

// Whatever comes in and however it is cut: as many samples out, below the ceiling, at the
// right places, and unchanged but for the gain where nothing is near the ceiling.
func TestLimiter(t *testing.T) {
	const ceiling = 0.891
	for seed := range uint64(30) {
		r := rand.New(rand.NewPCG(seed, 1))
		rate := []int{8000, 24000, 48000}[r.IntN(3)]
		s := sine(rate, 1+r.IntN(2*rate), 50+3000*r.Float64(), 0.05)
		for range r.IntN(20) { // bursts
			at := r.IntN(len(s))
			for i := at; i < min(len(s), at+r.IntN(400)); i++ {
				s[i] += float32(r.Float64() - 0.5)
			}
		}
		gain := 1 + 8*r.Float64()
		whole := NewLimiter(rate, gain, ceiling)
		want := whole.Flush(whole.Write(nil, s))
		if len(want) != len(s) {
			t.Fatalf("seed %d: %d samples of %d", seed, len(want), len(s))
		}
		pieces := NewLimiter(rate, gain, ceiling)
		var got []float32
		for rest := s; len(rest) > 0; {
			n := min(len(rest), 1+r.IntN(500))
			got = pieces.Write(got, rest[:n])
			rest = rest[n:]
		}
		if got = pieces.Flush(got); !slices.Equal(got, want) {
			t.Fatalf("seed %d: pieces give other samples", seed)
		}
		var p Peak
		p.Write(want)
		if p.Value() > ceiling*Share(0.2) {
			t.Errorf("seed %d: true peak %.3f dB above the ceiling", seed, Decibels(p.Value()/ceiling))
		}
		for i, x := range want {
			if full := float64(s[i]) * gain; math.Abs(float64(x)) > math.Abs(full)+1e-6 || float64(x)*full < 0 {
				t.Fatalf("seed %d: sample %d is %g, with the gain alone %g", seed, i, x, full)
			}
		}
	}
	quiet := sine(24000, 24000, 300, 0.1)
	l := NewLimiter(24000, 2, ceiling)
	for i, x := range l.Flush(l.Write(nil, quiet)) {
		if x != float32(float64(quiet[i])*2) {
			t.Fatalf("sample %d of a quiet sound is %g, want %g", i, x, 2*quiet[i])
		}
	}
}
