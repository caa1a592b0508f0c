package audio

import "math"

// search finds where in low to high the input is most like what follows the last
// piece, and how much: 0 for not at all, up to 1. If that place itself is among them it
// is the one. In silence it is the ideal one. The first look goes over the smoothed
// input in steps, the second over what lies around its find.
func (s *Stretch) search(low, ideal, high int64) (at int64, likeness float64) {
	if low <= s.from && s.from <= high {
		return s.from, 1
	}
	at, _ = s.best(s.smooth, low, ideal, high, s.step)
	reach := int64(s.step)
	return s.best(s.input, max(low, at-reach), at, min(high, at+reach), 1)
}

// best tries every step-th place of low to high, with every step-th sample of x, and
// returns the one of the greatest correlation with the samples from s.from on, each
// scaled to equal power. Of places that are equal, it is the first, but if none is like
// it at all, the fallback.
func (s *Stretch) best(x []float32, low, fallback, high int64, step int) (at int64, likeness float64) {
	at = fallback
	want := x[s.from-s.begin:][:s.hop]
	energy := float64(power(want, step))
	if energy == 0 {
		return at, 0
	}
	best := 0.0
	for place := low; place <= high; place += int64(step) {
		product, power := correlate(want, x[place-s.begin:][:s.hop], step)
		if product <= 0 || power == 0 {
			continue
		}
		// Squared, to do without a root for each place.
		if score := float64(product) * float64(product) / float64(power); score > best {
			best, at = score, place
		}
	}
	return at, math.Min(1, math.Sqrt(best/energy))
}

// power is the sum of squares of every step-th sample.
func power(x []float32, step int) float32 {
	sum := float32(0)
	for i := 0; i < len(x); i += step {
		sum += x[i] * x[i]
	}
	return sum
}

// correlate returns the inner product of every step-th sample of a and b, which are of
// equal length, and the power of b.
func correlate(a, b []float32, step int) (product, power float32) {
	b = b[:len(a)]
	var p0, p1, q0, q1 float32
	i := 0
	for ; i+step < len(a); i += 2 * step {
		x, y := b[i], b[i+step]
		p0 += a[i] * x
		p1 += a[i+step] * y
		q0 += x * x
		q1 += y * y
	}
	if i < len(a) {
		p0 += a[i] * b[i]
		q0 += b[i] * b[i]
	}
	return p0 + p1, q0 + q1
}
