package speaker

import (
	"context"
	"errors"
	"fmt"
	"math"

	"github.com/mynah-tts/mynah/internal/audio/mel"
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/team"
)

// Run is the way of one clip through the network. It must not be used by two goroutines at once.
type Run struct {
	e       *Encoder
	samples []float32
	rows    int // of mel, and of everything but the vector
	step    int // 0 is mel and entry, then come the blocks, then the rest
	tap     func(stage string, rows, channels int, x []float32)
	err     error

	mel       []float32 // [pad + rows + pad, bands]
	x, y, z   []float32 // [rows, channels]: the residual stream, and the inside of a block
	part      []float32 // [pad + rows + pad, channels / scale]
	wide      []float32 // [pad + rows + pad, channels * blocks], and then the attention's scores
	mean, dev []float64 // [channels of mfa]
	vector    []float32

	conv    convJob
	moments momentsJob
}

// Start begins the way of a mono clip at the encoder's sample rate, which the Run reads in its first step. Clips that cannot be
// used are a *LengthError or a *SampleError.
func (e *Encoder) Start(samples []float32) (*Run, error) {
	if n := len(samples); n < e.MinSamples() || n > e.MaxSamples() {
		return nil, &LengthError{Samples: n, Least: e.MinSamples(), Most: e.MaxSamples()}
	}
	if i := kernel.FirstNonFinite(samples); i >= 0 {
		return nil, &SampleError{Index: i, Value: samples[i]}
	}
	return &Run{e: e, samples: samples, rows: mel.Frames(len(samples))}, nil
}

// ErrRunning is returned by Vector of a Run that is not done.
var ErrRunning = errors.New("codec/speaker: the run is not done")

// Step does the next part of the network and reports whether the run is done: with the published weights some five steps of up to
// 50 ms of two cores for ten seconds of sound. An error ends the run: it is a *NonFiniteError.
func (r *Run) Step(wk *nn.Work) (done bool, err error) {
	if r.err != nil || r.vector != nil {
		return r.vector != nil, r.err
	}
	switch blocks := len(r.e.blocks); {
	case r.step == 0:
		r.begin(wk)
		r.err = r.check("block_0", r.x, r.e.entry.outs)
	case r.step <= blocks:
		r.block(wk, r.step-1)
		r.err = r.check(fmt.Sprintf("block_%d", r.step), r.x, r.e.entry.outs)
	default:
		r.err = r.finish(wk)
	}
	r.step++
	return r.vector != nil, r.err
}

// Vector returns the vector [Dim] of a run that is done.
func (r *Run) Vector() ([]float32, error) {
	switch {
	case r.err != nil:
		return nil, r.err
	case r.vector == nil:
		return nil, ErrRunning
	}
	return r.vector, nil
}

// Embed is a whole run: it returns the vector [Dim] of a mono clip at the encoder's sample rate. Beside the errors of Start and
// Step it returns that of ctx, if that ends before the run does.
func (e *Encoder) Embed(ctx context.Context, wk *nn.Work, samples []float32) ([]float32, error) {
	r, err := e.Start(samples)
	for done := false; err == nil && !done; {
		if err = ctx.Err(); err != nil {
			return nil, fmt.Errorf("codec/speaker: %w", err)
		}
		done, err = r.Step(wk)
	}
	if err != nil {
		return nil, err
	}
	return r.Vector()
}

// check shows a stage to the tap and looks for what is no number in it.
func (r *Run) check(stage string, x []float32, width int) error {
	if r.tap != nil {
		r.tap(stage, len(x)/width, width, x)
	}
	if kernel.FirstNonFinite(x) >= 0 {
		return &NonFiniteError{Stage: stage}
	}
	return nil
}

// begin computes the mel frames and the first block.
func (r *Run) begin(wk *nn.Work) {
	e, n := r.e, r.e.entry.outs
	f := func(c *conv, width int) []float32 { return make([]float32, (r.rows+2*c.pad)*width) }
	r.mel = f(&e.entry, e.entry.in)
	frames := r.mel[e.entry.pad*e.entry.in:][:r.rows*e.entry.in]
	wk.Run(&melJob{dst: frames, samples: r.samples, rows: r.rows}, r.rows*melMACs)
	if r.tap != nil {
		r.tap("mel", r.rows, e.entry.in, frames)
	}
	e.entry.reflect(r.mel, r.rows, e.entry.in)
	r.x, r.y, r.z = make([]float32, r.rows*n), make([]float32, r.rows*n), make([]float32, r.rows*n)
	e.entry.run(wk, &r.conv, r.x, r.mel, r.rows, relu)
	r.mel, r.samples = nil, nil
	for i := range e.blocks { // dilations differ, and with them the reach
		if p := f(&e.blocks[i].parts[0], e.blocks[i].parts[0].in); len(p) > len(r.part) {
			r.part = p
		}
	}
	r.wide = f(&e.mfa, max(e.mfa.in, e.mfa.outs))
	r.mean, r.dev = make([]float64, max(n, e.mfa.outs)), make([]float64, e.mfa.outs)
}

