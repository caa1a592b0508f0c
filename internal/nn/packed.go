package nn

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/quant"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// PackingVersion changes with everything that changes packed weights: the choice of
// codes, which heads are packed as what, the layout of the kernels, the names below.
const PackingVersion = 2

// Names of a packed matrix's tensors, behind the name of the map. The shapes are those
// of kernel.Int4 and quant.Int8.
const (
	int4Codes = ".int4.codes" // U32 [panels, inputs/8, 16]
	int4Scale = ".int4.scale" // F32 [panels, groups, 16]
	int4Zero  = ".int4.zero"  // U8 [panels, groups, 16]
	int8Codes = ".int8.codes" // I8 [panels, inputs/4, 16, 4]
	int8Scale = ".int8.scale" // F32 [panels, 16]
	int8Sum   = ".int8.sum"   // I32 [panels, 16]
)

// Name returns the name of the map in the checkpoint.
func (l *Linear) Name() string { return l.name }

// form is what the weights are packed as, "" for those of the checkpoint.
func (l *Linear) form() string {
	switch {
	case l.int8 != nil:
		return "int8"
	case l.int4 != nil:
		return "int4"
	}
	return ""
}

// Export returns the tensors of packed weights, none for those of the checkpoint.
func (l *Linear) Export() []safetensors.Tensor {
	const width = kernel.PanelWidth
	panels := (l.Out + width - 1) / width
	switch {
	case l.int4 != nil:
		kp := kernel.Int4K(l.In, Int4Group)
		return []safetensors.Tensor{
			{Name: l.name + int4Codes, DType: safetensors.U32, Shape: []int{panels, kp / kernel.Int4Block, width}, Data: safetensors.Values(l.int4.Codes)},
			{Name: l.name + int4Scale, DType: safetensors.F32, Shape: []int{panels, kp / Int4Group, width}, Data: safetensors.Values(l.int4.Scale)},
			{Name: l.name + int4Zero, DType: safetensors.U8, Shape: []int{panels, kp / Int4Group, width}, Data: safetensors.Bytes(l.int4.Zero)},
		}
	case l.int8 != nil:
		return []safetensors.Tensor{
			{Name: l.name + int8Codes, DType: safetensors.I8, Shape: []int{panels, kernel.Int8K(l.In) / 4, width, 4}, Data: safetensors.Values(l.int8.Codes)},
			{Name: l.name + int8Scale, DType: safetensors.F32, Shape: []int{panels, width}, Data: safetensors.Values(l.int8.Scale)},
			{Name: l.name + int8Sum, DType: safetensors.I32, Shape: []int{panels, width}, Data: safetensors.Values(l.int8.Sum)},
		}
	}
	return nil
}

// loadPacked takes packed weights from a checkpoint, as views; false if it has none.
func (l *Linear) loadPacked(w *safetensors.Set) (bool, error) {
	if _, ok := w.Info(l.name + int4Codes); ok {
		return true, l.loadInt4(w)
	}
	if _, ok := w.Info(l.name + int8Codes); ok {
		return true, l.loadInt8(w)
	}
	return false, nil
}

func (l *Linear) loadInt4(w *safetensors.Set) error {
	const width = kernel.PanelWidth
	panels, kp := (l.Out+width-1)/width, kernel.Int4K(l.In, Int4Group)
	m := &kernel.Int4{K: l.In, Outs: l.Out, Group: Int4Group}
	var err error
	if m.Codes, err = w.U32(l.name+int4Codes, panels, kp/kernel.Int4Block, width); err != nil {
		return err
	}
	if m.Scale, err = w.F32(l.name+int4Scale, panels, kp/Int4Group, width); err != nil {
		return err
	}
	if m.Zero, err = w.U8(l.name+int4Zero, panels, kp/Int4Group, width); err != nil {
		return err
	}
	l.int4 = m
	return finiteScale(l.name+int4Scale, m.Scale)
}

func (l *Linear) loadInt8(w *safetensors.Set) error {
	const width = kernel.PanelWidth
	panels := (l.Out + width - 1) / width
	m := &quant.Int8{K: l.In, Outs: l.Out}
	var err error
	if m.Codes, err = w.I8(l.name+int8Codes, panels, kernel.Int8K(l.In)/4, width, 4); err != nil {
		return err
	}
	if m.Scale, err = w.F32(l.name+int8Scale, panels, width); err != nil {
		return err
	}
	if m.Sum, err = w.I32(l.name+int8Sum, panels, width); err != nil {
		return err
	}
	l.int8 = m
	return finiteScale(l.name+int8Scale, m.Scale)
}

func finiteScale(name string, scale []float32) error {
	if i := kernel.FirstNonFinite(scale); i >= 0 {
		return fmt.Errorf("%s: element %d is %v, wanted finite numbers", name, i, scale[i])
	}
	return nil
}

// PackingError is what packing changes, as sums of squares: of weights, or of products
// with the inputs where codes were chosen by them.
type PackingError struct {
	Power  float64 // of the weights or products
	Stored float64 // of what the packed weights miss
	Plain  float64 // of what a grid from minimum to maximum would miss; Stored for int8
}

// Add adds the sums of another matrix.
func (e *PackingError) Add(other PackingError) {
	e.Power, e.Stored, e.Plain = e.Power+other.Power, e.Stored+other.Stored, e.Plain+other.Plain
}

// ErrorOf compares packed weights with those that they were packed from.
func (l *Linear) ErrorOf(original *Linear) PackingError {
	if l.changed != nil {
		return *l.changed
	}
	var e PackingError
	e.Power, e.Stored = quant.Compare(original.Row, l.Row, l.Out, l.In)
	e.Plain = e.Stored
	if l.int4 != nil {
		e.Plain = quant.PlainInt4Error(original.Row, l.Out, l.In, Int4Group)
	}
	return e
}

// Packed reports whether the weights are packed.
func (l *Linear) Packed() bool { return l.form() != "" }
