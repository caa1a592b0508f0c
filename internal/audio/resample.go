package audio

import "fmt"

// Resampler changes the sample rate of one mono stream, piece by piece: a polyphase
// filter whose taps are a sinc under a Kaiser window. Output sample k is the input at
// k/to seconds (the filter's delay is taken out), and n samples in give
// round(n * to / from) out, the same ones however the input was cut. What lies before
// and behind the input counts as silence.
//
// The pass-band ends at 0.9 of the lower of the two Nyquist frequencies; from that
// frequency on everything is at least 80 dB down.
type Resampler struct {
	from, to int // Hz
	filter   *filter
	stepInt  int64     // input samples from one output to the next, the whole part
	stepFrac int       // and the rest, in units of 1/filter.units
	window   []float32 // the input samples that are still needed, from number begin on
	begin    int64
	at       int64 // the next output lies between input samples at and at+1,
	frac     int   // this far behind at, in units of 1/filter.units
	given    int64 // samples in
	made     int64 // samples out
}

// resampleBlock is how many input samples are taken up at a time, beside those that
// the filter reaches.
const resampleBlock = 4096

// NewResampler returns a resampler of from Hz to to Hz, each 8,000 to 192,000. If they
// are equal the samples pass unchanged.
func NewResampler(from, to int) (*Resampler, error) {
	for _, rate := range []int{from, to} {
		if rate < minResampled || rate > maxResampled {
			return nil, fmt.Errorf("audio: resampling from %d to %d Hz, allowed is %d to %d", from, to, minResampled, maxResampled)
		}
	}
	r := &Resampler{from: from, to: to}
	if from == to {
		return r, nil
	}
	r.filter = filterFor(from, to)
	r.stepInt, r.stepFrac = int64(from/to), (from%to)/(to/r.filter.units)
	r.window = make([]float32, 0, r.filter.taps+max(resampleBlock, r.filter.taps))
	r.reset()
	return r, nil
}

// reset goes back to the beginning, before which there is silence.
func (r *Resampler) reset() {
	before := r.filter.reach - 1
	r.window = r.window[:before]
	clear(r.window)
	r.begin, r.at, r.frac = int64(-before), 0, 0
	r.given, r.made = 0, 0
}

// Write takes samples and appends those that are settled to dst: all but the last few
// milliseconds, which depend on what follows. It allocates nothing if dst has room.
func (r *Resampler) Write(dst, src []float32) []float32 {
	if r.filter == nil {
		return append(dst, src...)
	}
	r.given += int64(len(src))
	for len(src) > 0 {
		n := min(len(src), cap(r.window)-len(r.window))
		r.window = append(r.window, src[:n]...)
		src = src[n:]
		for r.at+int64(r.filter.reach) < r.begin+int64(len(r.window)) {
			dst = append(dst, r.next())
		}
		r.compact()
	}
	return dst
}

// Flush ends the stream and appends the rest of it to dst. The resampler then begins
// another.
func (r *Resampler) Flush(dst []float32) []float32 {
	if r.filter == nil {
		return dst
	}
	from, to := int64(r.from), int64(r.to)
	total := r.given/from*to + (2*(r.given%from)*to+from)/(2*from)
	for r.made < total {
		for n := len(r.window); n < cap(r.window); n++ {
			r.window = append(r.window, 0)
		}
		for r.made < total && r.at+int64(r.filter.reach) < r.begin+int64(len(r.window)) {
			dst = append(dst, r.next())
		}
		r.compact()
	}
	r.reset()
	return dst
}

// next computes one output sample, whose input is in the window, and steps on.
func (r *Resampler) next() float32 {
	first := int(r.at - int64(r.filter.reach) + 1 - r.begin)
	y := r.filter.apply(r.window[first:first+r.filter.taps], r.frac)
	r.made++
	r.at += r.stepInt
	if r.frac += r.stepFrac; r.frac >= r.filter.units {
		r.frac -= r.filter.units
		r.at++
	}
	return y
}

// compact drops the input samples that no further output reaches.
func (r *Resampler) compact() {
	done := int(r.at - int64(r.filter.reach) + 1 - r.begin)
	r.window = r.window[:copy(r.window, r.window[done:])]
	r.begin += int64(done)
}

// Resample returns a whole mono clip at another rate. It keeps every output sample
// that lies before the end of the clip, ceil(n * to / from), as the reference does
// with clips of voices, where a Resampler rounds.
func Resample(samples []float32, from, to int) ([]float32, error) {
	r, err := NewResampler(from, to)
	if err != nil {
		return nil, err
	}
	n := (int64(len(samples))*int64(to) + int64(from) - 1) / int64(from)
	out := r.Write(make([]float32, 0, n+int64(to/from)+2), samples)
	// As much silence as makes one more sample, or rounding could drop the last.
	out = r.Write(out, make([]float32, from/to+1))
	return r.Flush(out)[:n], nil
}
