package codec

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
)

// State is one stream: what the decoder still needs of the frames that it has seen. Its size does not depend on their number.
type State struct {
	d      *Decoder
	frames int       // frames in one pass, at most
	left   []float32 // rows kept for each convolution, [left, in] each, at the slot of its conv
	cache  *nn.Cache // keys and values of the last window of frames
	frame  int       // number of the next frame
	broken bool
	busy   bool // in the batch that is decoded
}

// MaxFrames is the longest stream, in frames: 23 hours of the published checkpoints. It is the range of the transformer's
// positions.
const MaxFrames = 1 << 20

// NewState returns the state of a stream that has not begun. maxFrames is the largest number of frames that the transformer takes
// at once; longer calls of Decode are cut.
func (d *Decoder) NewState(maxFrames int) *State {
	if maxFrames < 1 {
		panic(fmt.Sprintf("codec: NewState(%d), wanted at least 1 frame", maxFrames))
	}
	return &State{d: d, frames: maxFrames, left: make([]float32, d.left), cache: d.stack.NewCache(maxFrames)}
}

// Reset begins a new stream.
func (s *State) Reset() {
	clear(s.left)
	s.cache.Reset()
	s.frame, s.broken = 0, false
}

// Frames returns the number of frames decoded since the stream began.
func (s *State) Frames() int { return s.frame }

// Bytes returns the memory that a stream takes: for the published checkpoints 0.54 MB of rows kept for convolutions, and 64 KB of
// keys and values for each position that the cache has room for (see nn.Stack.NewCache).
func (s *State) Bytes() int64 { return int64(len(s.left))*4 + s.cache.Bytes() }

// buffer is rows of values. Where it is the input of a convolution, the kept rows of each stream stand before its new ones:
//
//	[left of stream 0] [new rows of stream 0] [left of stream 1] [new rows of stream 1] ...
type buffer struct {
	data []float32
	left int // rows kept of each stream; 0 for rows without gaps
}

// at is the index of a row that belongs to stream i of the step. New rows are numbered through all streams.
func (b buffer) at(i, width, row int) int { return (row + (i+1)*b.left) * width }

// input is a buffer as the input of c.
func (c *conv) input(data []float32) buffer { return buffer{data: data, left: c.left} }

// open puts the rows kept for c into a buffer that is to be its input.
func (sc *Scratch) open(c *conv, buf []float32) {
	n := c.left * c.in
	for i, s := range sc.spans {
		copy(buf[(s.first*c.rate+i*c.left)*c.in:][:n], s.state.left[c.slot:])
	}
}

// fill makes a buffer the input of c: the kept rows and new ones, x [rows, in].
func (sc *Scratch) fill(c *conv, buf, x []float32) {
	sc.open(c, buf)
	for i, s := range sc.spans {
		from, n := s.first*c.rate*c.in, s.frames*c.rate*c.in
		copy(buf[from+(i+1)*c.left*c.in:][:n], x[from:])
	}
}

// keep remembers the last rows of the input of c.
func (sc *Scratch) keep(c *conv, buf []float32) {
	n := c.left * c.in
	for i, s := range sc.spans {
		copy(s.state.left[c.slot:c.slot+n], buf[((s.first+s.frames)*c.rate+i*c.left)*c.in:])
	}
}

// Scratch holds the activations of one step. It belongs to the goroutine that computes and serves any number of streams in turn.
type Scratch struct {
	// Tap, if set, is shown the output of each stage of a step with one stream, x [rows, channels], under the names that the
	// goldens of the parity tests use. x must not be kept. It is for tests; names are built anew for every call.
	Tap func(stage string, rows, channels int, x []float32)

	d      *Decoder
	frames int       // of a step, at most
	n      int       // of this step
	spans  []span    // of this step
	one    [1]Item   // the batch of one
	entry  []float32 // [frames, dim of an entry]
	rest   []float32 // [frames, codebook_dim]
	hidden []float32 // [frames, hidden]
	inner  []float32 // [frames after upsampling, inner width of a ConvNeXt block]
	stream []float32 // what the residual units add to: [rows, channels] of the widest stage
	a, b   []float32 // input and output of a convolution in turn: [left + rows, channels] of the widest
	rows   []nn.Row  // [frames]
	stack  *nn.Scratch

	codes kernel.ConvCodes // of the input of a convolution with 8-bit weights: [left + rows, channels] of the widest
	pairs []uint16         // the same as bfloat16, for dot products
	room  [][]float32      // of each worker, for the tiles of minimal filtering

	conv     convJob
	quantize codesJob
	narrow   pairsJob
	out      outJob
	gelu     geluJob
}

