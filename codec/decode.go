package codec

import (
	"github.com/mynah-tts/mynah/internal/nn"
)

// Decode takes the next n frames of a stream, codes [n, Groups], and writes their samples, within -1 to 1, to dst [n*Hop]. Any
// number of frames may be given at once, and how they are cut into calls does not show in the samples.
//
// A code outside its codebook is a *CodeError, negative codes included; it and slices of the wrong length leave the stream as it
// was. NaN or infinity in any stage is a *NonFiniteError: dst is zeroed, and the State answers ErrBroken until Reset.
func (d *Decoder) Decode(wk *nn.Work, sc *Scratch, s *State, dst []float32, codes []int32) error {
	defer clear(sc.one[:])
	sc.one[0] = Item{State: s, PCM: dst, Codes: codes}
	d.DecodeBatch(wk, sc, sc.one[:])
	return sc.one[0].Err
}

// step decodes the frames of sc.spans in one pass through all stages.
//
// Two buffers take turns: in holds the input of the next convolution, and out takes what is computed from it. Rows of a stage that
// later stages add to are in sc.stream.
func (d *Decoder) step(wk *nn.Work, sc *Scratch) {
	n, in, out := sc.n, sc.a, sc.b

	x := sc.stream[:n*d.preConv.in]
	d.quantizer.forward(wk, sc, x)
	sc.finite(x, "quantizer")

	sc.fill(&d.preConv, in, x)
	x = sc.stream[:n*d.preConv.outs]
	sc.run(wk, convJob{conv: &d.preConv, x: d.preConv.input(in), dst: buffer{data: x}})
	sc.keep(&d.preConv, in)
	sc.tap("pre_conv", n, x)
	d.transform(wk, sc, x)
	sc.finite(x, "pre_transformer")
	if sc.stops(atTransformer) {
		return
	}

	for i := range d.upsample {
		u := &d.upsample[i]
		sc.fill(&u.up, in, x)
		x = u.forward(wk, sc, in, out, i)
		sc.finite(x, "upsample_%d", i)
		in, out = out, in
	}

	sc.fill(&d.entry, in, x)
	rows := d.expand(wk, sc, &d.entry, in, out)
	sc.tapN(rows, sc.stream[:rows*d.entry.outs], "decoder_%d/conv", 0)
	in, out = out, in
	if sc.stops(atEntry) {
		return
	}
	for i := range d.blocks {
		rows = d.block(wk, sc, i, in, out)
		in, out = out, in
		sc.finite(sc.stream[:rows*d.blocks[i].width], "decoder_%d", i+1)
		if i == 0 && sc.stops(atBlock) {
			return
		}
	}
	d.finish(wk, sc, in, rows)
}

// finish makes the samples.
func (d *Decoder) finish(wk *nn.Work, sc *Scratch, in []float32, rows int) {
	c, last := &d.out.conv, len(d.blocks)+1
	sc.tapN(rows, in[c.left*c.in:][:rows*c.in], "decoder_%d/snake", last)
	sc.out = outJob{out: &d.out, x: c.input(in), spans: sc.spans, rows: rows}
	wk.Run(&sc.out, rows*c.taps*c.in)
	sc.keep(c, in)
	for i := range sc.spans {
		s := &sc.spans[i]
		sc.tapN(len(s.pcm), s.pcm, "decoder_%d/conv_before_clamp", last+1)
		s.finite(s.pcm, "output", nil)
		for i, v := range s.pcm {
			s.pcm[i] = min(max(v, -1), 1)
		}
	}
}

// transform runs the transformer on x [n, latent] in place.
func (d *Decoder) transform(wk *nn.Work, sc *Scratch, x []float32) {
	n := sc.n
	defer clear(sc.rows[:n]) // the scratch outlives the streams, and must not keep their caches
	h := sc.hidden[:n*d.inProj.Out]
	d.inProj.Forward(wk, h, x, n)
	sc.tap("pre_transformer/input_proj", n, h)
	for _, s := range sc.spans {
		for i := range s.frames {
			sc.rows[s.first+i] = nn.Row{Cache: s.state.cache}
		}
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
// the convolution after it. It returns the number of rows made.
func (d *Decoder) expand(wk *nn.Work, sc *Scratch, c *conv, in, out []float32) int {
	sc.open(c.next, out)
	sc.run(wk, convJob{conv: c, x: c.input(in), dst: buffer{data: sc.stream}, act: c.next.input(out)})
	sc.keep(c, in)
	return sc.n * c.rate * c.stride
}

// block runs decoder block i on its input in in. It leaves the block's output in sc.stream, and the input of the next block (or of
// the last convolution) in out; it returns the number of rows.
func (d *Decoder) block(wk *nn.Work, sc *Scratch, i int, in, out []float32) int {
	b := &d.blocks[i]
	rows := sc.n * b.up.rate
	sc.tapN(rows, in[b.up.left*b.up.in:][:rows*b.up.in], "decoder_%d/snake", i+1)
	rows = d.expand(wk, sc, &b.up, in, out)
	stream := sc.stream[:rows*b.width]
	sc.tapN(rows, stream, "decoder_%d/transposed_conv", i+1)
	for j := range b.units {
		c1, c2 := &b.units[j].conv1, &b.units[j].conv2
		sc.open(c2, in)
		h := c2.input(in)
		sc.run(wk, convJob{conv: c1, x: c1.input(out), dst: h, act: h})
		sc.keep(c1, out)
		sc.open(c2.next, out)
		next := c2.next.input(out)
		sc.run(wk, convJob{conv: c2, x: h, dst: next, sum: stream, act: next})
		sc.keep(c2, in)
		sc.tapN(rows, stream, "decoder_%d/residual_%d", i+1, j)
	}
	sc.tapN(rows, stream, "decoder_%d/block", i+1)
	return rows
}
