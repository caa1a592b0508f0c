package codec

import (
	"fmt"

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

// open puts the rows kept for c at the head of a buffer and returns the rest, where the new rows belong.
func (s *State) open(c *conv, buf []float32) []float32 {
	n := c.left * c.in
	copy(buf, s.left[c.slot:c.slot+n])
	return buf[n:]
}

// keep remembers the last rows of a buffer that open began and that rows new rows were added to.
func (s *State) keep(c *conv, buf []float32, rows int) {
	n := c.left * c.in
	copy(s.left[c.slot:c.slot+n], buf[rows*c.in:])
}

// Scratch holds the activations of one step. It belongs to the goroutine that computes and serves any number of streams in turn.
type Scratch struct {
	// Tap, if set, is shown the output of each stage, x [rows, channels], under the names that the goldens of the parity tests
	// use. x must not be kept. It is for tests; names are built anew for every call.
	Tap func(stage string, rows, channels int, x []float32)

	d      *Decoder
	frames int
	entry  []float32 // [frames, dim of an entry]
	rest   []float32 // [frames, codebook_dim]
	hidden []float32 // [frames, hidden]
	inner  []float32 // [frames after upsampling, inner width of a ConvNeXt block]
	stream []float32 // what the residual units add to: [rows, channels] of the widest stage
	a, b   []float32 // input and output of a convolution in turn: [left + rows, channels] of the widest
	rows   []nn.Row  // [frames]
	stack  *nn.Scratch

	conv convJob
	out  outJob
	gelu geluJob
}

// NewScratch returns scratch for steps of up to maxFrames frames; longer calls of Decode are cut. For the published checkpoints it
// takes 2.3 MB per frame.
func (d *Decoder) NewScratch(maxFrames int) *Scratch {
	if maxFrames < 1 {
		panic(fmt.Sprintf("codec: NewScratch(%d), wanted at least 1 frame", maxFrames))
	}
	sc := &Scratch{
		d: d, frames: maxFrames,
		entry:  make([]float32, maxFrames*d.quantizer.dim),
		rest:   make([]float32, maxFrames*d.cfg.Decoder.CodebookDim),
		hidden: make([]float32, maxFrames*d.cfg.Decoder.Hidden),
		rows:   make([]nn.Row, maxFrames),
		stack:  d.stack.NewScratch(maxFrames),
	}
	rows, inner, stream, pass := maxFrames, 0, 0, 0
	d.eachConv(func(c *conv) {
		pass = max(pass, (c.left+rows)*c.in, rows*c.outs)
		stream = max(stream, rows*c.outs)
		rows *= c.stride
	})
	rows = maxFrames
	for i := range d.upsample {
		rows *= d.upsample[i].up.stride
		inner = max(inner, rows*d.upsample[i].pw1.Out)
	}
	sc.inner = make([]float32, inner)
	sc.stream = make([]float32, stream)
	sc.a, sc.b = make([]float32, pass), make([]float32, pass)
	return sc
}

// run does a convolution.
func (sc *Scratch) run(wk *nn.Work, j convJob) {
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