// block runs a block on x in place, and puts its output beside those of the others.
func (r *Run) block(wk *nn.Work, i int) {
	b, n := &r.e.blocks[i], r.e.entry.outs
	b.tdnn1.run(wk, &r.conv, r.y, r.x, r.rows, relu)
	for p := range b.parts {
		c := &b.parts[p]
		at := (p + 1) * c.in // of the part's channels in a row; the part before it has its result already
		for row := range r.rows {
			to, from := r.part[(c.pad+row)*c.in:][:c.in], r.y[row*n:]
			copy(to, from[at:])
			if p > 0 {
				kernel.AddF32(to, from[at-c.in:at])
			}
		}
		c.reflect(r.part, r.rows, c.in)
		c.runStrided(wk, &r.conv, r.y[at:], n, r.part, c.in, r.rows, relu)
	}
	out := r.wide[r.e.mfa.pad*r.e.mfa.in:]
	h := r.z
	b.tdnn2.run(wk, &r.conv, h, r.y, r.rows, relu)
	scale := r.excite(wk, b, h)
	for row := range r.rows {
		x := r.x[row*n:][:n]
		kernel.MulAddF32(x, h[row*n:][:n], scale)
		copy(out[row*r.e.mfa.in+i*n:], x)
	}
}

// excite returns the scales [channels] of a block from the means over time of h.
func (r *Run) excite(wk *nn.Work, b *block, h []float32) []float32 {
	n := b.squeeze.in
	r.moments = momentsJob{x: h, width: n, mean: r.mean[:n]}
	wk.Run(&r.moments, len(h)*momentMACs)
	mean, inner, scale := narrowed(r.mean[:n]), make([]float32, b.squeeze.outs), make([]float32, n)
	b.squeeze.run(wk, &r.conv, inner, mean, 1, relu)
	b.excite.run(wk, &r.conv, scale, inner, 1, linear)
	for i, v := range scale {
		scale[i] = float32(1 / (1 + math.Exp(-float64(v))))
	}
	return scale
}

// finish joins the blocks, pools over time and makes the vector.
func (r *Run) finish(wk *nn.Work) error {
	e := r.e
	c, n := &e.mfa, e.mfa.outs
	c.reflect(r.wide, r.rows, c.in)
	x := make([]float32, r.rows*n)
	c.run(wk, &r.conv, x, r.wide, r.rows, relu)
	if err := r.check("mfa", x, n); err != nil {
		return err
	}
	r.moments = momentsJob{x: x, width: n, mean: r.mean[:n], dev: r.dev}
	wk.Run(&r.moments, 2*len(x)*momentMACs)

	inner := make([]float32, r.rows*e.pool.rows.outs)
	r.conv = convJob{
		conv: &e.pool.rows, bias: e.pool.bias(r.mean[:n], r.dev), x: x, ldx: n, dst: inner, ldd: e.pool.rows.outs, rows: r.rows, act: reluTanh,
	}
	wk.Run(&r.conv, e.pool.rows.macs(r.rows))
	scores := r.wide[:r.rows*n] // the blocks' outputs are no longer needed
	e.pool.score.run(wk, &r.conv, scores, inner, r.rows, linear)

	pooled := make([]float32, 2*n)
	job := &poolJob{x: x, scores: scores, width: n, dst: pooled}
	for i := range job.scratch {
		job.scratch[i] = make([]float64, n)
	}
	wk.Run(job, len(x)*softmaxMACs)
	if r.tap != nil {
		r.tap("asp", 1, 2*n, pooled)
	}
	vector := make([]float32, e.fc.outs)
	e.fc.run(wk, &r.conv, vector, pooled, 1, linear)
	if err := r.check("embedding", vector, len(vector)); err != nil {
		return err
	}
	r.vector = vector
	r.x, r.y, r.z, r.part, r.wide = nil, nil, nil, nil, nil
	return nil
}

// bias is what the attention's first map adds to every row: its own bias, and what it makes of mean and deviation over time.
func (p *pooling) bias(mean, dev []float64) []float32 {
	n := len(mean)
	bias := make([]float32, p.rows.outs)
	for a := range bias {
		w, sum := p.whole[a*2*n:(a+1)*2*n], float64(p.rows.bias[a])
		for i, v := range mean {
			sum += v*float64(w[i]) + dev[i]*float64(w[n+i])
		}
		bias[a] = float32(sum)
	}
	return bias
}

func narrowed(x []float64) []float32 {
	out := make([]float32, len(x))
	for i, v := range x {
		out[i] = float32(v)
	}
	return out
}

// melJob shares out mel frames.
type melJob struct {
	dst, samples []float32
	rows         int
}

// melMACs is the cost of a mel frame in multiply-adds, roughly.
const melMACs = 1 << 18

func (j *melJob) Part(worker, workers int) {
	lo, hi := team.Split(j.rows, 1, worker, workers)
	mel.Rows(j.dst[lo*mel.Bands:hi*mel.Bands], j.samples, lo, hi)
}
