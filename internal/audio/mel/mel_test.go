package mel

import (
	"fmt"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// TestParityMel compares the basis and every golden's frames with those of the reference.
func TestParityMel(t *testing.T) {
	for _, m := range paritytest.Models(t, "speaker") {
		t.Run(m.Name, func(t *testing.T) {
			var spec struct {
				Cases []struct {
					Samples int               `json:"samples"`
					Frames  int               `json:"mel_frames"`
					Compare []paritytest.Want `json:"compare"`
				} `json:"cases"`
			}
			golden := m.Stage(t, "speaker", &spec)
			paritytest.Close(t, "mel_basis", Basis(), golden.F32(t, "mel_basis"), 1e-8)
			compared := 0
			for _, c := range spec.Cases {
				for _, want := range c.Compare {
					if want.Tensor != fmt.Sprintf("n%d/mel", c.Samples) {
						continue
					}
					compared++
					if got := Frames(c.Samples); got != c.Frames {
						t.Errorf("%d samples: %d frames, wanted %d", c.Samples, got, c.Frames)
					}
					got := make([]float32, c.Frames*Bands)
					Rows(got, golden.F32(t, fmt.Sprintf("n%d/audio", c.Samples)), 0, c.Frames)
					t.Logf("%d samples: worst at %.2f of the tolerance", c.Samples, golden.Compare(t, want, got))
				}
			}
			if compared == 0 {
				t.Error("no mel to compare")
			}
		})
	}
}

// TestMagnitudes compares with the definition of the Fourier transform.
func TestMagnitudes(t *testing.T) {
	fft := newTransform()
	rng := rand.New(rand.NewPCG(1, 2))
	var frame [window]float64
	for i := range frame {
		frame[i] = rng.NormFloat64()
	}
	var got [bins]float64
	fft.magnitudes(&got, &frame)
	for k := range bins {
		sum := complex(0, 0)
		for i, x := range frame {
			sum += complex(x, 0) * cmplx.Rect(1, -2*math.Pi*float64(k*i%window)/window)
		}
		want := math.Sqrt(real(sum)*real(sum) + imag(sum)*imag(sum) + powerFloor)
		if diff := math.Abs(got[k] - want); diff > 1e-11 {
			t.Errorf("bin %d: %g, wanted %g", k, got[k], want)
		}
	}
}

// TestTone wants a tone in the band that has it.
func TestTone(t *testing.T) {
	for _, hz := range []float64{150, 440, 1000, 3000, 9000} {
		samples := make([]float32, 4800)
		for i := range samples {
			samples[i] = float32(0.5 * math.Sin(2*math.Pi*hz*float64(i)/SampleRate))
		}
		row := make([]float32, Bands)
		Rows(row, samples, 8, 9)
		loudest := slices.Index(row, slices.Max(row))
		if at := toMel(hz) / toMel(top) * (Bands + 1); math.Abs(at-float64(loudest+1)) > 1 {
			t.Errorf("%g Hz is loudest in band %d, wanted near %.1f", hz, loudest, at-1)
		}
	}
}

// TestAnyPieces wants the same bits however frames are asked for, and silence to be the floor.
func TestAnyPieces(t *testing.T) {
	for _, n := range []int{MinSamples, 511, 512, 1000, 5000} {
		rng := rand.New(rand.NewPCG(uint64(n), 0))
		samples := make([]float32, n)
		for i := range samples {
			samples[i] = float32(rng.NormFloat64())
		}
		frames := Frames(n)
		want, got := make([]float32, frames*Bands), make([]float32, frames*Bands)
		Rows(want, samples, 0, frames)
		for f := range frames {
			Rows(got[f*Bands:(f+1)*Bands], samples, f, f+1)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%d samples: frame by frame is not the same", n)
		}
	}
	row := make([]float32, Bands)
	Rows(row, make([]float32, 1000), 1, 2)
	for b, v := range row {
		if v > -6 || v < float32(math.Log(floor)) {
			t.Errorf("silence: band %d is %g", b, v)
		}
	}
}

func BenchmarkRows(b *testing.B) {
	samples := make([]float32, SampleRate)
	dst := make([]float32, Frames(len(samples))*Bands)
	for b.Loop() {
		Rows(dst, samples, 0, Frames(len(samples)))
	}
}
