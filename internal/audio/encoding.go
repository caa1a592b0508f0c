package audio

import "io"

// Encoding is how samples leave. The zero value of each field but Format leaves things
// as they are.
type Encoding struct {
	Format     Format
	SampleRate int     // Hz, 8,000 to 192,000 as far as the format has it; 0 is that of the samples
	Speed      float64 // 0.25 to 4 times as fast, at the same pitch; 0 is 1
	Bitrate    int     // bit/s of MP3, Opus and AAC; 0 is the format's usual one
}

// resolve returns e with its zeros filled in, for samples of source Hz. It refuses
// what cannot be made.
func (e Encoding) resolve(source int) (Encoding, error) {
	if e.SampleRate == 0 {
		e.SampleRate = source
	}
	if e.Speed == 0 {
		e.Speed = 1
	}
	if err := CheckSpeed(e.Speed); err != nil {
		return e, err
	}
	return e, check(e.Format, e.SampleRate, e.Bitrate)
}

// Check refuses an encoding of samples of source Hz that cannot be made here, as
// NewEncoder does, but begins nothing.
func (e Encoding) Check(source int) error {
	e, err := e.resolve(source)
	if err != nil {
		return err
	}
	_, _, err = e.converters(source)
	return err
}

// converters returns what changes speed and rate, nil for what does not change.
func (e Encoding) converters(source int) (stretch *Stretch, resampler *Resampler, err error) {
	if e.Speed != 1 {
		if stretch, err = NewStretch(source, e.Speed); err != nil {
			return nil, nil, err
		}
	}
	if e.SampleRate != source {
		if resampler, err = NewResampler(source, e.SampleRate); err != nil {
			return nil, nil, err
		}
	}
	return stretch, resampler, nil
}

// NewEncoder returns a Sink of samples of source Hz that writes them to w as e says,
// in the way of NewStream. A *SampleError counts the samples that the sink was given.
func NewEncoder(w io.Writer, source int, e Encoding) (Sink, error) {
	return e.sink(source, func(e Encoding) (Sink, error) {
		return newStream(w, nil, e.Format, e.SampleRate, e.Bitrate)
	})
}

// CreateEncoder returns a Sink of samples of source Hz that writes them to a file as e
// says, in the way of Create.
func CreateEncoder(path string, source int, e Encoding) (Sink, error) {
	return e.sink(source, func(e Encoding) (Sink, error) {
		return create(path, e.Format, e.SampleRate, e.Bitrate)
	})
}

// sink puts what changes the samples before the sink that open returns.
func (e Encoding) sink(source int, open func(Encoding) (Sink, error)) (Sink, error) {
	e, err := e.resolve(source)
	if err != nil {
		return nil, err
	}
	c := &converted{}
	if c.stretch, c.resampler, err = e.converters(source); err != nil {
		return nil, err
	}
	if c.to, err = open(e); err != nil {
		return nil, err
	}
	if c.stretch == nil && c.resampler == nil {
		return c.to, nil
	}
	return c, nil
}

// converted is a Sink that changes speed and rate before another.
type converted struct {
	stretch   *Stretch   // or nil
	resampler *Resampler // or nil
	to        Sink
	slow, out []float32 // scratch: what each of the two makes
	given     int64     // samples
	closed    bool
}

func (c *converted) Write(samples []float32) error {
	if i := firstNonFinite(samples); i >= 0 && !c.closed {
		// Found here and not by the sink, for the filters spread it.
		err := &SampleError{c.given + int64(i), samples[i]}
		c.closed = true
		_ = c.to.Abort() // that a sample is bad is the error to report
		c.to = failed{err}
	}
	if c.closed {
		return c.to.Write(samples)
	}
	c.given += int64(len(samples))
	if c.stretch != nil {
		c.slow = c.stretch.Write(c.slow[:0], samples)
		samples = c.slow
	}
	if c.resampler != nil {
		c.out = c.resampler.Write(c.out[:0], samples)
		samples = c.out
	}
	return c.to.Write(samples)
}

func (c *converted) Close() error {
	if c.closed {
		return c.to.Close()
	}
	c.closed = true
	if err := c.to.Write(c.rest()); err != nil {
		_ = c.to.Abort() // the write has given up already
		return err
	}
	return c.to.Close()
}

// rest is what the stretch and the resampler still hold.
func (c *converted) rest() []float32 {
	c.slow = c.slow[:0]
	if c.stretch != nil {
		c.slow = c.stretch.Flush(c.slow)
	}
	if c.resampler == nil {
		return c.slow
	}
	c.out = c.resampler.Write(c.out[:0], c.slow)
	c.out = c.resampler.Flush(c.out)
	return c.out
}

func (c *converted) Abort() error {
	c.closed = true
	return c.to.Abort()
}

// failed is what a sink becomes that was given a bad sample.
type failed struct{ err error }

func (f failed) Write([]float32) error { return f.err }
func (f failed) Close() error          { return f.err }
func (f failed) Abort() error          { return nil }
