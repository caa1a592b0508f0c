package mp3

import "math"

const (
	// maxMagnitude is the largest quantized value: 15 and 13 linbits.
	maxMagnitude = 15 + 1<<13 - 1

	// unityGain is the global gain at which a value of 1 decodes as 1. A step of gain
	// is a factor of 2^¼.
	unityGain = 210
)

var (
	// power43 is n^(4/3): what magnitude n decodes to at unity gain.
	power43 = func() *[maxMagnitude + 2]float64 {
		var t [maxMagnitude + 2]float64
		for i := range t {
			t[i] = math.Pow(float64(i), 4./3)
		}
		return &t
	}()

	// rounding is what to add to a value of the power domain between n and n+1 such
	// that it rounds down exactly where n is nearer than n+1 after decoding.
	rounding = func() *[maxMagnitude + 1]float64 {
		var t [maxMagnitude + 1]float64
		for i := range t {
			t[i] = float64(i+1) - math.Pow((power43[i]+power43[i+1])/2, 0.75)
		}
		return &t
	}()

	// stepOf is the factor 2^¼ per step of gain; inverse34 its inverse in the domain
	// of magnitudes to the power of ¾, where quantization is uniform.
	stepOf, inverse34 = func() (step, inverse [256]float64) {
		for g := range 256 {
			step[g] = math.Exp2(float64(g-unityGain) / 4)
			inverse[g] = math.Exp2(-3. / 16 * float64(g-unityGain))
		}
		return step, inverse
	}()
)

// quantize sets out to the magnitudes of lines with a step of gain; x34 is |x|^¾. No
// magnitude may exceed maxMagnitude. It returns the bits of all magnitudes or-ed.
func quantize(out []int32, x34 []float64, gain int) int32 {
	scale := inverse34[gain]
	var any int32
	out = out[:len(x34)]
	for i, x := range x34 {
		v := float64(x * scale)
		n := int32(v + rounding[int32(v)])
		out[i] = n
		any |= n
	}
	return any
}

// noise returns the energy of the error that quantization with a step of gain makes;
// infinity if a magnitude is too large for it. limit: once above, it may stop.
func noise(x34, abs []float64, gain int, limit float64) float64 {
	scale, step := inverse34[gain], stepOf[gain]
	var sum float64
	for i, x := range x34 {
		v := float64(x * scale)
		if v >= maxMagnitude {
			return math.Inf(1)
		}
		n := int32(v + rounding[int32(v)])
		d := abs[i] - float64(power43[n]*step)
		sum += float64(d * d)
		if sum > limit {
			return sum
		}
	}
	return sum
}
