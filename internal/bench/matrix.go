package bench

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/team"
)

// matrix is synthetic weights in one of the forms that a model may hold.
type matrix struct {
	k, outs int
	narrow  bool        // int4 over 8-bit activations
	int4    kernel.Int4 // if Outs is not 0
	int8    []int8      // [panels, Int8K/4, 16, 4]
	scale   []float32   // [outs rounded up to 16], of int8
	sum     []int32     // the same
	bf16    []uint16    // [outs, k]
	f32     []float32   // [outs, k]
}

// newMatrix makes one of a form: a precision of package nn.
func newMatrix(form nn.Precision, k, outs int) *matrix {
	m := &matrix{k: k, outs: outs}
	switch form {
	case nn.Int4A8, nn.Int4A16:
		m.narrow = form == nn.Int4A8
		m.int4 = *kernel.NewInt4(outs, k, nn.Int4Group)
		for i := range m.int4.Codes {
			m.int4.Codes[i] = uint32(i) * 2654435761
		}
		for i := range m.int4.Zero {
			m.int4.Zero[i] = uint8(i % 16)
		}
		fill(m.int4.Scale)
	case nn.Int8:
		padded := (outs + kernel.PanelWidth - 1) / kernel.PanelWidth * kernel.PanelWidth
		m.int8, m.scale, m.sum = make([]int8, padded*kernel.Int8K(k)), make([]float32, padded), make([]int32, padded)
		for i := range m.int8 {
			m.int8[i] = int8(i % 127)
		}
		for i := range m.sum {
			m.sum[i] = int32(i)
		}
		fill(m.scale)
	case nn.BF16:
		m.bf16 = make([]uint16, outs*k)
		for i := range m.bf16 {
			m.bf16[i] = 0x3c00 + uint16(i%128) // about 0.01
		}
	case nn.F32:
		m.f32 = make([]float32, outs*k)
		fill(m.f32)
	default:
		panic(fmt.Sprintf("bench: form %q is not known", form))
	}
	return m
}

// bytes is what one pass reads.
func (m *matrix) bytes() int64 {
	return int64(len(m.int4.Codes)*4 + len(m.int4.Scale)*4 + len(m.int4.Zero) + len(m.int8) + len(m.scale)*4 + len(m.sum)*4 + len(m.bf16)*2 + len(m.f32)*4)
}

// rowScratch is one row of activations in all forms, and a result.
type rowScratch struct {
	x, y   []float32
	i8     []int8
	i16    []int16
	scale  []float32
	sum    []int32
	u8     []uint8
	u8Zero [1]int32
	m      *matrix
}

// newRowScratch is for matrices of up to so many inputs and outputs.
func newRowScratch(k, outs int) *rowScratch {
	s := &rowScratch{
		x: make([]float32, k), y: make([]float32, outs), i8: make([]int8, k), i16: make([]int16, k),
		scale: make([]float32, k/nn.Int4Group), sum: make([]int32, k/nn.Int4Group), u8: make([]uint8, k),
	}
	fill(s.x)
	return s
}

// run multiplies the row by a matrix: the activations are quantized by the caller,
// the outputs shared out among the workers, as in a model.
func (s *rowScratch) run(tm *team.Team, m *matrix) {
	s.m = m
	switch x, groups := s.x[:m.k], m.k/nn.Int4Group; {
	case m.int4.Outs > 0 && m.narrow:
		kernel.QuantizeI8(s.i8[:m.k], s.scale[:groups], s.sum[:groups], x, nn.Int4Group)
	case m.int4.Outs > 0:
		kernel.QuantizeI16(s.i16[:m.k], s.scale[:groups], s.sum[:groups], x, nn.Int4Group)
	case m.int8 != nil:
		s.scale[0], s.u8Zero[0] = kernel.QuantizeU8(s.u8[:m.k], x)
	}
	tm.Run(s)
}

// Part computes a worker's outputs.
func (s *rowScratch) Part(worker, workers int) {
	m := s.m
	lo, hi := team.Split(m.outs, kernel.PanelWidth, worker, workers)
	if lo >= hi {
		return
	}
	y, groups := s.y[lo:], m.k/nn.Int4Group
	switch {
	case m.int4.Outs > 0 && m.narrow:
		w := m.int4.Panel(lo)
		kernel.MatMulInt4A8(y, m.outs, s.i8[:m.k], s.scale[:groups], s.sum[:groups], &w, 1, hi-lo)
	case m.int4.Outs > 0:
		w := m.int4.Panel(lo)
		kernel.MatMulInt4A16(y, m.outs, s.i16[:m.k], s.scale[:groups], s.sum[:groups], &w, 1, hi-lo)
	case m.int8 != nil:
		kernel.MatMulInt8(y, m.outs, s.u8[:m.k], s.scale[:1], s.u8Zero[:], m.int8[lo*m.k:], m.scale[lo:], m.sum[lo:], 1, m.k, hi-lo)
	case m.bf16 != nil:
		kernel.MatMulBF16(y, m.outs, s.x[:m.k], m.k, m.bf16[lo*m.k:hi*m.k], 1, m.k, hi-lo)
	default:
		kernel.MatMulF32(y, m.outs, s.x[:m.k], m.k, m.f32[lo*m.k:hi*m.k], 1, m.k, hi-lo)
	}
}

// measureKernels measures int4 (over 8-bit and 16-bit activations) and int8 single-row
// products over 240 MB and 80 MB in one piece, in turns with reading as much.
func measureKernels(tm *team.Team, memory []float32) []Kernel {
	const k = 1024
	var all []Kernel
	for _, each := range []struct {
		name string
		form nn.Precision
		outs int
	}{{"int4-a8", nn.Int4A8, 410_000}, {"int4-a16", nn.Int4A16, 410_000}, {"int8", nn.Int8, 78_000}} {
		m := newMatrix(each.form, k, each.outs)
		s := newRowScratch(k, each.outs)
		read := newReadJob(memory[:m.bytes()/4])
		times := measureTogether(func() { s.run(tm, m) }, func() { tm.Run(read) })
		all = append(all, Kernel{
			Name: each.name, Bytes: m.bytes(), GBs: float64(m.bytes()) / float64(times[0].Shortest),
			Share: float64(times[1].Shortest) / float64(times[0].Shortest),
		})
	}
	return all
}

// Kernel is the speed of a single-row product, the best of several runs like the
// read speed that it is compared with.
type Kernel struct {
	Name  string  `json:"name"`
	Bytes int64   `json:"bytes"`
	GBs   float64 `json:"gb_per_s"`
	Share float64 `json:"share_of_read_speed"` // measured in turns
}
