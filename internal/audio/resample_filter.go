package audio

import (
	"math"
	"sync"
)

const (
	// filterLobes is the number of zero crossings of the sinc on either side. With
	// filterBeta it makes a transition from 0.9 to 1.0 of the lower Nyquist frequency
	// at 92 dB, by Kaiser's formula.
	filterLobes = 60
	// filterBeta is the parameter of the Kaiser window: 0.1102 (92 - 8.7).
	filterBeta = 9.18
	// filterCutoff is the middle of the transition.
	filterCutoff = 0.95

	// maxFilterWeights bounds a filter that holds a row for each place between input
	// samples that an output can have (1 MiB).
	maxFilterWeights = 1 << 18
	// interpolatedRows is the number of rows to a sample of the lower rate where the
	// bound does not allow that. Going straight from one row to the next is then off
	// by at most (pi/1024)^2/8, 118 dB down.
	interpolatedRows = 1024
)

// filter holds the weights of a Resampler, shared by all with the same rates.
type filter struct {
	units   int       // an output lies a whole number of units of 1/units behind an input sample
	reach   int       // input samples on either side of an output
	taps    int       // 2 * reach
	rows    int       // places between two input samples
	exact   bool      // rows == units
	weights []float32 // [rows, taps], [rows + 1, taps] if not exact
}

// apply returns the output that lies frac units behind the sample reach-1 of x, which
// has taps samples.
func (f *filter) apply(x []float32, frac int) float32 {
	if f.exact {
		return dot(x, f.weights[frac*f.taps:])
	}
	place := float64(frac) * float64(f.rows) / float64(f.units)
	row := int(place)
	part := float32(place - float64(row))
	w := f.weights[row*f.taps:]
	a, b := dot(x, w), dot(x, w[f.taps:])
	return a + float32(part*(b-a))
}

// dot is the inner product of x, whose length is a multiple of 8, and as much of h.
// The order of the sums is fixed.
func dot(x, h []float32) float32 {
	var s0, s1, s2, s3, s4, s5, s6, s7 float32
	h = h[:len(x)]
	for len(x) >= 8 && len(h) >= 8 {
		s0 += x[0] * h[0]
		s1 += x[1] * h[1]
		s2 += x[2] * h[2]
		s3 += x[3] * h[3]
		s4 += x[4] * h[4]
		s5 += x[5] * h[5]
		s6 += x[6] * h[6]
		s7 += x[7] * h[7]
		x, h = x[8:], h[8:]
	}
	return ((s0 + s4) + (s1 + s5)) + ((s2 + s6) + (s3 + s7))
}

// newFilter computes the filter of two different rates.
func newFilter(from, to int) *filter {
	// An output sample is from/to input samples behind the last.
	units := to / gcd(from, to)
	scale := max(1, float64(from)/float64(to)) // input samples to a sample of the lower rate
	reach := (int(math.Ceil(filterLobes*scale)) + 3) &^ 3
	f := &filter{units: units, reach: reach, taps: 2 * reach, rows: units, exact: units*2*reach <= maxFilterWeights}
	last := units - 1
	if !f.exact {
		f.rows = int(math.Ceil(interpolatedRows / scale))
		last = f.rows
	}
	f.weights = make([]float32, (last+1)*f.taps)
	for row := range last + 1 {
		f.fill(f.weights[row*f.taps:][:f.taps], float64(row)/float64(f.rows), scale)
	}
	return f
}

// fill computes the weights of an output that lies place, 0 to 1, behind an input
// sample. They add up to 1, so that a constant stays what it is.
func (f *filter) fill(row []float32, place, scale float64) {
	weights, sum := make([]float64, len(row)), 0.0
	for i := range weights {
		t := (float64(i-f.reach+1) - place) / scale // in samples of the lower rate
		weights[i] = sinc(filterCutoff*t) * kaiser(t/filterLobes)
		sum += weights[i]
	}
	for i, w := range weights {
		row[i] = float32(w / sum)
	}
}

// sinc is sin(pi x) / (pi x).
func sinc(x float64) float64 {
	if x == 0 {
		return 1
	}
	return math.Sin(math.Pi*x) / (math.Pi * x)
}

// kaiser is the Kaiser window over -1..1, not scaled.
func kaiser(x float64) float64 {
	if x <= -1 || x >= 1 {
		return 0
	}
	// The power series of the Bessel function I0.
	half := filterBeta / 2 * math.Sqrt(1-x*x)
	sum, term := 1.0, 1.0
	for k := 1.0; term > sum*1e-12; k++ {
		term *= half / k * (half / k)
		sum += term
	}
	return sum
}

func gcd(a, b int) int {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// filters keeps the latest filters: a server meets few pairs of rates, and the same
// ones again and again, but whoever asks for each rate there is must not fill memory.
var filters struct {
	sync.Mutex
	list []*cachedFilter // the latest first
}

// cachedFilter is computed once, outside the list's lock.
type cachedFilter struct {
	from, to int
	once     sync.Once
	filter   *filter
}

// maxFilters is how many filters are kept (1 MiB each at most).
const maxFilters = 8

// filterFor returns the filter of two different rates.
func filterFor(from, to int) *filter {
	c := cachedFor(from, to)
	c.once.Do(func() { c.filter = newFilter(from, to) })
	return c.filter
}

func cachedFor(from, to int) *cachedFilter {
	filters.Lock()
	defer filters.Unlock()
	list := filters.list
	at := 0
	for at < len(list) && (list[at].from != from || list[at].to != to) {
		at++
	}
	if at == len(list) {
		list = append(list, &cachedFilter{from: from, to: to})
	}
	found := list[at]
	copy(list[1:at+1], list[:at])
	list[0] = found
	clear(list[min(len(list), maxFilters):])
	filters.list = list[:min(len(list), maxFilters)]
	return found
}
