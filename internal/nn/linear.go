package nn

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/quant"
	"github.com/mynah-tts/mynah/internal/safetensors"
	"github.com/mynah-tts/mynah/internal/team"
)

// outGrain is the number of outputs that one register tile of the matrix kernels
// covers; workers split a matrix at its multiples.
const outGrain = 16

// Linear is y = x W^T + b. The weights are in exactly one form: a view of the
// checkpoint in the type that it stores, or packed, by Quantize or in a packed file.
type Linear struct {
	In, Out int
	name    string       // in the checkpoint, without ".weight"
	f32     []float32    // [out, in]
	bf16    []uint16     // [out, in], bfloat16 bits
	int8    *quant.Int8  // [out, in]
	int4    *kernel.Int4 // [out, in]
	bias    []float32    // [out], or nil

	changed    *PackingError // of packing here by the moments of inputs, or nil
	narrow     bool          // int4 over 8-bit activations, not 16-bit ones
	roundInput bool          // activations are rounded to bfloat16
}

// LoadLinear takes name.weight [out, in] or its packed form, and name.bias [out] if
// there is a bias, from a checkpoint.
func LoadLinear(w *safetensors.Set, name string, in, out int, bias bool) (Linear, error) {
	l := Linear{In: in, Out: out, name: name}
	packed, err := l.loadPacked(w)
	if err == nil && !packed {
		l.f32, l.bf16, err = loadMatrix(w, name+".weight", out, in)
	}
	if err == nil {
		err = l.hasValues(w)
	}
	if err == nil && !packed && l.looksEmpty() {
		info, _ := w.Info(name + ".weight")
		err = &safetensors.TensorError{File: info.File, Tensor: name + ".weight", Problem: "values", Found: "zeros only", Wanted: "trained weights"}
	}
	if err != nil {
		return l, err
	}
	if bias {
		l.bias, err = w.Widen(name+".bias", out)
	}
	return l, err
}

// hasValues refuses a matrix without inputs or outputs. Such a tensor is well formed, and
// a size that the caller has from a tensor's shape may be 0.
func (l *Linear) hasValues(w *safetensors.Set) error {
	if l.In > 0 && l.Out > 0 {
		return nil
	}
	err := &safetensors.TensorError{Tensor: l.name + ".weight", Problem: "shape", Wanted: "at least one input and one output"}
	for _, form := range []string{".weight", int4Codes, int8Codes} {
		if info, ok := w.Info(l.name + form); ok {
			err.File, err.Tensor, err.Found = info.File, info.Name, fmt.Sprint(info.Shape)
			break
		}
	}
	return err
}

// looksEmpty reports whether the first, the middle and the last row are zero: so are
// those of a tensor whose data never arrived. Single rows of zeros are trained ones.
func (l *Linear) looksEmpty() bool {
	row := make([]float32, l.In)
	for _, o := range []int{0, l.Out / 2, l.Out - 1} {
		l.Row(row, o)
		for _, v := range row {
			if v != 0 {
				return false
			}
		}
	}
	return true
}

// loadMatrix returns a view of a float32 or bfloat16 tensor.
func loadMatrix(w *safetensors.Set, name string, shape ...int) (f32 []float32, bf16 []uint16, err error) {
	if info, ok := w.Info(name); ok && info.DType == safetensors.BF16 {
		bf16, err = w.BF16(name, shape...)
		return nil, bf16, err
	}
	f32, err = w.F32(name, shape...)
	return f32, nil, err
}

// NewLinear makes a Linear of float32 weights [out, in] and an optional bias [out].
func NewLinear(weight, bias []float32, in, out int) Linear {
	if len(weight) != in*out || bias != nil && len(bias) != out {
		panic(fmt.Sprintf("nn: linear %d to %d: %d weights, %d biases", in, out, len(weight), len(bias)))
	}
	return Linear{In: in, Out: out, f32: weight, bias: bias}
}

// Forward computes dst [rows, out] from x [rows, in].
func (l *Linear) Forward(wk *Work, dst, x []float32, rows int) {
	wk.lin = linearJob{in: wk.in.set(x, rows, l.In).prepare(l), n: 1}
	wk.lin.to[0] = linearOut{l: l, dst: dst}
	wk.Run(&wk.lin, rows*l.In*l.Out)
}

