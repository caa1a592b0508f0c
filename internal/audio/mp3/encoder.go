package mp3

import (
	"errors"
	"fmt"
	"io"
)

const (
	// Delay is how many samples later than they went in samples come out of a
	// decoder, counted from the first sample that it gives: 528 by the encoder, as
	// players with gapless playback are told, and 529 by any decoder.
	Delay = EncoderDelay + DecoderDelay

	EncoderDelay = 528 // the encoder's part of Delay, in samples
	DecoderDelay = 529 // the decoder's part of Delay, in samples

	// outBytes is how much of the stream is gathered for one call of the writer. A call
	// of Write or Close makes one, unless it completes more than this.
	outBytes = 16384
)

// Options choose the stream.
type Options struct {
	SampleRate int // Hz: one of SampleRates
	Bitrate    int // bit/s: one of Bitrates(SampleRate); 0 is DefaultBitrate(SampleRate)
}

// SampleError is a sample that is no sound: NaN or infinite.
type SampleError struct {
	Index int64 // in all that the encoder was given
	Value float32
}

func (e *SampleError) Error() string {
	return fmt.Sprintf("mp3: sample %d is %v", e.Index, e.Value)
}

// errClosed is returned by Write after Close.
var errClosed = errors.New("mp3: write after close")

// Encoder encodes the samples of one mono stream. It is not safe for concurrent use.
type Encoder struct {
	w     io.Writer
	err   error // of a failed call; all later calls return it
	taken int64 // samples accepted
	out   []byte

	format *format
	cutoff int // lines from here on are not coded

	// A window over the samples, in order of time: 576 before the granule that is
	// being filled, the granule, and the lookahead.
	window [2*granuleLines + lookahead]float64
	fill   int
	begun  bool // the first granule has been encoded
	frames int64

	attacks     attacks
	attackHere  bool // in the zone of the granule that is being filled
	kind        blockKind
	bank        bank
	lines       [granuleLines]float64
	byFrequency [granuleLines]float64 // of a short block, before reordering
	squares     [granuleLines]float64
	allowed     [maxBands]float64
	masker      *masker
	allocator   *allocator
	granules    [3]*granule // of a frame, and a spare one at the end
	count       int         // granules of the frame that are encoded
	stream      *stream
}

// NewEncoder returns an encoder that writes a stream to w. An error tells which option
// was wrong and what is allowed. Nothing is written before frames are complete.
func NewEncoder(w io.Writer, o Options) (*Encoder, error) {
	f, index, err := resolve(o)
	if err != nil {
		return nil, err
	}
	return &Encoder{
		w: w, out: make([]byte, 0, outBytes), format: f,
		cutoff: f.cutoffLine(f.bitrates()[index]), fill: granuleLines,
		masker: newMasker(f), allocator: newAllocator(f), stream: newStream(f, index),
		granules: [3]*granule{new(granule), new(granule), new(granule)},
	}, nil
}

// Write encodes samples in -1..1, any number of them; what is outside is clamped. It
// writes the frames that they complete. A NaN or infinite sample is a *SampleError, and
// none of the samples of that call is encoded. After an error the stream has failed:
// Write and Close return that error again.
func (e *Encoder) Write(samples []float32) error {
	if e.err != nil {
		return e.err
	}
	for i, x := range samples {
		if x-x != 0 {
			e.err = &SampleError{e.taken + int64(i), x}
			return e.err
		}
	}
	e.taken += int64(len(samples))
	for _, x := range samples {
		e.window[e.fill] = max(-1, min(1, float64(x)))
		if e.fill++; e.fill == len(e.window) {
			e.granule()
		}
	}
	e.flush(0)
	return e.err
}

