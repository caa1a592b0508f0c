package nn

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/quant"
)

// Precision is how the matrices of a stack are held and multiplied.
type Precision string

// The precisions. Norms, embeddings, biases and attention are float32 in all of
// them.
const (
	F32     Precision = "f32"      // float32 activations over the checkpoint's own weights
	BF16    Precision = "bf16"     // the same, activations rounded to bfloat16
	Int8    Precision = "int8"     // 8-bit weights per output, 8-bit activations per row
	Int4A16 Precision = "int4-a16" // 4-bit weights in groups, 16-bit activations per group
	Int4A8  Precision = "int4-a8"  // 4-bit weights in groups, 8-bit activations per group
)

// Int4Group is the number of inputs that share scale and zero point: 4.6 bits a
// weight in all. Groups of 128 save 0.3 bits and lose a third more accuracy.
const Int4Group = 64

// Form is what the weights of a precision are packed as: "int8", "int4", or "" for
// those that stay as the checkpoint has them.
func (p Precision) Form() string {
	switch p {
	case Int8:
		return "int8"
	case Int4A16, Int4A8:
		return "int4"
	}
	return ""
}

// Quantize packs a map's weights, which then are no longer views of the checkpoint.
// Weights that are packed already must have the form of the precision.
func (l *Linear) Quantize(p Precision) error { return l.quantize(p, nil) }

// quantize packs with codes chosen by the moments of the inputs, if there are any.
func (l *Linear) quantize(p Precision, moments *quant.Moments) error {
	switch p {
	case F32, BF16, Int8, Int4A16, Int4A8:
	default:
		return fmt.Errorf("nn: precision %q is not known", p)
	}
	l.roundInput, l.narrow = p == BF16, p == Int4A8
	if form := l.form(); form != "" {
		if form != p.Form() {
			return fmt.Errorf("%s: packed as %s, which precision %s cannot use", l.name, form, p)
		}
		return nil
	}
	var err error
	switch p.Form() {
	case "int8":
		l.int8, err = quant.PackInt8(l.Row, l.Out, l.In)
	case "int4":
		err = l.packInt4(moments)
	default:
		return nil
	}
	if err != nil {
		return fmt.Errorf("%s: %w", l.name, err)
	}
	l.f32, l.bf16 = nil, nil
	return nil
}

func (l *Linear) packInt4(moments *quant.Moments) error {
	w, err := quant.PackInt4(l.Row, l.Out, l.In, quant.Int4Options{Group: Int4Group, Refine: true, Moments: moments})
	if err == nil && moments != nil {
		e := &PackingError{}
		e.Power, e.Stored, e.Plain = quant.CompareProducts(l.Row, w, moments)
		l.changed = e
	}
	l.int4 = w
	return err
}

// Row writes row o of the weights, [in], to dst, widened or dequantized.
func (l *Linear) Row(dst []float32, o int) {
	switch {
	case l.int4 != nil:
		quant.Dequantize(dst[:l.In], l.int4, o)
	case l.int8 != nil:
		l.int8.Row(dst[:l.In], o)
	case l.bf16 != nil:
		kernel.WidenBF16(dst[:l.In], l.bf16[o*l.In:(o+1)*l.In])
	default:
		copy(dst[:l.In], l.f32[o*l.In:(o+1)*l.In])
	}
}

// Linears returns all matrices of a stack.
func (s *Stack) Linears() []*Linear {
	var all []*Linear
	for i := range s.layers {
		l := &s.layers[i]
		all = append(all, &l.Q, &l.K, &l.V, &l.O, &l.Gate, &l.Up, &l.Down)
	}
	return all
}

// input is the rows that maps are applied to, in the forms that they need. Each
// form is made once for all maps of a job.
type input struct {
	x           []float32 // [rows, width]
	rows, width int

	u8      []uint8   // [rows, Int8K(width)]
	u8Scale []float32 // [rows]
	u8Zero  []int32   // [rows]

	i16   []int16 // [rows, Int4K(width)]
	i8    []int8  // the same
	scale []float32
	sum   []int32 // [rows, groups], as scale

	bf16 []float32 // [rows, width], rounded

	have struct{ u8, i16, i8, bf16 bool }

	heard func(l *Linear, x []float32, rows int) // told of all rows before a map, or nil
}

// set makes x the input; its other forms are made by prepare.
func (in *input) set(x []float32, rows, width int) *input {
	in.x, in.rows, in.width = x, rows, width
	in.have = struct{ u8, i16, i8, bf16 bool }{}
	return in
}

// prepare makes the form that a map needs.
func (in *input) prepare(l *Linear) *input {
	if in.heard != nil {
		in.heard(l, in.x, in.rows)
	}
	switch {
	case l.int8 != nil && !in.have.u8:
		in.toU8()
	case l.int4 != nil && l.narrow && !in.have.i8:
		in.i8 = grow(in.i8, in.rows*in.groups(l.int4.Group)*l.int4.Group)
		quantizeRows(in, l.int4.Group, in.i8, kernel.QuantizeI8)
		in.have.i8 = true
	case l.int4 != nil && !l.narrow && !in.have.i16:
		in.i16 = grow(in.i16, in.rows*in.groups(l.int4.Group)*l.int4.Group)
		quantizeRows(in, l.int4.Group, in.i16, kernel.QuantizeI16)
		in.have.i16 = true
	case l.roundInput && !in.have.bf16:
		in.bf16 = grow(in.bf16, in.rows*in.width)
		kernel.RoundBF16(in.bf16, in.x[:in.rows*in.width])
		in.have.bf16 = true
	}
	return in
}

func (in *input) groups(group int) int { return (in.width + group - 1) / group }

func (in *input) toU8() {
	kp := kernel.Int8K(in.width)
	in.u8 = grow(in.u8, in.rows*kp)
	in.u8Scale, in.u8Zero = grow(in.u8Scale, in.rows), grow(in.u8Zero, in.rows)
	for r := range in.rows {
		in.u8Scale[r], in.u8Zero[r] = kernel.QuantizeU8(in.u8[r*kp:(r+1)*kp], in.x[r*in.width:(r+1)*in.width])
	}
	in.have.u8 = true
}

// quantizeRows fills q, scale and sum by one of the kernels that quantize in groups.
// The two forms share scale and sum: no input is needed in both.
func quantizeRows[T int8 | int16](in *input, group int, q []T, quantize func(q []T, scale []float32, sum []int32, x []float32, group int)) {
	groups := in.groups(group)
	kp := groups * group
	in.scale, in.sum = grow(in.scale, in.rows*groups), grow(in.sum, in.rows*groups)
	for r := range in.rows {
		quantize(q[r*kp:(r+1)*kp], in.scale[r*groups:(r+1)*groups], in.sum[r*groups:(r+1)*groups], in.x[r*in.width:(r+1)*in.width], group)
	}
}

// grow returns a slice of n values, the same memory if it suffices: a step that is
// no larger than one before allocates nothing.
func grow[T any](s []T, n int) []T {
	if cap(s) < n {
		return make([]T, n)
	}
	return s[:n]
}
