package audio

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strconv"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// usualRates are those of telephones, disks and studios.
var usualRates = []int{8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000, 88200, 96000, 192000}

// ratePairs calls check for some odd pairs of rates, and the usual ones: all of those,
// or those with the codec's rate.
func ratePairs(t *testing.T, all bool, check func(t *testing.T, from, to int)) {
	t.Helper()
	pairs := [][2]int{{24000, 47999}, {44101, 24000}, {191999, 8001}, {8000, 11027}}
	for _, from := range usualRates {
		for _, to := range usualRates {
			if from != to && (all || from == 24000 || to == 24000) {
				pairs = append(pairs, [2]int{from, to})
			}
		}
	}
	for _, p := range pairs {
		t.Run(fmt.Sprintf("%d to %d", p[0], p[1]), func(t *testing.T) { check(t, p[0], p[1]) })
	}
}

// sine returns n samples of a tone, beginning at begin seconds.
func sine(n int, rate, hertz, begin float64) []float32 {
	out := make([]float32, n)
	for i := range out {
		out[i] = float32(0.5 * math.Sin(2*math.Pi*hertz*(begin+float64(i)/rate)))
	}
	return out
}

func resampled(t *testing.T, samples []float32, from, to int) []float32 {
	t.Helper()
	r, err := NewResampler(from, to)
	if err != nil {
		t.Fatal(err)
	}
	return r.Flush(r.Write(nil, samples))
}

// rms is the root of the mean square.
func rms(x []float32) float64 {
	sum := 0.0
	for _, v := range x {
		sum += float64(v) * float64(v)
	}
	return math.Sqrt(sum / float64(max(1, len(x))))
}

func decibels(ratio float64) float64 { return 20 * math.Log10(max(ratio, 1e-30)) }

// inside is the part of y that the ends of the input do not reach.
func inside(y []float32, from, to int) []float32 {
	edge := 2 * filterLobes * max(1, to/from)
	return y[edge : len(y)-edge]
}

// Tones of the pass-band come out at their time, their level and alone; tones above
// it, which the lower rate has no place for, do not come out.
func TestResampleTones(t *testing.T) {
	ratePairs(t, true, func(t *testing.T, from, to int) {
		low := float64(min(from, to)) / 2
		n := 500 * max(1, from/to)
		for _, share := range []float64{0, 0.01, 0.1, 0.35, 0.5, 0.71, 0.84, 0.9} {
			hertz := share * low
			phase := 0.25 / max(hertz, 1) // a constant at 0 Hz
			in := sine(n, float64(from), hertz, phase)
			got := resampled(t, in, from, to)
			want := sine(len(got), float64(to), hertz, phase)
			for i := range want {
				want[i] -= got[i]
			}
			level := decibels(rms(inside(want, from, to)) / rms(inside(got, from, to)))
			if level > -85 {
				t.Errorf("%.0f Hz: error %.1f dB, wanted at most -85", hertz, level)
			}
		}
		if from < to {
			return
		}
		for share := 1.0; share*low < float64(from)/2; share *= 1.13 {
			got := resampled(t, sine(n, float64(from), share*low, 0.1), from, to)
			if level := decibels(rms(inside(got, from, to)) / rms([]float32{0.5, 0.5}) * math.Sqrt2); level > -80 {
				t.Errorf("%.0f Hz, above the pass-band, comes out at %.1f dB, wanted at most -80", share*low, level)
			}
		}
	})
}

// The ripple of the pass-band, and what is behind it, from the impulse response.
func TestResampleImpulse(t *testing.T) {
	ratePairs(t, true, func(t *testing.T, from, to int) {
		if from > to {
			return // the response is cut into phases; tones test those
		}
		in := make([]float32, 401)
		in[200] = 1
		out := resampled(t, in, from, to)
		low, center := float64(from)/2, 200*float64(to)/float64(from)
		for share := 0.0; share < float64(to)/float64(from); share += 0.061 {
			re, im := 0.0, 0.0
			for i, x := range out {
				sin, cos := math.Sincos(2 * math.Pi * share * low / float64(to) * (float64(i) - center))
				re, im = re+float64(x)*cos, im+float64(x)*sin
			}
			re, im = re*float64(from)/float64(to), im*float64(from)/float64(to)
			level := decibels(math.Hypot(re, im))
			if share <= 0.9 && (math.Abs(level) > 0.01 || math.Abs(im) > 1e-3) {
				t.Errorf("%.0f Hz: %.3f dB, phase %.4f, wanted none of either", share*low, level, im/re)
			}
			if share >= 1 && level > -80 {
				t.Errorf("%.0f Hz: image at %.1f dB, wanted at most -80", share*low, level)
			}
		}
	})
}

// A sweep goes up and back down again.
func TestResampleSweepRoundTrip(t *testing.T) {
	in := make([]float32, 24000)
	for i := range in {
		at := float64(i) / 24000
		in[i] = float32(0.5 * math.Sin(2*math.Pi*(50*at+5000*at*at)) * math.Sin(math.Pi*at)) // to 10,050 Hz
	}
	for _, rate := range []int{24001, 32000, 44100, 48000, 96000, 192000} {
		got := resampled(t, resampled(t, in, 24000, rate), rate, 24000)
		if len(got) != len(in) {
			t.Fatalf("%d Hz: %d samples, wanted %d", rate, len(got), len(in))
		}
		for i := range got {
			got[i] -= in[i]
		}
		if level := decibels(rms(got) / rms(in)); level > -80 {
			t.Errorf("%d Hz: error %.1f dB, wanted at most -80", rate, level)
		}
	}
}

