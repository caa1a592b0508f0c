package kernel

import (
	"bytes"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/mynah-tts/mynah/internal/cpu"
)

// quantCase is a random quantized product of some size.
type quantCase struct {
	rows, k, outs, group int
	x                    []float32 // [rows, k]
	w4                   *Int4
	w8                   []int8
	scale8               []float32
	sum8                 []int32
}

func newQuantCase(rng *rand.Rand, rows, k, outs, group int) *quantCase {
	c := &quantCase{rows: rows, k: k, outs: outs, group: group, x: make([]float32, rows*k)}
	for i := range c.x {
		c.x[i] = float32(rng.NormFloat64() * math.Exp(rng.NormFloat64()))
	}
	groups := Int4K(k, group) / group
	codes, zero := make([]uint8, outs*k), make([]uint8, outs*groups)
	scale := make([]float32, outs*groups)
	for i := range codes {
		codes[i] = uint8(rng.IntN(16))
	}
	for i := range scale {
		scale[i], zero[i] = float32(rng.Float64()), uint8(rng.IntN(16))
	}
	c.w4 = NewInt4(outs, k, group)
	for o := range outs {
		for g := range groups {
			from, to := g*group, min((g+1)*group, k)
			c.w4.Set(o, from, codes[o*k+from:o*k+to], scale[o*groups+g], zero[o*groups+g])
		}
	}
	w8 := make([]int8, outs*k)
	padded := (outs + PanelWidth - 1) / PanelWidth * PanelWidth
	c.scale8, c.sum8 = make([]float32, padded), make([]int32, padded)
	for o := range outs {
		c.scale8[o] = float32(rng.Float64())
		for i := range k {
			w8[o*k+i] = int8(rng.IntN(255) - 127)
			if i < 64 { // the extremes, where 16 bits could saturate
				w8[o*k+i] = 127
			}
			c.sum8[o] += int32(w8[o*k+i])
		}
	}
	c.w8 = PackInt8(w8, outs, k)
	return c
}

// products returns the three products of rows r0 to r1-1, outputs from o0 (a multiple of 16) on, [rows, outs-o0].
func (c *quantCase) products(r0, r1, o0 int) (a16, a8, u8 []float32) {
	rows, outs := r1-r0, c.outs-o0
	kp, kp8 := Int4K(c.k, c.group), Int8K(c.k)
	groups := kp / c.group
	q16, q8, qu := make([]int16, rows*kp), make([]int8, rows*kp), make([]uint8, rows*kp8)
	s16, s8, su := make([]float32, rows*groups), make([]float32, rows*groups), make([]float32, rows)
	z16, z8, zu := make([]int32, rows*groups), make([]int32, rows*groups), make([]int32, rows)
	for r := range rows {
		x := c.x[(r0+r)*c.k : (r0+r+1)*c.k]
		QuantizeI16(q16[r*kp:(r+1)*kp], s16[r*groups:(r+1)*groups], z16[r*groups:(r+1)*groups], x, c.group)
		QuantizeI8(q8[r*kp:(r+1)*kp], s8[r*groups:(r+1)*groups], z8[r*groups:(r+1)*groups], x, c.group)
		su[r], zu[r] = QuantizeU8(qu[r*kp8:(r+1)*kp8], x)
	}
	a16, a8, u8 = make([]float32, rows*outs), make([]float32, rows*outs), make([]float32, rows*outs)
	w := c.w4.Panel(o0)
	MatMulInt4A16(a16, outs, q16, s16, z16, &w, rows, outs)
	MatMulInt4A8(a8, outs, q8, s8, z8, &w, rows, outs)
	MatMulInt8(u8, outs, qu, su, zu, c.w8[o0*kp8:], c.scale8[o0:], c.sum8[o0:], rows, c.k, outs)
	return a16, a8, u8
}

func levels() []cpu.Level {
	var all []cpu.Level
	for l := cpu.Generic; l <= bestLevel(); l++ {
		all = append(all, l)
	}
	return all
}

// TestMatMulQuantized checks that every level gives the generic twin's bits at all sizes, alone and among other rows and outputs.
func TestMatMulQuantized(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for _, size := range [][4]int{
		{1, 1, 1, 8}, {1, 7, 5, 8}, {2, 8, 16, 8}, {3, 33, 17, 16}, {4, 64, 15, 64}, {5, 100, 48, 64}, {6, 130, 33, 128}, {9, 256, 31, 32},
		{8, 512, 16, 512}, {1, 1000, 40, 64}, {7, 96, 64, 24}, {11, 40, 7, 40}, {13, 1100, 40, 64}, {6, 1030, 16, 512},
		{5, 40, 20, 8}, {12, 130, 33, 8}, {10, 1000, 31, 16}, {4, 3000, 17, 512},
	} {
		c := newQuantCase(rng, size[0], size[1], size[2], size[3])
		restore := SetLevel(cpu.Generic)
		want16, want8, wantU := c.products(0, c.rows, 0)
		restore()
		for _, l := range levels() {
			t.Run(fmt.Sprintf("%v/%v", l, size), func(t *testing.T) {
				defer SetLevel(l)()
				a16, a8, u8 := c.products(0, c.rows, 0)
				sameBits(t, "int4 over 16 bits", a16, want16)
				sameBits(t, "int4 over 8 bits", a8, want8)
				sameBits(t, "int8", u8, wantU)
				for r := range c.rows {
					for o := 0; o < c.outs; o += PanelWidth {
						a16, a8, u8 := c.products(r, r+1, o)
						from, to := r*c.outs+o, (r+1)*c.outs
						sameBits(t, "int4 over 16 bits, alone", a16, want16[from:to])
						sameBits(t, "int4 over 8 bits, alone", a8, want8[from:to])
						sameBits(t, "int8, alone", u8, wantU[from:to])
					}
				}
			})
		}
	}
}