// NewScratch returns scratch for steps of up to maxFrames frames, of all streams together; longer calls are cut. For the published
// checkpoints it takes 2.3 MB per frame, and at float32 1.5 MB per worker from the first step on.
func (d *Decoder) NewScratch(maxFrames int) *Scratch {
	if maxFrames < 1 {
		panic(fmt.Sprintf("codec: NewScratch(%d), wanted at least 1 frame", maxFrames))
	}
	d.settle()
	sc := &Scratch{
		d: d, frames: maxFrames,
		entry:  make([]float32, maxFrames*d.quantizer.dim),
		rest:   make([]float32, maxFrames*d.cfg.Decoder.CodebookDim),
		hidden: make([]float32, maxFrames*d.cfg.Decoder.Hidden),
		rows:   make([]nn.Row, maxFrames),
		spans:  make([]span, 0, maxFrames),
		stack:  d.stack.NewScratch(maxFrames),
	}
	inner, stream, pass := 0, maxFrames*d.cfg.Decoder.CodebookDim, 0
	d.eachConv(func(c *conv) {
		// At most every frame is of another stream.
		pass = max(pass, maxFrames*(c.left+c.rate)*c.in)
		stream = max(stream, maxFrames*c.rate*c.outs)
	})
	for i := range d.upsample {
		u := &d.upsample[i]
		inner = max(inner, maxFrames*u.depthwise.rate*u.pw1.Out)
	}
	sc.reserveCodes()
	sc.inner = make([]float32, inner)
	sc.stream = make([]float32, stream)
	sc.a, sc.b = make([]float32, pass), make([]float32, pass)
	return sc
}

// reserveCodes makes room for the codes of the widest convolution that has 8-bit weights, and for the widest input of dot products.
func (sc *Scratch) reserveCodes() {
	rows, codes, pairs := 0, 0, 0
	for _, c := range sc.d.packable() {
		n := sc.frames * (c.left + c.rate)
		if c.int8 != nil {
			rows, codes = max(rows, n), max(codes, n*kernel.Int8K(c.in))
		}
		if c.dot != nil {
			pairs = max(pairs, n*kernel.DotK(c.in))
		}
	}
	sc.codes = kernel.ConvCodes{Codes: make([]uint8, codes), Rows: make([]kernel.ConvRow, rows)}
	sc.pairs = make([]uint16, pairs)
}

// run does a convolution.
func (sc *Scratch) run(wk *nn.Work, j convJob) {
	c := j.conv
	j.spans, j.rows = sc.spans, sc.n*c.rate
	rows := j.rows + len(sc.spans)*c.left
	switch {
	case c.int8 != nil:
		sc.quantize = codesJob{x: j.x.data, in: c.in, rows: rows, codes: &sc.codes}
		wk.Run(&sc.quantize, rows*c.in*codeMACs)
		j.codes = &sc.codes
	case c.dot != nil:
		sc.narrow = pairsJob{x: j.x.data, in: c.in, rows: rows, pairs: sc.pairs}
		wk.Run(&sc.narrow, rows*c.in*pairMACs)
		j.pairs = sc.pairs
	case c.points != nil:
		sc.reserveTiles(wk.Workers())
		j.room = sc.room
	}
	sc.conv = j
	wk.Run(&sc.conv, sc.conv.macs())
}

func (sc *Scratch) tap(stage string, rows int, x []float32) {
	if sc.Tap != nil {
		sc.Tap(stage, rows, len(x)/rows, x)
	}
}

// tapN is tap for a stage with numbers in its name. The name is not built when nobody looks.
func (sc *Scratch) tapN(rows int, x []float32, format string, numbers ...int) {
	if sc.Tap == nil {
		return
	}
	sc.tap(stageName(format, numbers), rows, x)
}

// stageName puts numbers into the name of a stage.
func stageName(format string, numbers []int) string {
	args := make([]any, len(numbers))
	for i, n := range numbers {
		args[i] = n
	}
	return fmt.Sprintf(format, args...)
}
