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

// stepMACs is how many multiply-adds a step has, about: 10 to 25 ms of two cores.
const stepMACs = 1 << 30

// Run is the way of one clip through the network. It must not be used by two goroutines at once.
type Run struct {
	e       *Encoder
	samples []float32
	rows    int // of mel, and of everything but the vector
	stage   int // 0 is mel and entry, then come the blocks, then the rest
	todo    []piece
	stepped int // multiply-adds of a step, at most, beside its first piece
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
	pool    poolJob
}

// piece is a part of a stage. Pieces are done in order.
type piece struct {
	macs int
	do   func(wk *nn.Work) error
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
	return &Run{e: e, samples: samples, rows: mel.Frames(len(samples)), stepped: stepMACs}, nil
}

// ErrRunning is returned by Vector of a Run that is not done.
var ErrRunning = errors.New("codec/speaker: the run is not done")

// Step does the next piece of work, 10 to 50 ms of two cores whatever the length of the clip, and reports whether the run is done.
// An error ends the run: it is a *NonFiniteError.
func (r *Run) Step(wk *nn.Work) (done bool, err error) {
	for macs := 0; r.err == nil && r.vector == nil; {
		if len(r.todo) == 0 {
			r.plan()
		}
		next := r.todo[0]
		if macs > 0 && macs+next.macs > r.stepped {
			return false, nil
		}
		r.todo = r.todo[1:]
		r.err = next.do(wk)
		macs += next.macs
	}
	return r.vector != nil, r.err
}

// plan lists the pieces of the next stage.
func (r *Run) plan() {
	switch blocks := len(r.e.blocks); {
	case r.stage == 0:
		r.begin()
	case r.stage <= blocks:
		r.block(r.stage - 1)
	default:
		r.finish()
	}
	r.stage++
}

// then adds a piece.
func (r *Run) then(macs int, do func(wk *nn.Work) error) { r.todo = append(r.todo, piece{macs, do}) }

// do adds a piece that cannot fail.
func (r *Run) do(macs int, do func(wk *nn.Work)) {
	r.then(macs, func(wk *nn.Work) error { do(wk); return nil })
}

// eachRows adds pieces that go through n rows, or channels, of so many multiply-adds each. How they are cut changes no bit.
func (r *Run) eachRows(n, macs int, do func(wk *nn.Work, lo, hi int)) {
	many := max(rowTile, r.stepped/2/max(macs, 1)/rowTile*rowTile)
	for lo := 0; lo < n; lo += many {
		hi := min(lo+many, n)
		r.do((hi-lo)*macs, func(wk *nn.Work) { do(wk, lo, hi) })
	}
}

