package codec

import (
	"fmt"
	"strings"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// Precision is how the decoder holds its matrices and multiplies by them. Codebooks, their projections, depthwise convolutions, norms,
// attention, activations and the last convolution are float32 in all of them.
type Precision string

// The precisions.
const (
	F32  Precision = "f32"  // the checkpoint's weights, widened
	BF16 Precision = "bf16" // weights rounded to bfloat16; float32 activations, but bfloat16 ones where the CPU has dot products of them
	Int8 Precision = "int8" // 8-bit weights per output, 8-bit activations per row; sums are exact
)

// Precisions are the names of all of them.
var Precisions = []string{string(F32), string(BF16), string(Int8)}

// Quantize packs the weights for a precision. Weights that a packed file holds must be of that precision. It must come before
// NewScratch, which otherwise packs for F32, and before any stream.
func (d *Decoder) Quantize(p Precision) error {
	switch p {
	case F32, BF16, Int8:
	default:
		return fmt.Errorf("codec: precision is %q, allowed are %s", p, strings.Join(Precisions, ", "))
	}
	if d.precision != "" {
		if d.precision != p {
			return fmt.Errorf("codec: packed as %s, precision %s was asked for", d.precision, p)
		}
		return nil
	}
	for _, c := range d.packable() {
		if form := c.form(); form != "" && form != c.precision(p) {
			return fmt.Errorf("codec: %s: packed as %s, precision %s was asked for", c.name, form, p)
		}
	}
	for _, c := range d.packable() {
		if err := c.pack(c.precision(p)); err != nil {
			return fmt.Errorf("codec: %w", err)
		}
	}
	for _, l := range d.linears() {
		switch p {
		case BF16:
			l.Round()
		case Int8:
			if err := l.Quantize(nn.Int8); err != nil {
				return fmt.Errorf("codec: %w", err)
			}
		}
	}
	for _, c := range d.packable() {
		if p == BF16 && d.dots {
			c.pair()
		}
		if c.tileable() && !d.plain {
			c.evaluate()
		}
	}
	d.precision = p
	return nil
}

// precision is what a convolution is packed as at a precision of the whole. Where many rows are multiplied by few weights, bfloat16
// would save no time: reading is nothing beside multiplying, and widening comes on top. Those stay exact, but where there are dot
// products of bfloat16, which multiply twice as much at a time.
func (c *conv) precision(p Precision) Precision {
	if p == BF16 && c.rate >= exactRows {
		return F32
	}
	return p
}

// exactRows is the number of rows of a frame from which on weights are float32 at bf16: 7 % of the published weights.
const exactRows = 100

// settle packs for F32 if no Quantize came, or takes the precision of a packed file.
func (d *Decoder) settle() {
	for _, p := range []Precision{F32, BF16, Int8} {
		if d.precision != "" {
			return
		}
		_ = d.Quantize(p) // which fails for the precisions that a packed file is not of
	}
}

// Precision is what the weights are packed as, "" before that.
func (d *Decoder) Precision() Precision { return d.precision }

// packable returns the convolutions that are packed.
func (d *Decoder) packable() []*conv {
	all := []*conv{&d.preConv}
	for i := range d.upsample {
		all = append(all, &d.upsample[i].up)
	}
	all = append(all, &d.entry)
	for i := range d.blocks {
		b := &d.blocks[i]
		all = append(all, &b.up)
		for j := range b.units {
			all = append(all, &b.units[j].conv1, &b.units[j].conv2)
		}
	}
	return all
}

// linears returns the linear maps that are packed.
func (d *Decoder) linears() []*nn.Linear {
	all := append([]*nn.Linear{&d.inProj}, d.stack.Linears()...)
	all = append(all, &d.outProj)
	for i := range d.upsample {
		all = append(all, &d.upsample[i].pw1, &d.upsample[i].pw2)
	}
	return all
}

// Export returns the packed weights as tensors that LoadDecoder takes, and the names of the checkpoint's tensors that they stand
// for.
func (d *Decoder) Export() (tensors []safetensors.Tensor, instead []string) {
	for _, c := range d.packable() {
		tensors, instead = append(tensors, c.export()...), append(instead, c.name+".weight")
	}
	for _, l := range d.linears() {
		packed := l.Export()
		if t, ok := l.Rounded(); ok {
			packed = append(packed, t)
		}
		if packed != nil {
			tensors, instead = append(tensors, packed...), append(instead, l.Name()+".weight")
		}
	}
	return tensors, instead
}