// Close encodes silence until all samples can be decoded, and a frame more, and writes
// the frames that are left. It does not close the writer. A second Close does nothing; an encoder that
// has failed returns its error.
func (e *Encoder) Close() error {
	if e.err == errClosed {
		return nil
	}
	perFrame := int64(granuleLines * e.format.granules)
	frames := (e.taken+Delay+perFrame-1)/perFrame + 1 // some decoders drop the last one
	for e.err == nil && e.frames < frames {
		clear(e.window[e.fill:])
		e.fill = len(e.window)
		e.granule()
	}
	e.stream.complete()
	e.out = e.stream.appendComplete(e.out)
	e.flush(0)
	if e.err != nil {
		return e.err
	}
	e.err = errClosed
	return nil
}

// flush writes what has been gathered if it is more than some bytes.
func (e *Encoder) flush(above int) {
	if len(e.out) <= above || e.err != nil {
		return
	}
	n, err := e.w.Write(e.out)
	if err == nil && n < len(e.out) {
		err = io.ErrShortWrite
	}
	if err != nil {
		e.err = fmt.Errorf("mp3: write: %w", err)
	}
	e.out = e.out[:0]
}

// granule encodes the granule in the full window, moves the window on, and packs a
// frame if it is the last of one.
func (e *Encoder) granule() {
	const zone = granuleLines + 1 // with the sample before it
	at := len(e.window) - zone
	if !e.begun {
		e.begun = true
		e.attackHere = e.attacks.zone(e.window[at-granuleLines : at-granuleLines+zone])
	}
	next := e.attacks.zone(e.window[at:])
	e.kind = nextKind(e.kind, e.attackHere, next)
	e.attackHere = next

	e.bank.granule(e.window[granuleLines+subbands-taps : 2*granuleLines])
	e.fill = copy(e.window[:], e.window[granuleLines:])
	e.transform()
	e.quantize()
	if e.count < e.format.granules {
		return
	}
	e.count = 0
	e.frames++
	e.stream.finish(e.granules[:e.format.granules])
	e.out = e.stream.appendComplete(e.out)
	e.flush(outBytes - 2*maxFrameBytes)
}

// transform sets lines, squares and allowed for the granule.
func (e *Encoder) transform() {
	l := e.allocator.layoutOf(e.kind)
	if e.kind == shortBlock {
		e.bank.transform(&e.byFrequency, e.kind, e.cutoff)
		reorder(&e.lines, &e.byFrequency, e.format.short)
	} else {
		e.bank.transform(&e.lines, e.kind, e.cutoff)
	}
	for i, x := range e.lines {
		e.squares[i] = x * x
	}
	e.masker.allow(&e.allowed, &e.squares, l, e.kind)
}

// quantize chooses the granule's bits and quantizes it with them.
func (e *Encoder) quantize() {
	g, spare := e.granules[e.count], e.granules[2]
	e.allocator.load(&e.lines, &e.allowed, e.kind)
	budget := e.budget(e.allocator.demand(g, e.kind))
	g, spare = e.allocator.fit(g, spare, e.kind, budget)
	e.allocator.sign(g)
	g.code.shared = 0
	if e.count == 1 && e.kind != shortBlock && e.granules[0].kind != shortBlock {
		g.code.share(&g.factors, &e.granules[0].code, &e.granules[0].factors)
	}
	e.granules[e.count], e.granules[2] = g, spare
	e.count++
}

// budget returns how many bits the granule that demands so many may take: what it
// demands if the reservoir has it; else an equal share of the frame, less a little
// while the reservoir is not full.
func (e *Encoder) budget(demand int) int {
	s := e.stream
	mean := 8 * s.room / e.format.granules
	reserve := 8*s.reserve + mean*e.count
	for _, g := range e.granules[:e.count] {
		reserve -= g.size()
	}
	most := 8 * s.most
	budget := mean
	switch {
	case reserve > most: // would be lost
		budget += reserve - most
	case demand <= mean:
		budget -= min(mean/8, most-reserve)
	}
	budget = max(budget, min(demand, mean+reserve*7/10))
	return min(budget, maxGranuleBits)
}

// maxFrameBytes is the length of the longest frame: 160,000 bit/s at 8,000 Hz.
const maxFrameBytes = 1441
