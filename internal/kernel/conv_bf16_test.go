package kernel

import (
	"math"
	"testing"
)

// TestConvBF16 wants the bits of ConvF32 over the widened weights, whole and in any split by rows and panels.
func TestConvBF16(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for i, c := range convCases() {
			d := newConvData(t, rng, places[i%len(places)], c)
			narrow := PackBF16(d.panels)
			WidenBF16(d.panels, narrow)
			ldd := c.outs + c.gap
			want, got := make([]float32, c.rows*ldd), make([]float32, c.rows*ldd)
			d.run(want, ldd, 0, c.rows, 0, c.outs)
			run := func(lo, hi, o, end int) {
				bias := d.bias
				if bias != nil {
					bias = bias[o:end]
				}
				ldx := c.step * c.in
				ConvBF16(got[lo*ldd+o:], ldd, d.x[lo*ldx:], ldx, c.taps, c.dilation*c.in, c.in, narrow[o*c.taps*c.in:], bias, hi-lo, end-o)
			}
			run(0, c.rows, 0, c.outs)
			mustMatch(t, c.String(), got, want)
			clear(got)
			for lo := 0; lo < c.rows; lo += 5 {
				hi, cut := min(lo+5, c.rows), min(c.outs, (lo%4+1)*PanelWidth)
				run(lo, hi, 0, cut)
				if cut < c.outs {
					run(lo, hi, cut, c.outs)
				}
			}
			mustMatch(t, c.String()+", in parts", got, want)
		}
	})
}

func TestPackBF16(t *testing.T) {
	for _, c := range []struct {
		bits uint32
		want uint16
	}{
		{0x3f800000, 0x3f80}, {0x3f808000, 0x3f80}, {0x3f818000, 0x3f82}, {0x3f808001, 0x3f81}, {0x7f7fffff, 0x7f80},
		{0x7f800000, 0x7f80}, {0xff800000, 0xff80}, {0x7f800001, 0x7f81}, {0xffffffff, 0xffff}, {0x00000001, 0}, {0x80000000, 0x8000},
	} {
		if got := PackBF16([]float32{math.Float32frombits(c.bits)})[0]; got != c.want {
			t.Errorf("%#x becomes %#x, wanted %#x", c.bits, got, c.want)
		}
	}
}
