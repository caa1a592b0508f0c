package mp3

import "math"

const (
	// leastGain and mostGain bound the global gain. At the least, noise lies below
	// -150 dB of full scale.
	leastGain, mostGain = 110, 255

	// maxGranuleBits is the most that part2_3_length can say.
	maxGranuleBits = 4095

	// free marks a band whose gain does not matter: even if all of it becomes 0, the
	// noise is allowed.
	free = 1 << 20
)

// granule is 576 quantized lines and all that the bit stream says of them.
type granule struct {
	kind    blockKind
	gain    int // global_gain
	coarse  int // scalefac_scale: steps of 4 instead of 2 in gain
	factors [maxBands]int
	code    scaleCode
	regions regions
	values  [granuleLines]int32 // magnitudes until sign
}

// size is part2_3_length in bits.
func (g *granule) size() int { return g.code.size + g.regions.size }

// allocator chooses step sizes. All choices for a granule lie on one path, along the
// global gain: up to some gain, top, the bands that need a finer step for their noise
// to be masked have it, and no step is coarser than the gain: noise is equal in all
// bands but where it would be heard. Above top all steps grow together: noise is
// heard, evenly. Bits fall along the path, so that a search in one dimension finds
// where they suffice.
type allocator struct {
	format      *format
	long, short *layout
	counter     *regionCounter

	layout  *layout // of the present granule
	lines   *[granuleLines]float64
	abs     [granuleLines]float64
	x34     [granuleLines]float64 // abs^¾
	largest [maxBands]float64     // of x34 in each band
	need    [maxBands]int         // gain up to which a band's noise is masked
	top     int
	last    int // gain of the granule before: where to search
}

func newAllocator(f *format) *allocator {
	return &allocator{format: f, long: longLayout(f), short: shortLayout(f), counter: newRegionCounter(f), last: unityGain - 40}
}

func (a *allocator) layoutOf(kind blockKind) *layout {
	if kind == shortBlock {
		return a.short
	}
	return a.long
}

// load takes the lines of a granule and its allowed noise.
func (a *allocator) load(lines *[granuleLines]float64, allowed *[maxBands]float64, kind blockKind) {
	a.layout, a.lines = a.layoutOf(kind), lines
	for i, x := range lines {
		x = math.Abs(x)
		a.abs[i] = x
		a.x34[i] = math.Sqrt(x * math.Sqrt(x))
	}
	a.top = 0
	for b := range a.layout.bands {
		var energy float64
		a.largest[b] = 0
		for i := a.layout.border[b]; i < a.layout.border[b+1]; i++ {
			energy += a.abs[i] * a.abs[i]
			a.largest[b] = max(a.largest[b], a.x34[i])
		}
		a.need[b] = free
		if b < a.layout.scaled && energy > allowed[b] {
			a.need[b] = a.coarsest(b, allowed[b])
			a.top = max(a.top, a.need[b])
		}
	}
	if a.top == 0 {
		a.top = mostGain
	}
}

// coarsest returns the largest gain near where theory has it with which band b has no
// more than the allowed noise. Theory: a uniform error over one step.
func (a *allocator) coarsest(b int, allowed float64) int {
	lo, hi := a.layout.border[b], a.layout.border[b+1]
	x34, abs := a.x34[lo:hi], a.abs[lo:hi]
	step := math.Sqrt(12 * allowed / float64(hi-lo))
	gain := max(leastGain, min(mostGain, unityGain+int(4*math.Log2(step))))
	if noise(x34, abs, gain, allowed) <= allowed {
		for gain < mostGain && noise(x34, abs, gain+1, allowed) <= allowed {
			gain++
		}
		return gain
	}
	for gain > leastGain && noise(x34, abs, gain, allowed) > allowed {
		gain--
	}
	return gain
}

// gainOf is the gain that band b should have at a point of the path.
func (a *allocator) gainOf(b, gain int) int {
	switch {
	case a.need[b] == free:
		return gain
	case gain <= a.top:
		return min(gain, a.need[b])
	}
	// Noise grows by an equal amount in the fourth root of its power: where little
	// was allowed, by the larger factor.
	return int(8 * math.Log2(rootOf(a.need[b])+rootOf(gain)-rootOf(a.top)))
}

func rootOf(gain int) float64 { return math.Exp2(float64(gain) / 8) }

// try quantizes the granule at a point of the path and returns its size in bits, or
// more than any limit if it can't be coded so finely.
func (a *allocator) try(g *granule, kind blockKind, gain int) int {
	const impossible = 1 << 30
	g.kind, g.gain, g.coarse = kind, gain, 0
	l := a.layout
	for b := range l.scaled {
		d := gain - a.gainOf(b, gain)
		if (d+1)/2 > l.limit(b) {
			g.coarse = 1
			break
		}
	}
	for b := range l.bands {
		actual := gain
		if b < l.scaled {
			d := gain - a.gainOf(b, gain)
			unit := 2 << g.coarse
			factor := min(l.limit(b), (d+unit-1)/unit)
			g.factors[b] = factor
			actual = max(0, gain-factor*unit)
		}
		if a.largest[b]*inverse34[actual] >= maxMagnitude {
			return impossible
		}
		lo, hi := l.border[b], l.border[b+1]
		if a.largest[b]*inverse34[actual] < 1-rounding[0] {
			clear(g.values[lo:hi])
			g.factors[b] = 0
			continue
		}
		quantize(g.values[lo:hi], a.x34[lo:hi], actual)
	}
	a.counter.count(&g.regions, &g.values, kind)
	if a.format.version == versionMPEG1 {
		g.code = codeMPEG1(l, &g.factors)
	} else {
		g.code = codeMPEG2(l, &g.factors)
	}
	return g.size()
}

// demand returns how many bits the granule takes with noise as loud as it may be.
func (a *allocator) demand(g *granule, kind blockKind) int {
	return a.try(g, kind, a.top)
}

// fit finds the least gain with which the granule has no more than budget bits. It
// returns the one of g and spare that holds it, and the other one.
func (a *allocator) fit(g, spare *granule, kind blockKind, budget int) (fitting, other *granule) {
	low, high := leastGain-1, mostGain+1 // too fine, and known to fit
	try := func(gain int) {
		if a.try(g, kind, gain) <= budget {
			high = gain
			g, spare = spare, g // spare holds what fits
		} else {
			low = gain
		}
	}
	// Steps that grow, from the gain of the granule before, to bounds on both sides.
	for gain, step := a.last, 1; ; step *= 2 {
		try(gain)
		if high == gain && gain > leastGain && low < leastGain {
			gain = max(leastGain, gain-step)
		} else if low == gain && gain < mostGain && high > mostGain {
			gain = min(mostGain, gain+step)
		} else {
			break
		}
	}
	if high > mostGain {
		// Scale factors alone exceed the budget. Without them all becomes 0 in the end.
		for b := range a.layout.bands {
			a.need[b] = free
		}
		low = leastGain - 1
		try(mostGain)
	}
	for high-low > 1 {
		try((low + high) / 2)
	}
	a.last = high
	return spare, g
}

// sign gives the magnitudes of g the signs of the lines.
func (a *allocator) sign(g *granule) {
	for i, x := range a.lines {
		if x < 0 {
			g.values[i] = -g.values[i]
		}
	}
}
