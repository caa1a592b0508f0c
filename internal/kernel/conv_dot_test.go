package kernel

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"slices"
	"testing"
)

// TestConvDotBF16 compares with the twin bit by bit, whole and in any split by rows and panels: numbers of one size, and numbers of all
// sizes, whose sums overflow and vanish.
func TestConvDotBF16(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for i, c := range convCases() {
			p := places[i%len(places)]
			d := newConvData(t, rng, p, c)
			d.wild(rng, i%3)
			x, w := d.dotOperands(t, p)
			ldd := c.outs + c.gap
			want := make([]float32, c.rows*ldd)
			convDotBF16Generic(want, ldd, x, c.step, c.taps, c.dilation, c.in, w, d.bias, c.rows, c.outs)
			got, check := f32(t, rng, p, max(0, c.rows*ldd-c.gap))
			run := func(lo, hi, o, end int) {
				bias := d.bias
				if bias != nil {
					bias = bias[o:end]
				}
				ConvDotBF16(got[lo*ldd+o:], ldd, x[lo*c.step*DotK(c.in):], c.step, c.taps, c.dilation, c.in, w[o*c.taps*c.in:], bias, hi-lo, end-o)
			}
			run(0, c.rows, 0, c.outs)
			check()
			d.mustMatchRows(t, "whole", got, want, ldd)
			clear(got)
			for lo := 0; lo < c.rows; lo += 5 {
				hi, cut := min(lo+5, c.rows), min(c.outs, (lo%4+1)*PanelWidth)
				run(lo, hi, 0, cut)
				if cut < c.outs {
					run(lo, hi, cut, c.outs)
				}
			}
			check()
			d.mustMatchRows(t, "in parts", got, want, ldd)
		}
	})
}

// wild gives operands any exponent, so that some are subnormal and some sums infinite: 1 small ones, 2 all.
func (d *convData) wild(rng *rand.Rand, size int) {
	for _, x := range [][]float32{d.x, d.panels, d.bias} {
		for i := range x {
			switch size {
			case 1:
				x[i] *= float32(math.Ldexp(1, -50-rng.IntN(30)))
			case 2:
				x[i] *= float32(math.Ldexp(1, rng.IntN(254)-127))
			}
		}
	}
}

// dotOperands are the rows and panels as bfloat16, in a place.
func (d *convData) dotOperands(t *testing.T, p place) (x, w []uint16) {
	t.Helper()
	k, n := DotK(d.in), 0
	if d.in > 0 {
		n = len(d.x) / d.in
	}
	x = bf16(t, newRand(), p, n*k)
	for r := range n {
		NarrowBF16(x[r*k:(r+1)*k], d.x[r*d.in:(r+1)*d.in])
	}
	w = bf16(t, newRand(), p, len(d.panels))
	copy(w, PackBF16(d.panels))
	return x, w
}

// mustMatchRows compares the rows bit by bit; any NaN equals any other.
func (d *convData) mustMatchRows(t *testing.T, what string, got, want []float32, ldd int) {
	t.Helper()
	for r := range d.rows {
		for o := range d.outs {
			if g, w := got[r*ldd+o], want[r*ldd+o]; !equalBits(g, w) && (g == g || w == w) {
				t.Fatalf("%v, %s: row %d, output %d: %v (%#08x), want %v (%#08x)", d.convCase, what, r, o, g, math.Float32bits(g), w, math.Float32bits(w))
			}
		}
	}
}

// TestConvDotBF16Error compares with the sum in float64 of the rounded operands.
func TestConvDotBF16Error(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for _, c := range []convCase{
			{rows: 7, in: 33, outs: 40, taps: 3, dilation: 2, step: 1, bias: true},
			{rows: 13, in: 96, outs: 96, taps: 7, dilation: 3, step: 2},
		} {
			d := newConvData(t, rng, 0, c)
			x, w := d.dotOperands(t, 0)
			got := make([]float32, c.rows*c.outs)
			ConvDotBF16(got, c.outs, x, c.step, c.taps, c.dilation, c.in, w, d.bias, c.rows, c.outs)
			RoundBF16(d.x, d.x)
			RoundBF16(d.w, d.w)
			for r := range c.rows {
				for o := range c.outs {
					checkConv(t, d, r, o, got[r*c.outs+o])
				}
			}
		}
	})
}