// convolve adds a convolution of all rows; those of x are ldx apart, those of dst ldd.
func (r *Run) convolve(c *conv, dst []float32, ldd int, x []float32, ldx int, act activation) {
	r.eachRows(r.rows, c.macs(1), func(wk *nn.Work, lo, hi int) {
		c.runStrided(wk, &r.conv, dst[lo*ldd:], ldd, x[lo*ldx:], ldx, hi-lo, act)
	})
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
func (r *Run) begin() {
	e, n := r.e, r.e.entry.outs
	f := func(c *conv, width int) []float32 { return make([]float32, (r.rows+2*c.pad)*width) }
	r.mel = f(&e.entry, e.entry.in)
	frames := r.mel[e.entry.pad*e.entry.in:][:r.rows*e.entry.in]
	r.eachRows(r.rows, melMACs, func(wk *nn.Work, lo, hi int) {
		wk.Run(&melJob{dst: frames, samples: r.samples, lo: lo, hi: hi}, (hi-lo)*melMACs)
	})
	r.do(0, func(*nn.Work) {
		if r.tap != nil {
			r.tap("mel", r.rows, e.entry.in, frames)
		}
		e.entry.reflect(r.mel, r.rows, e.entry.in)
	})
	r.x, r.y, r.z = make([]float32, r.rows*n), make([]float32, r.rows*n), make([]float32, r.rows*n)
	r.convolve(&e.entry, r.x, n, r.mel, e.entry.in, relu)
	for i := range e.blocks { // dilations differ, and with them the reach
		if p := f(&e.blocks[i].parts[0], e.blocks[i].parts[0].in); len(p) > len(r.part) {
			r.part = p
		}
	}
	r.wide = f(&e.mfa, max(e.mfa.in, e.mfa.outs))
	r.mean, r.dev = make([]float64, max(n, e.mfa.outs)), make([]float64, e.mfa.outs)
	r.then(0, func(*nn.Work) error {
		r.mel, r.samples = nil, nil
		return r.check("block_0", r.x, n)
	})
}

// block runs a block on x in place, and puts its output beside those of the others.
func (r *Run) block(i int) {
	b, n := &r.e.blocks[i], r.e.entry.outs
	r.convolve(&b.tdnn1, r.y, n, r.x, n, relu)
	for p := range b.parts {
		c := &b.parts[p]
		at := (p + 1) * c.in // of the part's channels in a row; the part before it has its result already
		r.do(r.rows*c.in, func(*nn.Work) {
			for row := range r.rows {
				to, from := r.part[(c.pad+row)*c.in:][:c.in], r.y[row*n:]
				copy(to, from[at:])
				if p > 0 {
					kernel.AddF32(to, from[at-c.in:at])
				}
			}
			c.reflect(r.part, r.rows, c.in)
		})
		r.convolve(c, r.y[at:], n, r.part, c.in, relu)
	}
	r.convolve(&b.tdnn2, r.z, n, r.y, n, relu)
	r.then(r.rows*n*(momentMACs+1), func(wk *nn.Work) error {
		out, scale := r.wide[r.e.mfa.pad*r.e.mfa.in:], r.excite(wk, b, r.z)
		for row := range r.rows {
			x := r.x[row*n:][:n]
			kernel.MulAddF32(x, r.z[row*n:][:n], scale)
			copy(out[row*r.e.mfa.in+i*n:], x)
		}
		return r.check(fmt.Sprintf("block_%d", i+1), r.x, n)
	})
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
func (r *Run) finish() {
	e := r.e
	c, n := &e.mfa, e.mfa.outs
	x, inner := make([]float32, r.rows*n), make([]float32, r.rows*e.pool.rows.outs)
	r.do(0, func(*nn.Work) { c.reflect(r.wide, r.rows, c.in) })
	r.convolve(c, x, n, r.wide, c.in, relu)
	r.then(0, func(*nn.Work) error { return r.check("mfa", x, n) })
	var bias []float32
	r.do(2*len(x)*momentMACs, func(wk *nn.Work) {
		r.moments = momentsJob{x: x, width: n, mean: r.mean[:n], dev: r.dev}
		wk.Run(&r.moments, 2*len(x)*momentMACs)
		bias = e.pool.bias(r.mean[:n], r.dev)
	})
	in := &e.pool.rows
	r.eachRows(r.rows, in.macs(1), func(wk *nn.Work, lo, hi int) {
		r.conv = convJob{
			conv: in, bias: bias, x: x[lo*n:], ldx: n, dst: inner[lo*in.outs:], ldd: in.outs, rows: hi - lo, act: reluTanh,
		}
		wk.Run(&r.conv, in.macs(hi-lo))
	})
	scores := r.wide[:r.rows*n] // the blocks' outputs are no longer needed
	r.convolve(&e.pool.score, scores, n, inner, in.outs, linear)

	pooled := make([]float32, 2*n)
	r.pool = poolJob{x: x, scores: scores, width: n, dst: pooled}
	for i := range r.pool.scratch {
		r.pool.scratch[i] = make([]float64, n)
	}
	r.eachRows(n, r.rows*softmaxMACs, func(wk *nn.Work, lo, hi int) {
		r.pool.lo, r.pool.hi = lo, hi
		wk.Run(&r.pool, r.rows*(hi-lo)*softmaxMACs)
	})
	r.then(e.fc.macs(1), func(wk *nn.Work) error { return r.embed(wk, pooled) })
}

// embed makes the vector of what was pooled.
func (r *Run) embed(wk *nn.Work, pooled []float32) error {
	if r.tap != nil {
		r.tap("asp", 1, len(pooled), pooled)
	}
	vector := make([]float32, r.e.fc.outs)
	r.e.fc.run(wk, &r.conv, vector, pooled, 1, linear)
	if err := r.check("embedding", vector, len(vector)); err != nil {
		return err
	}
	r.vector = vector
	r.x, r.y, r.z, r.part, r.wide, r.pool = nil, nil, nil, nil, nil, poolJob{}
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
	lo, hi       int
}

// melMACs is the cost of a mel frame in multiply-adds, roughly.
const melMACs = 1 << 18

func (j *melJob) Part(worker, workers int) {
	lo, hi := team.Split(j.hi-j.lo, 1, worker, workers)
	lo, hi = j.lo+lo, j.lo+hi
	mel.Rows(j.dst[lo*mel.Bands:hi*mel.Bands], j.samples, lo, hi)
}
