package mel

import (
	"math"
	"math/bits"
)

const (
	half = window / 2
	bins = half + 1 // of the spectrum of a real frame
)

// transform is the tables of a Fourier transform of 1,024 real numbers, done as one of 512 complex ones: even samples are the
// real parts, odd ones the imaginary parts. It is radix 2 in float64, whose rounding lies far below float32.
type transform struct {
	order  [half]int     // bit-reversed indices
	re, im [half]float64 // exp(-2πi k/window)
}

func newTransform() transform {
	var t transform
	for k := range half {
		t.order[k] = int(bits.Reverse16(uint16(k)) >> (16 - bits.Len(half-1)))
		sin, cos := math.Sincos(-2 * math.Pi * float64(k) / window)
		t.re[k], t.im[k] = cos, sin
	}
	return t
}

// magnitudes computes sqrt(re² + im² + 1e-9) of the spectrum of a frame, from 0 Hz to half the sample rate.
func (t *transform) magnitudes(dst *[bins]float64, frame *[window]float64) {
	var re, im [half]float64
	for k, from := range t.order {
		re[k], im[k] = frame[2*from], frame[2*from+1]
	}
	t.butterflies(&re, &im)
	for k := range dst {
		// With z the complex transform: even part (z[k] + z*[-k])/2, odd part (z[k] - z*[-k])/2i, spectrum even + w^k odd.
		a, b := k%half, (half-k)%half
		evenRe, evenIm := (re[a]+re[b])/2, (im[a]-im[b])/2
		oddRe, oddIm := (im[a]+im[b])/2, (re[b]-re[a])/2
		wr, wi := -1.0, 0.0
		if k < half {
			wr, wi = t.re[k], t.im[k]
		}
		x, y := evenRe+wr*oddRe-wi*oddIm, evenIm+wr*oddIm+wi*oddRe
		dst[k] = math.Sqrt(x*x + y*y + powerFloor)
	}
}

// butterflies transforms numbers that come in bit-reversed order.
func (t *transform) butterflies(re, im *[half]float64) {
	for size := 1; size < half; size *= 2 {
		step := window / (2 * size) // of exponents of exp(-2πi/window)
		for start := 0; start < half; start += 2 * size {
			for j := range size {
				a, b := start+j, start+j+size
				wr, wi := t.re[j*step], t.im[j*step]
				x, y := re[b]*wr-im[b]*wi, re[b]*wi+im[b]*wr
				re[b], im[b] = re[a]-x, im[a]-y
				re[a], im[a] = re[a]+x, im[a]+y
			}
		}
	}
}
