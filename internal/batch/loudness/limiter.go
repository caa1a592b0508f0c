package loudness

// lookSeconds is how long before a peak a Limiter begins to turn down and how long after
// it turns up again.
const lookSeconds = 0.005

// Limiter multiplies a mono sound with a gain and turns it down around peaks, so that its
// true peak stays below a ceiling but for what a gain that moves adds between samples:
// hundredths of a dB.
//
// The gain that the peaks around a sample allow is taken as the least within 5 ms on both
// sides, and then averaged over 5 ms on both sides: it is never above what was allowed and
// moves in straight lines.
type Limiter struct {
	gain, ceiling float64
	look          int // samples on each side
	over          oversampled
	before        float64 // the peak around the sample before

	in      []float64 // ring of samples times gain, of those that are not out yet
	n       int       // samples taken, silence before the first included
	skip    int       // outputs that belong to that silence
	taken   int       // samples of the sound
	given   int
	allowed []allowance // those of the window that no later one is below, rising
	least   []float64   // ring of the last 2*look+1 minima
	sum     float64     // of least
}

// allowance is the gain that the peak around a sample allows.
type allowance struct {
	at   int
	gain float64
}

// NewLimiter returns a limiter for sound of rate Hz. gain and ceiling are shares, above 0.
func NewLimiter(rate int, gain, ceiling float64) *Limiter {
	look := max(1, int(lookSeconds*float64(rate)))
	l := &Limiter{gain: gain, ceiling: ceiling, look: look, in: make([]float64, 2*look+reach+1), least: make([]float64, 2*look+1)}
	for i := range l.least {
		l.least[i] = 1
	}
	l.sum = float64(len(l.least))
	l.skip = 2*look + reach
	return l
}

// Write takes samples and appends those that are settled to dst: all but the last 10 ms.
func (l *Limiter) Write(dst, src []float32) []float32 {
	for _, x := range src {
		l.taken++
		dst = l.next(dst, float64(x)*l.gain)
	}
	return dst
}

// Flush ends the sound and appends the rest of it to dst.
func (l *Limiter) Flush(dst []float32) []float32 {
	for l.given < l.taken {
		dst = l.next(dst, 0)
	}
	return dst
}

// next takes a sample and appends the one that it settles.
func (l *Limiter) next(dst []float32, x float64) []float32 {
	l.in[l.n%len(l.in)] = x
	peak := l.over.next(x) // around sample n - reach
	need := max(peak, l.before)
	l.before = peak
	allowed := 1.0
	if need > l.ceiling {
		allowed = l.ceiling / need
	}
	least := l.minimum(l.n-reach, allowed) // around sample n - reach - look
	place := &l.least[l.n%len(l.least)]
	l.sum += least - *place
	*place = least
	if l.n++; l.n <= l.skip {
		return dst
	}
	out := l.n - 1 - l.skip
	l.given++
	return append(dst, float32(l.in[out%len(l.in)]*min(1, l.sum/float64(len(l.least)))))
}

// minimum takes the allowance of a sample and returns the least of the window that ends
// with it.
func (l *Limiter) minimum(at int, gain float64) float64 {
	for len(l.allowed) > 0 && l.allowed[len(l.allowed)-1].gain >= gain {
		l.allowed = l.allowed[:len(l.allowed)-1]
	}
	l.allowed = append(l.allowed, allowance{at, gain})
	if l.allowed[0].at < at-2*l.look {
		l.allowed = append(l.allowed[:0], l.allowed[1:]...)
	}
	return l.allowed[0].gain
}
