package batch

import (
	"math"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/internal/batch/loudness"
)

const (
	// peakCeiling is the true peak in dB of full scale that a file brought to a loudness
	// stays below; encoders such as MP3 need the room.
	peakCeiling = -1.0

	// mostGain is the most in dB that an item is turned up: beyond it one would hear noise.
	mostGain = 30.0
)

// finisher turns the raw samples of an item into those of its file: trimmed, at another
// speed, at another rate, at a loudness.
type finisher struct {
	spool    *spool
	from, to int64 // of the spool
	source   int   // Hz
	rate     int   // Hz
	speed    float64

	slow, out, level []float32 // scratch
}

// each calls f with the samples behind speed and rate, before the loudness.
func (f *finisher) each(take func([]float32) error) error {
	var stretch *audio.Stretch
	var resampler *audio.Resampler
	var err error
	if f.speed != 1 {
		if stretch, err = audio.NewStretch(f.source, f.speed); err != nil {
			return err
		}
	}
	if f.rate != f.source {
		if resampler, err = audio.NewResampler(f.source, f.rate); err != nil {
			return err
		}
	}
	err = f.spool.read(f.from, f.to, func(block []float32) error {
		if stretch != nil {
			f.slow = stretch.Write(f.slow[:0], block)
			block = f.slow
		}
		if resampler != nil {
			f.out = resampler.Write(f.out[:0], block)
			block = f.out
		}
		return take(block)
	})
	if err != nil {
		return err
	}
	f.slow = f.slow[:0]
	if stretch != nil {
		f.slow = stretch.Flush(f.slow)
	}
	rest := f.slow
	if resampler != nil {
		f.out = resampler.Flush(resampler.Write(f.out[:0], rest))
		rest = f.out
	}
	return take(rest)
}

// levels is how the loudness of an item is changed.
type levels struct {
	gain  float64 // share
	limit bool
	after float64 // share, behind the limiter
}

// unchanged is what leaves samples as they are.
var unchanged = levels{gain: 1, after: 1}

// measure finds what brings the item to a loudness: it reads the item once, and once more
// if peaks have to be turned down. nil is the result for silence, which has no loudness.
func (f *finisher) measure(goal float64) (levels, *Loudness, error) {
	before, peak, err := f.loudnessOf(unchanged)
	if err != nil || math.IsInf(before, -1) {
		return unchanged, nil, err
	}
	l := levels{gain: loudness.Share(min(mostGain, goal-before)), after: 1}
	result := &Loudness{Before: before, After: before + loudness.Decibels(l.gain), Peak: loudness.Decibels(peak * l.gain)}
	if result.Peak > peakCeiling {
		l.limit, result.Limited = true, true
		after, peak, err := f.loudnessOf(l)
		if err != nil {
			return unchanged, nil, err
		}
		l.after = min(1, loudness.Share(peakCeiling)/peak) // what the limiter let through between samples
		result.After, result.Peak = after+loudness.Decibels(l.after), loudness.Decibels(peak*l.after)
	}
	result.Gain = loudness.Decibels(l.gain * l.after)
	for _, v := range []*float64{&result.Before, &result.After, &result.Peak, &result.Gain} {
		*v = math.Round(*v*100) / 100
	}
	return l, result, nil
}

// loudnessOf measures the item behind levels: LUFS, and the true peak as a share.
func (f *finisher) loudnessOf(l levels) (lufs, peak float64, err error) {
	meter, peaks := loudness.NewMeter(f.rate), &loudness.Peak{}
	err = f.write(l, func(samples []float32) error {
		meter.Write(samples)
		peaks.Write(samples)
		return nil
	})
	return meter.Integrated(), peaks.Value(), err
}

// write calls take with the finished samples.
func (f *finisher) write(l levels, take func([]float32) error) error {
	if l == unchanged {
		return f.each(take)
	}
	var limiter *loudness.Limiter
	if l.limit {
		limiter = loudness.NewLimiter(f.rate, l.gain, loudness.Share(peakCeiling))
	}
	scale := func(samples []float32, by float64) []float32 {
		for i, x := range samples {
			samples[i] = float32(float64(x) * by)
		}
		return samples
	}
	err := f.each(func(samples []float32) error {
		if limiter == nil {
			f.level = append(f.level[:0], samples...)
			return take(scale(f.level, l.gain))
		}
		f.level = limiter.Write(f.level[:0], samples)
		return take(scale(f.level, l.after))
	})
	if err != nil || limiter == nil {
		return err
	}
	f.level = limiter.Flush(f.level[:0])
	return take(scale(f.level, l.after))
}
