package loudness

import "math"

// Gates and blocks of BS.1770.
const (
	absoluteGate = -70.0 // LUFS
	relativeGate = -10.0 // LU
	offset       = -0.691
	stepSeconds  = 0.1
	stepsInBlock = 4
)

// biquad is a filter of second order in transposed direct form II, with a0 = 1.
type biquad struct {
	b0, b1, b2, a1, a2 float64
	z1, z2             float64
}

func (f *biquad) next(x float64) float64 {
	y := f.b0*x + f.z1
	f.z1 = f.b1*x - f.a1*y + f.z2
	f.z2 = f.b2*x - f.a2*y
	return y
}

// The analogue prototypes of the K-weighting, from which the coefficients of any rate
// follow; at 48 kHz they are those of the recommendation's tables.
const (
	shelfHz, shelfGain, shelfQ = 1681.974450955533, 3.999843853973347, 0.7071752369554196
	shelfSlope                 = 0.4996667741545416
	passHz, passQ              = 38.13547087602444, 0.5003270373238773
)

// kWeighting returns the two stages of the filter for a rate in Hz.
func kWeighting(rate int) (shelf, pass biquad) {
	k := math.Tan(math.Pi * shelfHz / float64(rate))
	vh := math.Pow(10, shelfGain/20)
	vb := math.Pow(vh, shelfSlope)
	a0 := 1 + k/shelfQ + k*k
	shelf = biquad{
		b0: (vh + vb*k/shelfQ + k*k) / a0, b1: 2 * (k*k - vh) / a0, b2: (vh - vb*k/shelfQ + k*k) / a0,
		a1: 2 * (k*k - 1) / a0, a2: (1 - k/shelfQ + k*k) / a0,
	}
	k = math.Tan(math.Pi * passHz / float64(rate))
	a0 = 1 + k/passQ + k*k
	return shelf, biquad{b0: 1, b1: -2, b2: 1, a1: 2 * (k*k - 1) / a0, a2: (1 - k/passQ + k*k) / a0}
}

// Meter measures the integrated loudness of one mono sound.
type Meter struct {
	shelf, pass biquad
	step        int       // samples in 100 ms
	sum         float64   // of squares in the step under way
	count       int       // samples in it
	steps       []float64 // sums of squares
}

// NewMeter returns a meter for sound of rate Hz, 8,000 and up.
func NewMeter(rate int) *Meter {
	m := &Meter{step: int(math.Round(stepSeconds * float64(rate)))}
	m.shelf, m.pass = kWeighting(rate)
	return m
}

// Write takes samples.
func (m *Meter) Write(samples []float32) {
	for _, x := range samples {
		y := m.pass.next(m.shelf.next(float64(x)))
		m.sum += y * y
		m.count++
		if m.count == m.step {
			m.steps = append(m.steps, m.sum)
			m.sum, m.count = 0, 0
		}
	}
}

// Integrated returns the loudness in LUFS of what was written, negative infinity for
// silence. The recommendation says nothing of sound under 400 ms: its loudness here is
// that of all of it, without gates.
func (m *Meter) Integrated() float64 {
	if len(m.steps) < stepsInBlock {
		sum, n := m.sum, m.count+len(m.steps)*m.step
		for _, s := range m.steps {
			sum += s
		}
		if n == 0 {
			return math.Inf(-1)
		}
		return lufs(sum / float64(n))
	}
	loud, mean := m.gated(absoluteGate)
	if loud == 0 {
		return math.Inf(-1)
	}
	_, mean = m.gated(max(absoluteGate, lufs(mean)+relativeGate))
	return lufs(mean)
}

// gated returns how many blocks are louder than a gate, and their mean square.
func (m *Meter) gated(gate float64) (blocks int, mean float64) {
	for i := stepsInBlock; i <= len(m.steps); i++ {
		block := 0.0
		for _, s := range m.steps[i-stepsInBlock : i] {
			block += s
		}
		block /= float64(stepsInBlock * m.step)
		if lufs(block) > gate {
			blocks++
			mean += block
		}
	}
	return blocks, mean / float64(max(1, blocks))
}

func lufs(meanSquare float64) float64 { return offset + 10*math.Log10(meanSquare) }
