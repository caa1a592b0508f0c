// Package mel is the front end of the speaker encoder: the logarithm of a mel spectrogram, [frames, 128], of mono sound at 24 kHz.
//
// 384 samples are reflected on both sides (the edge is not repeated), and windows of 1,024 are taken every 256, so that n samples
// give floor(n/256) frames. A frame is the magnitudes sqrt(re² + im² + 1e-9) of a Hann window's Fourier transform, summed by 128
// triangles between 0 and 12 kHz (see [Basis]), as log(max(x, 1e-5)). All of it is computed in float64, so that a frame's bits
// depend on its samples alone.
package mel

import (
	"fmt"
	"math"
	"sync"
)

// The sizes of the published checkpoints, which no config changes.
const (
	SampleRate = 24000 // Hz
	Bands      = 128   // values of a frame
	Hop        = 256   // samples from a frame to the next
	MinSamples = pad + 1

	window = 1024
	pad    = (window - Hop) / 2 // samples reflected on each side
	top    = SampleRate / 2     // Hz, where the last triangle ends

	powerFloor = 1e-9 // added to the squared magnitude
	floor      = 1e-5 // least value before the logarithm
)

// Frames returns the number of frames of so many samples.
func Frames(samples int) int { return samples / Hop }

// analyzer is the tables of the transform.
type analyzer struct {
	hann  [window]float64
	bands [Bands]band
	fft   transform
}

// band is the triangle of a band: weights of neighbouring bins.
type band struct {
	first   int // bin of the first weight
	weights []float64
}

var tables = sync.OnceValue(func() *analyzer {
	a := &analyzer{fft: newTransform()}
	for i := range a.hann {
		a.hann[i] = 0.5 - 0.5*math.Cos(2*math.Pi*float64(i)/window)
	}
	for b, row := range triangles() {
		first, last := -1, -1
		for i, w := range row {
			if w > 0 {
				if first < 0 {
					first = i
				}
				last = i
			}
		}
		if first >= 0 {
			a.bands[b] = band{first, row[first : last+1]}
		}
	}
	return a
})

// Rows writes frames lo to hi-1 of a clip to dst [hi-lo, Bands]. Frames may be asked for in any pieces, by several goroutines.
// It panics if the clip is shorter than MinSamples or has no such frames.
func Rows(dst, samples []float32, lo, hi int) {
	if len(samples) < MinSamples || lo < 0 || lo > hi || hi > Frames(len(samples)) || len(dst) != (hi-lo)*Bands {
		panic(fmt.Sprintf("mel: frames %d to %d of %d samples into %d values", lo, hi, len(samples), len(dst)))
	}
	a := tables()
	var frame [window]float64
	var magnitude [bins]float64
	for f := lo; f < hi; f++ {
		start := f*Hop - pad
		for i := range frame {
			frame[i] = float64(samples[reflect(start+i, len(samples))]) * a.hann[i]
		}
		a.fft.magnitudes(&magnitude, &frame)
		row := dst[(f-lo)*Bands:][:Bands]
		for b := range row {
			sum, band := 0.0, &a.bands[b]
			for i, w := range band.weights {
				sum += w * magnitude[band.first+i]
			}
			row[b] = float32(math.Log(max(sum, floor)))
		}
	}
}

// reflect returns the index of a sample, or of the one that stands for it before the first and behind the last.
func reflect(i, n int) int {
	switch {
	case i < 0:
		return -i
	case i >= n:
		return 2*(n-1) - i
	}
	return i
}

// Basis returns the weights [Bands, 513] that a frame's magnitudes are summed by: triangles whose corners are evenly spaced on
// Slaney's mel scale, each with an area of one (Slaney's normalisation).
func Basis() []float32 {
	basis := make([]float32, 0, Bands*bins)
	for _, row := range triangles() {
		for _, w := range row {
			basis = append(basis, float32(w))
		}
	}
	return basis
}

func triangles() [Bands][]float64 {
	var corners [Bands + 2]float64 // Hz
	for i := range corners {
		corners[i] = toHz(toMel(top) * float64(i) / (Bands + 1))
	}
	var rows [Bands][]float64
	for b := range rows {
		low, middle, high := corners[b], corners[b+1], corners[b+2]
		rows[b] = make([]float64, bins)
		for i := range rows[b] {
			f := float64(i) * top / (bins - 1)
			up, down := (f-low)/(middle-low), (high-f)/(high-middle)
			rows[b][i] = max(0, min(up, down)) * 2 / (high - low)
		}
	}
	return rows
}

// Slaney's scale is linear up to 1 kHz, which is mel 15, and logarithmic from there: 27 mels to 6.4 times the frequency.
const (
	knee     = 1000.0
	kneeMel  = 15.0
	hzPerMel = knee / kneeMel
)

var logStep = math.Log(6.4) / 27

func toMel(hz float64) float64 {
	if hz < knee {
		return hz / hzPerMel
	}
	return kneeMel + math.Log(hz/knee)/logStep
}

func toHz(mel float64) float64 {
	if mel < kneeMel {
		return mel * hzPerMel
	}
	return knee * math.Exp((mel-kneeMel)*logStep)
}
