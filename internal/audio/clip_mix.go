package audio

import (
	"math"
)

// average stands for all channels in mixer.only.
const average = -1

// cancelledPower is the power of the average, beside that of the loudest channel, below which the channels are taken to cancel each
// other (-40 dB). One voice in one of 64 channels is at -36 dB.
const cancelledPower = 1e-4

// mixer makes mono of interleaved channels, block after block, and counts the seconds.
type mixer struct {
	format   string
	seconds  float64 // allowed
	silence  bool    // allowed
	only     int     // the channel to take, or average
	rate     int
	channels int
	mono     []float32
	power    []float64 // of each channel, and of mono behind them
}

// begin is called once the format is known. It refuses rates that cannot be resampled.
func (m *mixer) begin(rate, channels int) error {
	if rate < minResampled || rate > maxResampled {
		return badClip(ClipUnsupported, m.format, "%s: sample rate %d Hz, allowed is %d to %d", m.format, rate, minResampled, maxResampled)
	}
	if channels < 1 || channels > maxChannels {
		return badClip(ClipDamaged, m.format, "%s: %d channels, allowed is 1 to %d", m.format, channels, maxChannels)
	}
	m.rate, m.channels, m.power = rate, channels, make([]float64, channels+1)
	return nil
}

// soFar is the length of what was mixed, in seconds.
func (m *mixer) soFar() float64 {
	if m.rate == 0 {
		return 0
	}
	return float64(len(m.mono)) / float64(m.rate)
}

// room refuses more samples of each channel than the allowed seconds have left.
func (m *mixer) room(frames int) error {
	if s := float64(len(m.mono)+frames) / float64(m.rate); !(s <= m.seconds) {
		return badClip(ClipTooLong, m.format, "%s: %.2f s or more, allowed is at most %.10g", m.format, s, m.seconds)
	}
	return nil
}

// add mixes a block [frames, channels].
func (m *mixer) add(block []float32) error {
	frames := len(block) / m.channels
	if err := m.room(frames); err != nil {
		return err
	}
	if i := firstNonFinite(block); i >= 0 {
		return &SampleError{int64(len(m.mono)*m.channels + i), block[i]}
	}
	for f := range frames {
		sum := 0.0
		for c, v := range block[f*m.channels : (f+1)*m.channels] {
			x := float64(v)
			sum += x
			m.power[c] += x * x
		}
		sum /= float64(m.channels)
		if m.only != average {
			sum = float64(block[f*m.channels+m.only])
		}
		m.power[m.channels] += sum * sum
		m.mono = append(m.mono, float32(sum))
	}
	return nil
}

// cancelled reports whether the channels cancel each other in the average, and the loudest of them.
func (m *mixer) cancelled() (loudest int, yes bool) {
	for c, p := range m.power[:m.channels] {
		if p > m.power[loudest] {
			loudest = c
		}
	}
	return loudest, m.power[loudest] > 0 && m.power[m.channels] < cancelledPower*m.power[loudest]
}

// finish returns the samples at ClipRate.
func (m *mixer) finish(info *ClipInfo) ([]float32, error) {
	if len(m.mono) == 0 {
		return nil, badClip(ClipDamaged, m.format, "%s: no samples", m.format)
	}
	low, high := m.mono[0], m.mono[0]
	for _, v := range m.mono {
		low, high = min(low, v), max(high, v)
	}
	info.Peak = max(high, -low)
	// Silence of 8-bit files is often one step away from 0.
	if low == high && !m.silence {
		return nil, badClip(ClipSilent, m.format, "%s: %.2f s of digital silence", m.format, m.soFar())
	}
	samples, err := Resample(m.mono, m.rate, ClipRate)
	if err != nil {
		return nil, err
	}
	if i := firstNonFinite(samples); i >= 0 {
		return nil, badClip(ClipNotFinite, m.format, "%s: samples of up to %g, beyond what can be resampled", m.format, math.Abs(float64(info.Peak)))
	}
	return samples, nil
}
