package loudness

import "math"

const (
	// phases is how many values are looked at for each sample.
	phases = 4

	// reach is how many samples on each side an interpolated value comes from.
	reach = 12
)

// interpolation[p][k] is the weight of sample n-reach+1+k in the value at n + p/phases: a
// sinc under a Kaiser window.
var interpolation = func() (h [phases][2 * reach]float64) {
	for p := range h {
		for k := range h[p] {
			t := float64(p)/phases - float64(k-reach+1)
			h[p][k] = sinc(t) * kaiser(t/reach)
		}
	}
	return h
}()

func sinc(t float64) float64 {
	if t == 0 {
		return 1
	}
	return math.Sin(math.Pi*t) / (math.Pi * t)
}

// kaiser is the window of shape 8 at u in -1..1.
func kaiser(u float64) float64 {
	if u < -1 || u > 1 {
		return 0
	}
	const shape = 8
	return bessel0(shape*math.Sqrt(1-u*u)) / bessel0(shape)
}

// bessel0 is the modified Bessel function of order 0.
func bessel0(x float64) float64 {
	sum, term := 1.0, 1.0
	for k := 1.0; term > 1e-16*sum; k++ {
		term *= (x / 2 / k) * (x / 2 / k)
		sum += term
	}
	return sum
}

// oversampled finds the peak around each sample of a stream, reach samples late.
type oversampled struct {
	past [2 * reach]float64 // the last samples, as a ring
	at   int                // of the oldest
}

// next takes a sample and returns the largest absolute value from reach samples before it,
// that sample included, to the next but not including it.
func (o *oversampled) next(x float64) float64 {
	o.past[o.at] = x
	o.at++
	if o.at == len(o.past) {
		o.at = 0
	}
	peak := math.Abs(o.past[(o.at+reach-1)%len(o.past)])
	for p := 1; p < phases; p++ {
		v := 0.0
		h := &interpolation[p]
		for k, i := 0, o.at; k < len(h); k++ {
			v += h[k] * o.past[i]
			if i++; i == len(o.past) {
				i = 0
			}
		}
		peak = max(peak, math.Abs(v))
	}
	return peak
}

// Peak measures the true peak of one mono sound.
type Peak struct {
	over oversampled
	peak float64
}

// Write takes samples.
func (p *Peak) Write(samples []float32) {
	for _, x := range samples {
		p.peak = max(p.peak, p.over.next(float64(x)))
	}
}

// Value returns the true peak of what was written as a share of full scale.
func (p *Peak) Value() float64 {
	rest := p.over // the sound ends: silence follows
	peak := p.peak
	for range 2 * reach {
		peak = max(peak, rest.next(0))
	}
	return peak
}

// Decibels is a share as dB, negative infinity for 0.
func Decibels(share float64) float64 { return 20 * math.Log10(share) }

// Share is dB as a share.
func Share(decibels float64) float64 { return math.Pow(10, decibels/20) }
