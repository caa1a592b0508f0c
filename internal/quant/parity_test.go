package quant_test

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"testing"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/internal/quant"
)

// relativeRMS is the tolerance of the goldens for values and outputs.
const relativeRMS = 1e-5

func golden(t *testing.T) *paritytest.Tensors {
	t.Helper()
	return paritytest.Open(t, filepath.Join(paritytest.Root(t), "golden", "quant"), "quant.safetensors")
}

func checkRMS(t *testing.T, what string, got, want []float32, bound float64) {
	t.Helper()
	if e := rms(got, want); !(e <= bound) {
		t.Errorf("%s: relative rms difference %.2g, allowed %.2g", what, e, bound)
	}
}

func rms(got, want []float32) float64 {
	var diff, total float64
	for i := range want {
		d := float64(got[i]) - float64(want[i])
		diff += d * d
		total += float64(want[i]) * float64(want[i])
	}
	return math.Sqrt(diff / total)
}

// TestParityInt4 checks codes, nibbles in the goldens' order, dequantised values and
// outputs of the integer-zero scheme at every group size.
func TestParityInt4(t *testing.T) {
	g := golden(t)
	shape := g.Shape(t, "weight")
	outs, k := shape[0], shape[1]
	w, x := g.F32(t, "weight"), g.F32(t, "x8")
	rows := len(x) / k
	for _, group := range []int{32, 64, 128} {
		key := fmt.Sprintf("int4/integer_zero/g%d/", group)
		packed, err := quant.PackInt4(func(dst []float32, o int) { copy(dst, w[o*k:]) }, outs, k, quant.Int4Options{Group: group})
		if err != nil {
			t.Fatal(err)
		}
		var nibbles []byte
		values := make([]float32, outs*k)
		for o := range outs {
			quant.Dequantize(values[o*k:(o+1)*k], packed, o)
			for i := 0; i < k; i += 2 {
				low, _, _ := packed.Code(o, i)
				high, _, _ := packed.Code(o, i+1)
				nibbles = append(nibbles, low|high<<4)
			}
		}
		if want := g.U8(t, key+"packed"); !bytes.Equal(nibbles, want) {
			t.Errorf("%s: nibbles differ", key)
		}
		checkRMS(t, key+"dequantised", values, g.F32(t, key+"dequantised"), relativeRMS)
		y := make([]float32, rows*outs)
		kernel.MatMulF32(y, outs, x, k, values, rows, k, outs)
		checkRMS(t, key+"y8", y, g.F32(t, key+"y8"), relativeRMS)
		// Sixteen bits of activation add their own rounding: one part in 32767 of a
		// group's peak, so a little more than the goldens' bound.
		checkRMS(t, key+"y8 over 16-bit activations", a16(packed, x, rows), g.F32(t, key+"y8"), 5e-5)
	}
}

func a16(w *kernel.Int4, x []float32, rows int) []float32 {
	kp := kernel.Int4K(w.K, w.Group)
	groups := kp / w.Group
	q, scale, sum := make([]int16, rows*kp), make([]float32, rows*groups), make([]int32, rows*groups)
	for r := range rows {
		kernel.QuantizeI16(q[r*kp:(r+1)*kp], scale[r*groups:(r+1)*groups], sum[r*groups:(r+1)*groups], x[r*w.K:(r+1)*w.K], w.Group)
	}
	y := make([]float32, rows*w.Outs)
	kernel.MatMulInt4A16(y, w.Outs, q, scale, sum, w, rows, w.Outs)
	return y
}

