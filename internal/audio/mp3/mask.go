package mp3

import "math"

const (
	// fullScaleSPL is the sound pressure level in dB at which a sine of full scale is
	// assumed to be played, for the threshold of hearing in quiet.
	fullScaleSPL = 100

	// spreadUp and spreadDown are how steeply masking falls towards higher and lower
	// frequencies, in dB per Bark.
	spreadUp, spreadDown = 15, 27

	// noiseOffset is how far noise must lie below noise that masks it, toneOffset below a
	// tone, in dB, in a band of average level; shortOffset is the same for short blocks,
	// whose few lines don't tell tone from noise.
	noiseOffset, toneOffset, shortOffset = 6, 8, 13

	// tilt is the share of a band's level above the average that goes to a larger
	// distance between signal and noise, and below it to a smaller one. Between equal
	// distances (0) and equal noise (1), this scored best on speech at 16 to 64 kbit/s.
	tilt = 0.3

	// toneFlatness and noiseFlatness are spectral flatnesses of squared lines, in dB, of
	// tones and of noise.
	toneFlatness, noiseFlatness = -24, -6

	// growth bounds by how much the allowed noise of a long block may exceed that of
	// the block before: what was quiet then may lie under its window.
	growth = 8
)

// masker tells how much noise each band of a block can carry unheard.
type masker struct {
	long, short masking
	tonality    [maxBands]float64
	last        [maxBands]float64 // allowed noise of the long block before
	hadLong     bool
}

// masking is what masker knows of one kind of block, by frequency (not by window).
type masking struct {
	bands    int
	quiet    [22]float64 // energy at the threshold in quiet
	bark     [22]float64
	share    [22]float64 // of the band in an average over Barks
	up, down [22]float64 // factor of masking from the band below, from the band above
}

func newMasker(f *format) *masker {
	m := &masker{}
	m.long.init(f.rate, f.long[:], granuleLines)
	m.short.init(f.rate, f.short[:], granuleLines/3)
	return m
}

// init computes thresholds for bands with these borders, of so many lines up to half
// the sample rate.
func (m *masking) init(rate int, border []int, lines int) {
	m.bands = len(border) - 1
	hertz := float64(rate) / 2 / float64(lines)
	for b := range m.bands {
		lowest := math.Inf(1)
		for line := border[b]; line < border[b+1]; line++ {
			lowest = min(lowest, quietSPL((float64(line)+0.5)*hertz))
		}
		width := float64(border[b+1] - border[b])
		m.quiet[b] = math.Pow(10, (lowest-fullScaleSPL)/10) * width
		m.bark[b] = bark(float64(border[b]+border[b+1]) / 2 * hertz)
		if b > 0 {
			distance := m.bark[b] - m.bark[b-1]
			m.up[b] = math.Pow(10, -spreadUp*distance/10)
			m.down[b-1] = math.Pow(10, -spreadDown*distance/10)
		}
	}
	for b := range m.bands {
		m.share[b] = m.bark[min(b+1, m.bands-1)] - m.bark[max(b-1, 0)]
	}
}

// quietSPL is the threshold of hearing in quiet in dB (Terhardt 1979).
func quietSPL(hertz float64) float64 {
	k := max(hertz, 20) / 1000
	return 3.64*math.Pow(k, -0.8) - 6.5*math.Exp(-0.6*(k-3.3)*(k-3.3)) + 1e-3*k*k*k*k
}

// bark is the critical band rate (Traunmüller 1990).
func bark(hertz float64) float64 { return 26.81*hertz/(1960+hertz) - 0.53 }

// allow sets allowed to the noise that each band of l can carry, for lines with these
// squares.
func (m *masker) allow(allowed *[maxBands]float64, squares *[granuleLines]float64, l *layout, kind blockKind) {
	if kind == shortBlock {
		for w := range 3 {
			m.short.allow(allowed[w:], squares, l.border[w:], 3, nil)
		}
		m.hadLong = false
		return
	}
	m.measureTonality(squares, l)
	m.long.allow(allowed[:], squares, l.border[:], 1, m.tonality[:])
	for b := range l.bands {
		now := allowed[b]
		if m.hadLong {
			allowed[b] = max(m.long.quiet[b], min(now, growth*m.last[b]))
		}
		m.last[b] = now
	}
	m.hadLong = true
}

// allow computes the allowed noise of bands b*stride; a nil tonality is for short
// blocks. Energy spreads to both sides, and what it may mask lies an offset below.
func (m *masking) allow(allowed []float64, squares *[granuleLines]float64, border []int, stride int, tonality []float64) {
	var spread [22]float64
	for b := range m.bands {
		for _, s := range squares[border[b*stride]:border[b*stride+1]] {
			spread[b] += s
		}
	}
	for b := 1; b < m.bands; b++ {
		spread[b] = max(spread[b], spread[b-1]*m.up[b])
	}
	for b := m.bands - 2; b >= 0; b-- {
		spread[b] = max(spread[b], spread[b+1]*m.down[b])
	}
	var level [22]float64 // of a line, in dB
	var average, barks float64
	for b := range m.bands {
		width := float64(border[b*stride+1] - border[b*stride])
		level[b] = 10 * math.Log10(max(spread[b], m.quiet[b])/width)
		average += float64(level[b] * m.share[b])
		barks += m.share[b]
	}
	average /= barks
	for b := range m.bands {
		offset := float64(shortOffset)
		if tonality != nil {
			offset = noiseOffset + tonality[b]*(toneOffset-noiseOffset)
		}
		offset += tilt * (level[b] - average)
		allowed[b*stride] = max(m.quiet[b], spread[b]*math.Pow(10, -offset/10))
	}
}

// measureTonality sets the tonality of each band, 0 for noise to 1 for tones, from the
// spectral flatness over it and its neighbours.
func (m *masker) measureTonality(squares *[granuleLines]float64, l *layout) {
	const least = 1e-16 // below what a decoder can tell
	var sum, logs [22]float64
	for b := range l.bands {
		for _, s := range squares[l.border[b]:l.border[b+1]] {
			sum[b] += s + least
			logs[b] += math.Log(s + least)
		}
	}
	for b := range l.bands {
		lo, hi := max(b-1, 0), min(b+1, l.bands-1)
		n := float64(l.border[hi+1] - l.border[lo])
		var arithmetic, geometric float64
		for i := lo; i <= hi; i++ {
			arithmetic += sum[i]
			geometric += logs[i]
		}
		flatness := 10 / math.Ln10 * (geometric/n - math.Log(arithmetic/n))
		m.tonality[b] = max(0, min(1, (noiseFlatness-flatness)/(noiseFlatness-toneFlatness)))
	}
}
