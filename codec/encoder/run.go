package encoder

import (
	"context"
	"errors"
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
)

// chunkRows is how many rows of the transformer the convolutions make at once: about half a second of sound. Longer chunks save nothing.
const chunkRows = 12

// Run is the encoding of one clip. It must not be used by two goroutines at once.
type Run struct {
	e       *Encoder
	samples []float32
	chunk   int // rows of the transformer that the convolutions make at once
	slice   int // rows that go through a layer at once
	frames  int // that are quantized at once
	tap     tapFunc

	stage stage
	at    int // samples, rows or frames that are done of the stage
	err   error

	conv  *chunkState
	x     []float32 // [rows, hidden], between convolutions and quantizer
	made  int       // rows of x
	rows  *rowState
	layer int
	code  *codeState
}

// stage is what a Run does next.
type stage int

const (
	convolving stage = iota
	transforming
	quantizing
	finished
)

// Start begins the encoding of a mono clip at the encoder's sample rate, which the Run reads until it is done. Clips that cannot
// be encoded are a *LengthError or a *SampleError.
func (e *Encoder) Start(samples []float32) (*Run, error) {
	if n := len(samples); n < 1 || n > e.MaxSamples() {
		return nil, &LengthError{Samples: n, Most: e.MaxSamples()}
	}
	if i := kernel.FirstNonFinite(samples); i >= 0 {
		return nil, &SampleError{Index: i, Value: samples[i]}
	}
	rows := (len(samples) + e.seanet.stride - 1) / e.seanet.stride
	return &Run{
		e: e, samples: samples, chunk: chunkRows, slice: sliceRows, frames: sliceFrames,
		x: make([]float32, rows*e.cfg.Encoder.Hidden),
	}, nil
}

// ErrRunning is returned by Codes of a Run that is not done.
var ErrRunning = errors.New("codec/encoder: the run is not done")

// Step does the next piece of work, 5 to 50 ms of two cores at the published sizes, and reports whether the run is done. An
// error ends the run: it is a *NonFiniteError.
func (r *Run) Step(wk *nn.Work) (done bool, err error) {
	if r.err != nil {
		return false, r.err
	}
	switch r.stage {
	case convolving:
		r.err = r.convolve(wk)
	case transforming:
		r.err = r.transform(wk)
	case quantizing:
		r.err = r.quantize(wk)
	}
	return r.stage == finished, r.err
}

// Codes returns the codes [frames, groups] of a run that is done.
func (r *Run) Codes() ([]int32, error) {
	switch {
	case r.err != nil:
		return nil, r.err
	case r.stage != finished:
		return nil, ErrRunning
	}
	return r.code.codes, nil
}

// Encode is a whole run: it returns the codes [Frames(len(samples)), Groups] of a mono clip at the encoder's sample rate. Beside the
// errors of Start and Step it returns that of ctx, if that ends before the run does.
func (e *Encoder) Encode(ctx context.Context, wk *nn.Work, samples []float32) ([]int32, error) {
	r, err := e.Start(samples)
	for done := false; err == nil && !done; {
		if err = ctx.Err(); err != nil {
			return nil, fmt.Errorf("codec/encoder: %w", err)
		}
		done, err = r.Step(wk)
	}
	if err != nil {
		return nil, err
	}
	return r.Codes()
}

// convolve takes the next chunk of samples through the convolutions.
func (r *Run) convolve(wk *nn.Work) error {
	s, hidden := &r.e.seanet, r.e.cfg.Encoder.Hidden
	if r.conv == nil {
		r.conv = s.newState(min(r.chunk, len(r.x)/hidden))
	}
	piece := r.samples[r.at:min(r.at+r.chunk*s.stride, len(r.samples))]
	rows := s.forward(wk, r.conv, r.x[r.made*hidden:], piece, r.tap)
	if i := kernel.FirstNonFinite(r.x[r.made*hidden : (r.made+rows)*hidden]); i >= 0 {
		return r.nonFinite("seanet", (r.made+i/hidden)*s.stride)
	}
	r.at += len(piece)
	r.made += rows
	if r.at == len(r.samples) {
		r.stage, r.at = transforming, 0
		r.conv, r.rows = nil, r.e.transformer.newState(r.x)
	}
	return nil
}

// transform takes the next slice of rows through the present layer.
func (r *Run) transform(wk *nn.Work) error {
	t := &r.e.transformer
	lo, hi := r.at, min(r.at+r.slice, r.made)
	t.forward(wk, r.rows, r.layer, lo, hi)
	x := r.x[lo*t.hidden : hi*t.hidden]
	r.tap.showN("transformer/layer_%d", r.layer, hi-lo, t.hidden, x)
	if i := kernel.FirstNonFinite(x); i >= 0 {
		return r.nonFinite("transformer", (lo+i/t.hidden)*r.e.seanet.stride)
	}
	if r.at = hi; hi < r.made {
		return nil
	}
	r.at = 0
	if r.layer++; r.layer == len(t.layers) {
		r.stage = quantizing
		r.rows, r.code = nil, r.e.newCodeState(r.e.Frames(len(r.samples)))
	}
	return nil
}

// quantize makes the codes of the next frames.
func (r *Run) quantize(wk *nn.Work) error {
	total := r.e.Frames(len(r.samples))
	hi := min(r.at+r.frames, total)
	if bad := r.e.quantize(wk, r.code, r.x, r.at, hi, r.tap); bad >= 0 {
		return r.nonFinite("downsample", (r.at+bad)*r.e.cfg.Hop)
	}
	if r.at = hi; hi == total {
		r.stage = finished
	}
	return nil
}

func (r *Run) nonFinite(stage string, sample int) error {
	return &NonFiniteError{Stage: stage, At: float64(sample) / float64(r.e.cfg.SampleRate)}
}