// ForwardAdd computes y = x W^T + b into dst [rows, out] and adds it to residual
// [rows, out], times scale [out] if that is not nil.
func (l *Linear) ForwardAdd(wk *Work, residual, dst, x []float32, rows int, scale []float32) {
	wk.lin = linearJob{in: wk.in.set(x, rows, l.In).prepare(l), n: 1, residual: residual, scale: scale}
	wk.lin.to[0] = linearOut{l: l, dst: dst}
	wk.Run(&wk.lin, rows*l.In*l.Out)
}

// rowsInto computes outputs lo..hi-1 of every row; lo is a multiple of outGrain.
func (l *Linear) rowsInto(dst []float32, in *input, lo, hi int) {
	if lo >= hi {
		return
	}
	switch rows := in.rows; {
	case l.int8 != nil:
		m, kp := l.int8, kernel.Int8K(l.In)
		kernel.MatMulInt8(dst[lo:], l.Out, in.u8, in.u8Scale, in.u8Zero, m.Codes[lo*kp:], m.Scale[lo:], m.Sum[lo:], rows, l.In, hi-lo)
	case l.int4 != nil && l.narrow:
		w := l.int4.Panel(lo)
		kernel.MatMulInt4A8(dst[lo:], l.Out, in.i8, in.scale, in.sum, &w, rows, hi-lo)
	case l.int4 != nil:
		w := l.int4.Panel(lo)
		kernel.MatMulInt4A16(dst[lo:], l.Out, in.i16, in.scale, in.sum, &w, rows, hi-lo)
	default:
		l.floatRows(dst, in, lo, hi)
	}
	if l.bias != nil {
		for r := range in.rows {
			kernel.AddF32(dst[r*l.Out+lo:r*l.Out+hi], l.bias[lo:hi])
		}
	}
}

// floatRows is rowsInto over the checkpoint's own weights.
func (l *Linear) floatRows(dst []float32, in *input, lo, hi int) {
	x := in.x
	if l.roundInput {
		x = in.bf16
	}
	if l.bf16 != nil {
		kernel.MatMulBF16(dst[lo:], l.Out, x, l.In, l.bf16[lo*l.In:hi*l.In], in.rows, l.In, hi-lo)
		return
	}
	kernel.MatMulF32(dst[lo:], l.Out, x, l.In, l.f32[lo*l.In:hi*l.In], in.rows, l.In, hi-lo)
}

// linearOut is one of the maps that a linearJob applies to the same input.
type linearOut struct {
	l   *Linear
	dst []float32 // [rows, out]
}

// linearJob applies up to three maps to one input in a single round of the team,
// or one map with a residual sum behind it.
type linearJob struct {
	in              *input
	n               int
	to              [3]linearOut
	residual, scale []float32 // [rows, out] and [out], or nil
}

func (j *linearJob) Part(worker, workers int) {
	for i := range j.n {
		l, dst := j.to[i].l, j.to[i].dst
		lo, hi := team.Split(l.Out, outGrain, worker, workers)
		l.rowsInto(dst, j.in, lo, hi)
		if j.residual == nil {
			continue
		}
		for r := range j.in.rows {
			from, to := r*l.Out+lo, r*l.Out+hi
			if j.scale != nil {
				kernel.MulAddF32(j.residual[from:to], dst[from:to], j.scale[lo:hi])
			} else {
				kernel.AddF32(j.residual[from:to], dst[from:to])
			}
		}
	}
}

// mlpJob computes silu(gate(x)) * up(x): each worker finishes its own columns.
type mlpJob struct {
	in       *input
	gate, up []float32 // [rows, out]; the result goes into gate
	lg, lu   *Linear
}

func (j *mlpJob) Part(worker, workers int) {
	width := j.lg.Out
	lo, hi := team.Split(width, outGrain, worker, workers)
	j.lg.rowsInto(j.gate, j.in, lo, hi)
	j.lu.rowsInto(j.up, j.in, lo, hi)
	for r := range j.in.rows {
		gate := j.gate[r*width+lo : r*width+hi]
		kernel.SiLUMulF32(gate, gate, j.up[r*width+lo:r*width+hi])
	}
}
