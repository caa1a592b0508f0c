package encoder

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// seanet is the convolutions from samples to the rows of the transformer.
type seanet struct {
	entry  conv // samples to num_filters channels
	levels []level
	last   conv // to hidden_size
	stride int  // samples of a row
}

// level halves the time by more than two and doubles the channels.
type level struct {
	narrow, widen conv // the residual unit; widen has one tap
	down          conv
}

// load takes encoder.encoder.layers.N: 0 is the entry; then each level has a residual unit, an activation without tensors, and the
// strided convolution; at the end there is another activation and the last convolution.
func (s *seanet) load(w *safetensors.Set, c *EncoderConfig) (err error) {
	name := func(n int) string { return fmt.Sprintf("encoder.encoder.layers.%d.", n) }
	if s.entry, err = loadConv(w, name(0)+"conv", c.Channels, c.Filters, c.Kernel, 1, true); err != nil {
		return err
	}
	s.stride = c.stride()
	s.levels = make([]level, len(c.Ratios))
	channels, n := c.Filters, 1
	for i := range s.levels {
		l := &s.levels[i]
		r, inner := c.Ratios[len(c.Ratios)-1-i], channels/c.Compress
		if l.narrow, err = loadConv(w, name(n)+"block.1.conv", channels, inner, c.ResidualKernel, 1, true); err != nil {
			return err
		}
		if l.widen, err = loadConv(w, name(n)+"block.3.conv", inner, channels, 1, 1, true); err != nil {
			return err
		}
		if l.down, err = loadConv(w, name(n+2)+"conv", channels, 2*channels, 2*r, r, true); err != nil {
			return err
		}
		channels *= 2
		n += 3
	}
	s.last, err = loadConv(w, name(n+1)+"conv", channels, c.Hidden, c.LastKernel, 1, true)
	return err
}

// chunkState is what the convolutions need to go through one clip: the inputs of all of them, with the rows kept from before, and
// the sums of the residual units.
type chunkState struct {
	wave   []float32 // input of entry
	levels []levelState
	tail   []float32   // what the last level makes, before its activation
	last   []float32   // input of last
	tiles  [][]float32 // of each worker: [tile]
	tile   int
	conv   convJob
	unit   unitJob
}

type levelState struct {
	stream []float32 // [rows, channels]
	unit   []float32 // input of the residual unit
	down   []float32 // input of the strided convolution
}

// newState returns the state of a clip that has not begun. rows is the most rows of the transformer that are made at once.
func (s *seanet) newState(rows int) *chunkState {
	n := rows * s.stride
	st := &chunkState{wave: s.entry.input(n), levels: make([]levelState, len(s.levels))}
	widest := 0
	for i := range s.levels {
		l := &s.levels[i]
		st.levels[i] = levelState{stream: make([]float32, n*l.down.in), unit: l.narrow.input(n), down: l.down.input(n)}
		widest = max(widest, l.narrow.outs+l.widen.outs)
		n /= l.down.stride
	}
	st.tail, st.last = make([]float32, rows*s.last.in), s.last.input(rows)
	st.tile = rowTile * widest
	return st
}

// forward takes the next samples of a clip, writes rows to dst [rows, hidden] and returns how many. All pieces but the last are
// whole rows.
func (s *seanet) forward(wk *nn.Work, st *chunkState, dst, samples []float32, tap tapFunc) int {
	rows := len(samples)
	st.tiles = perWorker(st.tiles, wk, st.tile)
	copy(s.entry.fresh(st.wave), samples)
	next := &s.levels[0]
	st.run(wk, convJob{conv: &s.entry, x: st.wave, dst: st.levels[0].stream, act: next.narrow.fresh(st.levels[0].unit), rows: rows})
	s.entry.keep(st.wave, rows)
	tap.showN("seanet/layer_%02d", 0, rows, s.entry.outs, st.levels[0].stream)
	for i := range s.levels {
		rows = s.level(wk, st, i, rows, tap)
	}
	st.run(wk, convJob{conv: &s.last, x: st.last, dst: dst, rows: rows})
	s.last.keep(st.last, rows)
	tap.showN("seanet/layer_%02d", 3*len(s.levels)+2, rows, s.last.outs, dst)
	return rows
}

// level runs a level on the rows in its state, and returns the number of rows that it made in the state of what comes next.
func (s *seanet) level(wk *nn.Work, st *chunkState, i, rows int, tap tapFunc) int {
	l, ls := &s.levels[i], &st.levels[i]
	channels := l.down.in
	st.unit = unitJob{
		narrow: &l.narrow, widen: &l.widen, x: ls.unit, stream: ls.stream, act: l.down.fresh(ls.down), tiles: st.tiles, rows: rows,
	}
	wk.Run(&st.unit, l.narrow.macs(rows)+l.widen.macs(rows)+rows*channels*eluMACs)
	l.narrow.keep(ls.unit, rows)
	tap.showN("seanet/layer_%02d", 3*i+1, rows, channels, ls.stream)

	made := l.down.complete(ls.down, rows)
	dst, act := st.tail, s.last.fresh(st.last)
	if i+1 < len(s.levels) {
		dst, act = st.levels[i+1].stream, s.levels[i+1].narrow.fresh(st.levels[i+1].unit)
	}
	st.run(wk, convJob{conv: &l.down, x: ls.down, dst: dst, act: act, rows: made})
	l.down.keep(ls.down, rows)
	tap.showN("seanet/layer_%02d", 3*i+3, made, l.down.outs, dst)
	return made
}

func (st *chunkState) run(wk *nn.Work, job convJob) {
	st.conv = job
	macs := job.conv.macs(job.rows)
	if job.act != nil {
		macs += job.rows * job.conv.outs * eluMACs
	}
	wk.Run(&st.conv, macs)
}

// tapFunc is shown the output of every stage, [rows, channels]; only tests have one.
type tapFunc func(stage string, rows, channels int, x []float32)

func (f tapFunc) show(stage string, rows, channels int, x []float32) {
	if f != nil {
		f(stage, rows, channels, x[:rows*channels])
	}
}

func (f tapFunc) showN(format string, n, rows, channels int, x []float32) {
	if f != nil {
		f.show(fmt.Sprintf(format, n), rows, channels, x)
	}
}