// TestInt4Extremes has sums of a group near their bounds: all codes the largest, all activations the largest or the smallest.
func TestInt4Extremes(t *testing.T) {
	const rows, k, outs, group = 5, MaxGroup, 20, MaxGroup
	w := NewInt4(outs, k, group)
	codes := bytes.Repeat([]byte{15}, k)
	for o := range outs {
		w.Set(o, 0, codes, 1, 0)
	}
	eachLevel(t, func(t *testing.T) {
		for _, sign := range []int{1, -1} {
			x16, x8 := make([]int16, rows*k), make([]int8, rows*k)
			for i := range x16 {
				x16[i], x8[i] = int16(sign*math.MaxInt16), int8(sign*math.MaxInt8)
			}
			scale, sum := ones(rows), make([]int32, rows)
			dst16, dst8 := make([]float32, rows*outs), make([]float32, rows*outs)
			MatMulInt4A16(dst16, outs, x16, scale, sum, w, rows, outs)
			MatMulInt4A8(dst8, outs, x8, scale, sum, w, rows, outs)
			for i := range dst16 {
				if want := float32(15 * k * sign * math.MaxInt16); dst16[i] != want {
					t.Fatalf("16 bits: [%d] is %v, wanted %v", i, dst16[i], want)
				}
				if want := float32(15 * k * sign * math.MaxInt8); dst8[i] != want {
					t.Fatalf("8 bits: [%d] is %v, wanted %v", i, dst8[i], want)
				}
			}
		}
	})
}

func sameBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	for i := range want {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: [%d] is %g, wanted %g", what, i, got[i], want[i])
		}
	}
}

// TestQuantizedError checks the products against float64 over the dequantised weights: what is lost is the rounding of the
// activations alone.
func TestQuantizedError(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	c := newQuantCase(rng, 4, 1024, 64, 64)
	a16, a8, _ := c.products(0, c.rows, 0)
	var exact, off16, off8 float64
	for r := range c.rows {
		for o := range c.outs {
			var sum float64
			for i := range c.k {
				q, scale, zero := c.w4.Code(o, i)
				sum += float64(c.x[r*c.k+i]) * float64(int(q)-int(zero)) * float64(scale)
			}
			exact += sum * sum
			off16 += (float64(a16[r*c.outs+o]) - sum) * (float64(a16[r*c.outs+o]) - sum)
			off8 += (float64(a8[r*c.outs+o]) - sum) * (float64(a8[r*c.outs+o]) - sum)
		}
	}
	if e := math.Sqrt(off16 / exact); e > 1e-4 {
		t.Errorf("16-bit activations: relative rms error %.2g, allowed 1e-4", e)
	}
	if e := math.Sqrt(off8 / exact); e > 2.5e-2 {
		t.Errorf("8-bit activations: relative rms error %.2g, allowed 0.025", e)
	}
}

// TestQuantizeNonFinite checks that NaN and infinity in a row show in every product of it.
func TestQuantizeNonFinite(t *testing.T) {
	for _, bad := range []float64{math.NaN(), math.Inf(1), math.Inf(-1)} {
		for _, at := range []int{0, 5, 63} {
			c := newQuantCase(rand.New(rand.NewPCG(7, 8)), 1, 64, 16, 64)
			c.x[at] = float32(bad)
			a16, a8, u8 := c.products(0, 1, 0)
			for o := range c.outs {
				if a16[o] == a16[o] || a8[o] == a8[o] || u8[o] == u8[o] {
					t.Fatalf("%v at %d: output %d is %g, %g, %g", bad, at, o, a16[o], a8[o], u8[o])
				}
			}
		}
	}
}

// TestQuantize checks that every level gives the generic twin's codes, scales and sums, at all lengths.
func TestQuantize(t *testing.T) {
	rng := rand.New(rand.NewPCG(11, 12))
	for n := 1; n <= 300; n++ {
		x := make([]float32, n)
		for i := range x {
			x[i] = float32(rng.NormFloat64() * math.Exp(2*rng.NormFloat64()))
			switch rng.IntN(40) {
			case 0:
				x[i] = 0
			case 1:
				x[i] = float32(math.Copysign(math.SmallestNonzeroFloat32, rng.NormFloat64()))
			}
		}
		if n%7 == 0 {
			clear(x)
		}
		if n%11 == 0 {
			for i := range x {
				x[i] = float32(math.Abs(float64(x[i])))
			}
		}
		for _, group := range []int{8, 24, 64} {
			want := quantizeAll(cpu.Generic, x, group)
			for _, l := range levels() {
				if got := quantizeAll(l, x, group); got != want {
					t.Fatalf("%v: %d values, groups of %d:\n%s\nwanted\n%s", l, n, group, got, want)
				}
			}
		}
	}
}

