package codec

import (
	"errors"
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
)

// Decode takes the next n frames of a stream, codes [n, Groups], and writes their samples, within -1 to 1, to dst [n*Hop]. Any
// number of frames may be given at once, and how they are cut into calls does not show in the samples.
//
// A code outside its codebook is a *CodeError, negative codes included; it and slices of the wrong length leave the stream as it
// was. NaN or infinity in any stage is a *NonFiniteError: dst is zeroed, and the State answers ErrBroken until Reset.
func (d *Decoder) Decode(wk *nn.Work, sc *Scratch, s *State, dst []float32, codes []int32) error {
	groups := d.Groups()
	n := len(codes) / groups
	switch {
	case s.d != d || sc.d != d:
		return errors.New("codec: State or Scratch of another Decoder")
	case s.broken:
		return ErrBroken
	case n*groups != len(codes):
		return fmt.Errorf("codec: %d codes, wanted a multiple of the %d in a frame", len(codes), groups)
	case len(dst) != n*d.Hop():
		return fmt.Errorf("codec: room for %d samples, wanted %d for %d frames", len(dst), n*d.Hop(), n)
	case n > MaxFrames-s.frame:
		return fmt.Errorf("codec: %d frames after %d, a stream has at most %d", n, s.frame, MaxFrames)
	}
	if err := d.check(codes, s.frame); err != nil {
		return err
	}
	step := min(sc.frames, s.frames)
	for from := 0; from < n; from += step {
		to := min(from+step, n)
		if err := d.step(wk, sc, s, dst[from*d.Hop():to*d.Hop()], codes[from*groups:to*groups], to-from); err != nil {
			s.broken = true
			clear(dst)
			return err
		}
		s.frame += to - from
	}
	return nil
}

// step decodes n frames in one pass through all stages.
//
// Two buffers take turns: in holds the input of the next convolution, kept rows first, and out takes what is computed from it.
// Rows of a stage that later stages add to are in sc.stream.
func (d *Decoder) step(wk *nn.Work, sc *Scratch, s *State, dst []float32, codes []int32, n int) error {
	in, out := sc.a, sc.b

	x := s.open(&d.preConv, in)[:n*d.preConv.in]
	d.quantizer.forward(wk, sc, x, codes)
	if err := s.finite(x, n, "quantizer"); err != nil {
		return err
	}

	latent := sc.stream[:n*d.preConv.outs]
	sc.run(wk, convJob{conv: &d.preConv, x: in, dst: latent, rows: n})
	s.keep(&d.preConv, in, n)
	sc.tap("pre_conv", n, latent)
	d.transform(wk, sc, s, latent, n)
	if err := s.finite(latent, n, "pre_transformer"); err != nil {
		return err
	}

	x = latent
	for i := range d.upsample {
		u := &d.upsample[i]
		copy(s.open(&u.up, in), x)
		x = u.forward(wk, sc, s, in, out, sc.stream, i, len(x)/u.up.in)
		if err := s.finite(x, n, "upsample_%d", i); err != nil {
			return err
		}
	}

	copy(s.open(&d.entry, in), x)
	rows := d.expand(wk, sc, s, &d.entry, in, out, len(x)/d.entry.in)
	sc.tapN(rows, sc.stream[:rows*d.entry.outs], "decoder_%d/conv", 0)
	in, out = out, in
	for i := range d.blocks {
		rows = d.block(wk, sc, s, i, in, out, rows)
		in, out = out, in
		if err := s.finite(sc.stream[:rows*d.blocks[i].width], n, "decoder_%d", i+1); err != nil {
			return err
		}
	}

	last := len(d.blocks) + 1
	sc.tapN(rows, in[d.out.left*d.out.in:][:rows*d.out.in], "decoder_%d/snake", last)
	sc.out = outJob{out: &d.out, x: in, dst: dst}
	wk.Run(&sc.out, rows*d.out.taps*d.out.in)
	s.keep(&d.out.conv, in, rows)
	sc.tapN(rows, dst, "decoder_%d/conv_before_clamp", last+1)
	if err := s.finite(dst, n, "output"); err != nil {
		return err
	}
	for i, v := range dst {
		dst[i] = min(max(v, -1), 1)
	}
	return nil
}

// transform runs the transformer on x [n, latent] in place.
func (d *Decoder) transform(wk *nn.Work, sc *Scratch, s *State, x []float32, n int) {
	h := sc.hidden[:n*d.inProj.Out]
	d.inProj.Forward(wk, h, x, n)
	sc.tap("pre_transformer/input_proj", n, h)
	for i := range n {
		sc.rows[i] = nn.Row{Cache: s.cache}
	}
	var tap func(layer int, x []float32)
	if sc.Tap != nil {
		tap = func(layer int, x []float32) { sc.tapN(n, x, "pre_transformer/layer_%d", layer) }
	}
	d.stack.Forward(wk, sc.stack, h, sc.rows[:n], tap)
	d.stack.Norm(h, h, n)
	sc.tap("pre_transformer/norm", n, h)
	d.outProj.Forward(wk, x, h, n)
	sc.tap("pre_transformer/output_proj", n, x)
}

// expand runs a convolution that begins a new residual stream: its results go to sc.stream, and their snake to out as the input of
// the convolution after it. It returns the number of rows made from rows.
func (d *Decoder) expand(wk *nn.Work, sc *Scratch, s *State, c *conv, in, out []float32, rows int) int {
	sc.run(wk, convJob{conv: c, x: in, dst: sc.stream, act: s.open(c.next, out), rows: rows})
	s.keep(c, in, rows)
	return rows * c.stride
}

// block runs decoder block i on rows rows in in. It leaves the block's output in sc.stream, and the input of the next block (or of
// the last convolution) in out; it returns the number of rows.
func (d *Decoder) block(wk *nn.Work, sc *Scratch, s *State, i int, in, out []float32, rows int) int {
	b := &d.blocks[i]
	sc.tapN(rows, in[b.up.left*b.up.in:][:rows*b.up.in], "decoder_%d/snake", i+1)
	rows = d.expand(wk, sc, s, &b.up, in, out, rows)
	stream := sc.stream[:rows*b.width]
	sc.tapN(rows, stream, "decoder_%d/transposed_conv", i+1)
	for j := range b.units {
		u := &b.units[j]
		h := s.open(u.conv1.next, in)
		sc.run(wk, convJob{conv: &u.conv1, x: out, dst: h, act: h, rows: rows})
		s.keep(&u.conv1, out, rows)
		next := s.open(u.conv2.next, out)
		sc.run(wk, convJob{conv: &u.conv2, x: in, dst: next, sum: stream, act: next, rows: rows})
		s.keep(&u.conv2, in, rows)
		sc.tapN(rows, stream, "decoder_%d/residual_%d", i+1, j)
	}
	sc.tapN(rows, stream, "decoder_%d/block", i+1)
	return rows
}

// finite checks the rows that a stage made of n frames.
func (s *State) finite(x []float32, n int, stage string, numbers ...int) error {
	i := kernel.FirstNonFinite(x)
	if i < 0 {
		return nil
	}
	return &NonFiniteError{Stage: stageName(stage, numbers), Frame: s.frame + i/(len(x)/n)}
}