// TestFMABF16 compares the step of the twin with exact arithmetic, on operands of which many meet near the ends of float32.
func TestFMABF16(t *testing.T) {
	rng := newRand()
	exact := func(v float32) *big.Float { return new(big.Float).SetPrec(600).SetFloat64(float64(v)) }
	for range 300000 {
		x, w := uint16(rng.Uint32()), uint16(rng.Uint32())
		acc := math.Float32frombits(rng.Uint32())
		a, b := flush(widen(x)), flush(widen(w))
		if rng.IntN(2) == 0 { // of the product's size, either sign
			acc = math.Float32frombits(math.Float32bits(a*b) ^ rng.Uint32()>>(6+rng.IntN(20))<<31 ^ rng.Uint32()>>8)
		}
		sums := [PanelWidth]float32{0: acc}
		fmaBF16(&sums, x, &[PanelWidth]uint16{0: w})
		got, c := sums[0], flush(acc)
		if s := float64(a)*float64(b) + float64(c); math.IsNaN(s) || math.IsInf(s, 0) || s == 0 {
			if !equalBits(got, float32(s)) && !(got != got && s != s) {
				t.Fatalf("%v * %v + %v = %v, want %v", a, b, acc, got, s)
			}
			continue
		}
		sum := new(big.Float).SetPrec(600).Mul(exact(a), exact(b))
		want, _ := sum.Add(sum, exact(c)).SetPrec(24).SetMode(big.ToNearestEven).Float32()
		if sum.MantExp(nil) <= -126 {
			want = float32(math.Copysign(0, float64(want)))
		}
		if !equalBits(got, want) {
			t.Fatalf("%v * %v + %v = %v (%#08x), want %v (%#08x)", a, b, acc, got, math.Float32bits(got), want, math.Float32bits(want))
		}
	}
}

func TestNarrowBF16(t *testing.T) {
	for _, c := range []struct {
		bits uint32
		want uint16
	}{
		{0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81}, {0x7f7fffff, 0x7f80},
		{0x7f800000, 0x7f80}, {0xff800000, 0xff80}, {0x7f800001, 0x7fc0}, {0xffffffff, 0xffff}, {0x007fffff, 0}, {0x807fffff, 0x8000},
		{0x00800000, 0x0080}, {0x80000000, 0x8000},
	} {
		got := []uint16{1, 1}
		narrowBF16Generic(got, []float32{math.Float32frombits(c.bits)})
		if got[0] != c.want || got[1] != 0 {
			t.Errorf("%#x becomes %#x, wanted %#x and 0", c.bits, got, c.want)
		}
	}
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for n := range 200 {
			p := places[n%len(places)]
			x, _ := f32(t, rng, p, n)
			for i := range x {
				if n%2 == 0 {
					x[i] = math.Float32frombits(rng.Uint32())
				}
			}
			want := make([]uint16, DotK(n))
			narrowBF16Generic(want, x)
			got := bf16(t, rng, p, DotK(n)+1)
			after := got[DotK(n)]
			NarrowBF16(got[:DotK(n)], x)
			if !slices.Equal(got[:DotK(n)], want) || got[DotK(n)] != after {
				t.Fatalf("%d values: %#x, want %#x", n, got, want)
			}
		}
	})
}

func TestConvDotBF16Lengths(t *testing.T) {
	conv := func(dst, x, w, bias, rows, outs, taps int) func() {
		return func() {
			ConvDotBF16(make([]float32, dst), 20, make([]uint16, x), 1, taps, 1, 5, make([]uint16, w), make([]float32, bias), rows, outs)
		}
	}
	conv(60, 24, 32*2*5, 20, 3, 20, 2)()
	for i, f := range []func(){
		conv(59, 24, 32*2*5, 20, 3, 20, 2), conv(60, 23, 32*2*5, 20, 3, 20, 2), conv(60, 24, 32*2*5-1, 20, 3, 20, 2),
		conv(60, 24, 32*2*5, 19, 3, 20, 2), conv(60, 24, 32*2*5, 20, -1, 20, 2), conv(60, 24, 32*2*5, 20, 3, -1, 2), conv(60, 24, 32*2*5, 20, 3, 20, 0),
	} {
		mustPanic(t, fmt.Sprintf("case %d", i), f)
	}
	mustPanic(t, "NarrowBF16 of an odd row without room for its partner", func() { NarrowBF16(make([]uint16, 3), make([]float32, 3)) })
}