// quantizeAll returns everything that the three forms of a row consist of, as text.
func quantizeAll(l cpu.Level, x []float32, group int) string {
	defer SetLevel(l)()
	kp := Int4K(len(x), group)
	q16, q8, qu := make([]int16, kp), make([]int8, kp), make([]uint8, Int8K(len(x)))
	s16, s8 := make([]float32, kp/group), make([]float32, kp/group)
	z16, z8 := make([]int32, kp/group), make([]int32, kp/group)
	QuantizeI16(q16, s16, z16, x, group)
	QuantizeI8(q8, s8, z8, x, group)
	su, zu := QuantizeU8(qu, x)
	return fmt.Sprint(q16, s16, z16, q8, s8, z8, qu, su, zu)
}

// TestInt4Fit checks codes and sums of every level against the generic twin, bit by bit, at all lengths.
func TestInt4Fit(t *testing.T) {
	rng := rand.New(rand.NewPCG(13, 14))
	for n := range 200 {
		w := make([]float32, n)
		for i := range w {
			w[i] = float32(rng.NormFloat64())
			if rng.IntN(10) == 0 {
				w[i] = 0.25 * float32(rng.IntN(9)-4) // ties
			}
		}
		for _, scale := range []float32{0.5, 0.1, 3} {
			for _, zero := range []uint8{0, 7, 15} {
				want := make([]uint8, n)
				int4EncodeGeneric(want, w, scale, float32(zero))
				wantNum, wantDen := int4FitGeneric(w, scale, float32(zero))
				for _, l := range levels() {
					restore := SetLevel(l)
					got := make([]uint8, n)
					Int4Encode(got, w, scale, zero)
					num, den := Int4Fit(w, scale, zero)
					restore()
					if string(got) != string(want) {
						t.Fatalf("%v, %d weights: codes %v, wanted %v", l, n, got, want)
					}
					sameBits(t, "sums", []float32{num, den}, []float32{wantNum, wantDen})
				}
			}
		}
	}
}

// TestInt4Feedback checks codes and shares of every level against the generic twin, bit by bit, for whole blocks and parts of them.
func TestInt4Feedback(t *testing.T) {
	rng := rand.New(rand.NewPCG(15, 16))
	for _, n := range []int{1, 2, 3, 7, 8, 63, 64, 128} {
		values := func(n int) []float32 {
			x := make([]float32, n)
			for i := range x {
				x[i] = float32(rng.NormFloat64())
			}
			return x
		}
		w, lower, inverse, scale, zero := values(n*PanelWidth), values(n*n), values(n), values(PanelWidth), make([]float32, PanelWidth)
		for o := range zero {
			scale[o], zero[o] = scale[o]*scale[o]+0.01, float32(rng.IntN(16))
		}
		for i := range lower {
			lower[i] *= 0.1
		}
		cuts := []int{0, n / 3, n - n/4, n}
		run := func() ([]uint8, []float32) {
			codes, share := make([]uint8, n*PanelWidth), make([]float32, n*PanelWidth)
			for i := range len(cuts) - 1 {
				Int4Feedback(codes, share, w, lower, inverse, scale, zero, cuts[i], cuts[i+1])
			}
			return codes, share
		}
		restore := SetLevel(cpu.Generic)
		wantCodes, wantShare := run()
		restore()
		for _, l := range levels() {
			restore := SetLevel(l)
			codes, share := run()
			restore()
			if string(codes) != string(wantCodes) {
				t.Fatalf("%v, %d inputs: codes %v, wanted %v", l, n, codes, wantCodes)
			}
			sameBits(t, fmt.Sprintf("%v, %d inputs: shares", l, n), share, wantShare)
		}
	}
}

// TestInt4SetPanel compares with setting one output after the other.
func TestInt4SetPanel(t *testing.T) {
	rng := rand.New(rand.NewPCG(17, 18))
	const outs, k, group = 32, 40, 16
	one, panels := NewInt4(outs, k, group), NewInt4(outs, k, group)
	for p := range outs / PanelWidth {
		for from := 0; from < k; from += group {
			n := min(group, k-from)
			codes, scale, zero := make([]uint8, n*PanelWidth), make([]float32, PanelWidth), make([]float32, PanelWidth)
			for i := range codes {
				codes[i] = uint8(rng.IntN(16))
			}
			for o := range PanelWidth {
				scale[o], zero[o] = rng.Float32(), float32(rng.IntN(16))
				row := make([]uint8, n)
				for i := range row {
					row[i] = codes[i*PanelWidth+o]
				}
				one.Set(p*PanelWidth+o, from, row, scale[o], uint8(zero[o]))
			}
			panels.SetPanel(p, from, codes, scale, zero)
		}
	}
	if !reflect.DeepEqual(one, panels) {
		t.Error("the matrices differ")
	}
}