func TestResampleLength(t *testing.T) {
	ratePairs(t, false, func(t *testing.T, from, to int) {
		for _, n := range []int{0, 1, 2, 59, 61, 479, 4096, 5001} {
			samples := make([]float32, n)
			exact := float64(n) * float64(to) / float64(from)
			if got, want := len(resampled(t, samples, from, to)), int(math.Round(exact)); got != want {
				t.Errorf("%d samples became %d, wanted %d", n, got, want)
			}
			whole, err := Resample(samples, from, to)
			if want := int(math.Ceil(exact - 1e-9)); err != nil || len(whole) != want {
				t.Errorf("a clip of %d samples became %d (%v), wanted %d", n, len(whole), err, want)
			}
		}
	})
}

func noise(n int, seed uint64) []float32 {
	random := rand.New(rand.NewPCG(seed, 1))
	out := make([]float32, n)
	for i := range out {
		out[i] = 2*random.Float32() - 1
	}
	return out
}

// cutting is anything with a Write and a Flush of samples.
type cutting interface {
	Write(dst, src []float32) []float32
	Flush(dst []float32) []float32
}

// testCutting feeds c in pieces of all sizes and wants the bits of one piece.
func testCutting(t *testing.T, c cutting, in []float32) {
	t.Helper()
	whole := c.Flush(c.Write(nil, in))
	random := rand.New(rand.NewPCG(7, 7))
	for _, most := range []int{1, 100, 1920, 9000} {
		var got []float32
		for rest := in; len(rest) > 0; {
			n := min(len(rest), random.IntN(most+1))
			if most == 1 {
				n = 1
			}
			got = c.Write(got, rest[:n])
			rest = rest[n:]
		}
		if got = c.Flush(got); !slices.Equal(got, whole) {
			t.Fatalf("pieces of up to %d give %d samples that differ from the %d of one piece", most, len(got), len(whole))
		}
	}
}

func TestResampleCutting(t *testing.T) {
	in := noise(6000, 1)
	ratePairs(t, false, func(t *testing.T, from, to int) {
		r, err := NewResampler(from, to)
		if err != nil {
			t.Fatal(err)
		}
		testCutting(t, r, in)
	})
}

func TestResampleSameRate(t *testing.T) {
	in := noise(5000, 2)
	in[7], in[8] = float32(math.Copysign(0, -1)), math.MaxFloat32
	got := resampled(t, in, 24000, 24000)
	for i := range in {
		if math.Float32bits(got[i]) != math.Float32bits(in[i]) {
			t.Fatalf("sample %d is %v, wanted %v", i, got[i], in[i])
		}
	}
	if len(got) != len(in) {
		t.Errorf("%d samples, wanted %d", len(got), len(in))
	}
}

func TestResampleRefuses(t *testing.T) {
	for _, rates := range [][2]int{{7999, 24000}, {24000, 0}, {24000, -8000}, {192001, 24000}} {
		want := fmt.Sprintf("audio: resampling from %d to %d Hz, allowed is 8000 to 192000", rates[0], rates[1])
		if _, err := NewResampler(rates[0], rates[1]); err == nil || err.Error() != want {
			t.Errorf("error %v, wanted %q", err, want)
		}
	}
}

func TestResampleDoesNotAllocate(t *testing.T) {
	for _, rates := range [][2]int{{24000, 48000}, {24000, 44100}, {24000, 47999}, {48000, 8000}, {24000, 24000}} {
		r, err := NewResampler(rates[0], rates[1])
		if err != nil {
			t.Fatal(err)
		}
		in, out := noise(1920, 3), make([]float32, 0, 4*1920)
		if n := testing.AllocsPerRun(20, func() { r.Write(out, in); r.Flush(out) }); n != 0 {
			t.Errorf("%v: %v allocations, wanted 0", rates, n)
		}
	}
}

// Filters are kept, but not without bound.
func TestFiltersKept(t *testing.T) {
	for to := 30000; to < 30000+3*maxFilters; to++ {
		if first, again := filterFor(24000, to), filterFor(24000, to); first != again {
			t.Fatalf("the filter to %d Hz was computed twice", to)
		}
	}
	if n := len(filters.list); n > maxFilters {
		t.Errorf("%d filters are kept, wanted at most %d", n, maxFilters)
	}
}

// The examples of the reference, which resamples with soxr, away from their ends.
func TestResampleReference(t *testing.T) {
	models := paritytest.Models(t, "speaker")
	var spec struct{ Resample []struct{ From, To int } }
	tensors := models[0].Stage(t, "speaker", &spec)
	if len(spec.Resample) == 0 {
		t.Fatal("the set holds no examples")
	}
	for _, example := range spec.Resample {
		from := example.From
		name := "resample_" + strconv.Itoa(from)
		in, want := tensors.F32(t, name+"/input"), tensors.F32(t, name+"/output")
		got, err := Resample(in, from, 24000)
		if err != nil || len(got) != len(want) {
			t.Fatalf("%d Hz: %d samples (%v), wanted %d", from, len(got), err, len(want))
		}
		for i := range got {
			got[i] -= want[i]
		}
		level := decibels(rms(inside(got, from, 24000)) / rms(inside(want, from, 24000)))
		t.Logf("%d Hz: %.1f dB", from, level)
		if level > -60 {
			t.Errorf("%d Hz: error %.1f dB, wanted at most -60", from, level)
		}
	}
}

func BenchmarkResample(b *testing.B) {
	for _, to := range []int{8000, 16000, 44100, 48000, 47999} {
		b.Run(strconv.Itoa(to), func(b *testing.B) {
			r, err := NewResampler(24000, to)
			if err != nil {
				b.Fatal(err)
			}
			in, out := noise(24000, 1), make([]float32, 0, 50000)
			b.ReportAllocs()
			for b.Loop() {
				r.Write(out, in)
			}
		})
	}
}