// TestParityInt8 checks the outputs of dynamic int8 over the goldens' weight codes
// with 8-bit activations per row, and that ours are as good against float32.
func TestParityInt8(t *testing.T) {
	g := golden(t)
	shape := g.Shape(t, "weight")
	outs, k := shape[0], shape[1]
	x, bias := g.F32(t, "x8"), g.F32(t, "int8/bias")
	rows := len(x) / k
	const key = "int8/per_channel/"
	codes := make([]int8, outs*k)
	copy(codes, g.I8(t, key+"weight_codes"))
	m := &quant.Int8{K: k, Outs: outs, Codes: kernel.PackInt8(codes, outs, k), Scale: g.F32(t, key+"weight_scale"), Sum: make([]int32, outs)}
	for o := range outs {
		for _, c := range codes[o*k : (o+1)*k] {
			m.Sum[o] += int32(c)
		}
	}
	y, scale, zero := int8Rows(m, x, rows, bias)
	checkRMS(t, "y8", y, g.F32(t, key+"y8_activation_per_row_256_levels"), relativeRMS)
	paritytest.Close(t, "activation scale", scale, g.F32(t, key+"activation_scale_row_256_levels"), 1e-7)
	paritytest.Equal(t, "activation zero", zero, g.I32(t, key+"activation_zero_row_256_levels"))

	w := g.F32(t, "weight")
	own, err := quant.PackInt8(func(dst []float32, o int) { copy(dst, w[o*k:]) }, outs, k)
	if err != nil {
		t.Fatal(err)
	}
	y, _, _ = int8Rows(own, x, rows, bias)
	// The goldens' best scheme (weights per channel, 8-bit activations per row) has
	// 0.0166 against float32.
	checkRMS(t, "own codes against float32", y, g.F32(t, "int8/y8_float"), 0.0175)
}

func int8Rows(m *quant.Int8, x []float32, rows int, bias []float32) (y, scale []float32, zero []int32) {
	kp := kernel.Int8K(m.K)
	q := make([]uint8, rows*kp)
	scale, zero = make([]float32, rows), make([]int32, rows)
	for r := range rows {
		scale[r], zero[r] = kernel.QuantizeU8(q[r*kp:(r+1)*kp], x[r*m.K:(r+1)*m.K])
	}
	y = make([]float32, rows*m.Outs)
	kernel.MatMulInt8(y, m.Outs, q, scale, zero, m.Codes, m.Scale, m.Sum, rows, m.K, m.Outs)
	for r := range rows {
		kernel.AddF32(y[r*m.Outs:(r+1)*m.Outs], bias)
	}
	return y, scale, zero
}

// TestRefine checks that the refined grid is on the whole better than minimum and
// maximum, by some 7 % of the squared error on normal weights, 2 % on the goldens, that no group is
// worse by more than the rounding of its scale, a sixteenth at most, can make it, and
// that all its weights are bfloat16 numbers.
func TestRefine(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	normal := make([]float32, 1<<16)
	for i := range normal {
		normal[i] = float32(rng.NormFloat64())
	}
	for name, c := range map[string]struct {
		w     []float32
		bound float64
	}{"goldens": {golden(t).F32(t, "weight"), 0.99}, "normal": {normal, 0.94}} {
		for _, group := range []int{64, 128} {
			var plain, refined float64
			codes := make([]uint8, group)
			for from := 0; from < len(c.w); from += group {
				p, r := groupError(codes, c.w[from:from+group], false), groupError(codes, c.w[from:from+group], true)
				if part := c.w[from : from+group]; r > p+float64(kernel.SumSquaresF32(part))/256 {
					t.Fatalf("%s, group at %d: refined error %g, plain %g", name, from, r, p)
				}
				plain, refined = plain+p, refined+r
			}
			if refined > c.bound*plain {
				t.Errorf("%s, groups of %d: refined error is %.3f of the plain one, wanted %.2f", name, group, refined/plain, c.bound)
			}
		}
	}
}

func groupError(codes []uint8, w []float32, refine bool) (sum float64) {
	scale, zero := quant.Int4Group(codes, w, refine)
	for i, v := range w {
		e := float64(v) - float64(int(codes[i])-int(zero))*float64(scale)
		sum += e * e
	}
	for _, q := range codes[:len(w)] {
		if v := float32(int(q)-int(zero)) * scale; refine && math.Float32bits(v)&0xFFFF != 0 {
			panic(fmt.Sprintf("scale %g, zero %d: weight %g is no bfloat16 number", scale, zero, v))
		}
	}
	return sum
}
