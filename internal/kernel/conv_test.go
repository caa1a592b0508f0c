package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/mynah-tts/mynah/internal/cpu"
)

// convCase is one convolution: rows of in channels, step rows apart for each output row, taps dilation rows apart.
type convCase struct {
	rows, in, outs, taps, dilation, step int
	gap                                  int
	bias                                 bool
}

func (c convCase) String() string {
	return fmt.Sprintf("rows %d, in %d, outs %d, taps %d, dilation %d, step %d, gap %d, bias %v",
		c.rows, c.in, c.outs, c.taps, c.dilation, c.step, c.gap, c.bias)
}

func convCases() []convCase {
	var cases []convCase
	for rows := 1; rows <= 30; rows++ {
		for i, outs := range []int{1, 5, 8, 15, 16, 17, 24, 32, 33, 40, 48, 63, 64, 65, 80, 128, 130} {
			n := rows + i
			cases = append(cases, convCase{
				rows: rows, in: 1 + n*5%9, outs: outs, taps: 1 + n%4, dilation: 1 + n%3, step: 1 + n/2%2, gap: n % 3, bias: n%5 != 0,
			})
		}
	}
	return append(cases,
		convCase{rows: 29, in: 96, outs: 96, taps: 7, dilation: 3, step: 1, bias: true},
		convCase{rows: 4, in: 40, outs: 96, taps: 7, dilation: 1, step: 1, bias: true},
		// More inputs than convBlock: whole taps, one tap in pieces, and all taps as one.
		convCase{rows: 16, in: 70, outs: 40, taps: 5, dilation: 2, step: 1, bias: true},
		convCase{rows: 20, in: 300, outs: 70, taps: 2, dilation: 2, step: 1, gap: 3, bias: true},
		convCase{rows: 15, in: 101, outs: 50, taps: 4, dilation: 1, step: 1},
		// Few rows of more than a few inputs, fours of them even and odd.
		convCase{rows: 1, in: 64, outs: 33, taps: 3, dilation: 1, step: 1, bias: true},
		convCase{rows: 1, in: 27, outs: 16, taps: 2, dilation: 2, step: 1, gap: 1},
		convCase{rows: 2, in: 49, outs: 40, taps: 3, dilation: 1, step: 2, bias: true},
		convCase{rows: 2, in: 24, outs: 15, taps: 1, dilation: 1, step: 1},
		convCase{rows: 3, in: 33, outs: 17, taps: 4, dilation: 3, step: 1, gap: 2, bias: true},
		convCase{rows: 3, in: 80, outs: 32, taps: 2, dilation: 1, step: 1},
		convCase{rows: 7, in: 53, outs: 48, taps: 3, dilation: 1, step: 1, bias: true},
		convCase{rows: 3, in: 0, outs: 20, taps: 2, dilation: 1, step: 1, bias: true},
		convCase{rows: 0, in: 4, outs: 20, taps: 2, dilation: 1, step: 1, bias: true},
	)
}

// convData is a case with its operands.
type convData struct {
	convCase
	x, w, panels, bias []float32
}

func newConvData(t *testing.T, rng *rand.Rand, p place, c convCase) convData {
	d := convData{convCase: c}
	d.x, _ = f32(t, rng, p, max(0, ((c.rows-1)*c.step+(c.taps-1)*c.dilation+1)*c.in))
	d.w, _ = f32(t, rng, p, c.outs*c.taps*c.in)
	d.panels = PackPanels(d.w, c.outs, c.taps*c.in)
	if p >= pageEnd {
		guard := guarded[float32](t, len(d.panels), p == pageEnd)
		copy(guard, d.panels)
		d.panels = guard
	}
	if c.bias {
		d.bias, _ = f32(t, rng, p, c.outs)
	}
	return d
}

// run does rows lo to hi and the outputs from o, a multiple of the panel width, to end.
func (d convData) run(dst []float32, ldd, lo, hi, o, end int) {
	bias := d.bias
	if bias != nil {
		bias = bias[o:end]
	}
	ldx := d.step * d.in
	ConvF32(dst, ldd, d.x[lo*ldx:], ldx, d.taps, d.dilation*d.in, d.in, d.panels[o*d.taps*d.in:], bias, hi-lo, end-o)
}

func TestConvF32(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for i, c := range convCases() {
			p := places[i%len(places)]
			d := newConvData(t, rng, p, c)
			ldd := c.outs + c.gap
			dst, check := f32(t, rng, p, max(0, c.rows*ldd-c.gap))
			before := slices.Clone(dst)
			d.run(dst, ldd, 0, c.rows, 0, c.outs)
			check()
			for r := range c.rows {
				for o := range c.outs {
					checkConv(t, d, r, o, dst[r*ldd+o])
				}
				if r+1 < c.rows {
					mustMatch(t, c.String()+", between rows", dst[r*ldd+c.outs:(r+1)*ldd], before[r*ldd+c.outs:(r+1)*ldd])
				}
			}
		}
	})
}

// checkConv compares one element with a sum in float64.
func checkConv(t *testing.T, d convData, r, o int, got float32) {
	t.Helper()
	var want, size float64
	if d.bias != nil {
		want = float64(d.bias[o])
		size = math.Abs(want)
	}
	for tap := range d.taps {
		for ci := range d.in {
			v := float64(d.x[(r*d.step+tap*d.dilation)*d.in+ci]) * float64(d.w[(o*d.taps+tap)*d.in+ci])
			want += v
			size += math.Abs(v)
		}
	}
	near(t, fmt.Sprintf("%v: row %d, output %d", d.convCase, r, o), got, want, float64(d.taps*d.in+2)*halfULP*size)
}

// TestConvSplits checks that a row has the same bits alone and among others, and an output in any split by panels.
func TestConvSplits(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for _, outs := range []int{5, 16, 40, 96, 150} {
			for _, taps := range []int{1, 3} {
				c := convCase{rows: 31, in: 13, outs: outs, taps: taps, dilation: 2, step: 1, bias: true}
				d := newConvData(t, rng, 1, c)
				whole := make([]float32, c.rows*outs)
				d.run(whole, outs, 0, c.rows, 0, outs)
				for rows := 1; rows <= c.rows; rows++ {
					parts := make([]float32, len(whole))
					for lo := 0; lo < c.rows; lo += rows {
						hi := min(lo+rows, c.rows)
						cut := min(outs, (lo%4+1)*PanelWidth)
						d.run(parts[lo*outs:], outs, lo, hi, 0, cut)
						if cut < outs {
							d.run(parts[lo*outs+cut:], outs, lo, hi, cut, outs)
						}
					}
					mustMatch(t, fmt.Sprintf("%v, %d rows at a time", c, rows), parts, whole)
				}
			}
		}
	})
}

// TestConvLevels checks that AVX2 and AVX-512 agree to the last bit: their order of sums is the same.
func TestConvLevels(t *testing.T) {
	if bestLevel() < cpu.AVX512 {
		t.Skip("needs AVX-512")
	}
	rng := newRand()
	for i, c := range convCases() {
		d := newConvData(t, rng, places[i%len(places)], c)
		got, want := make([]float32, c.rows*c.outs), make([]float32, c.rows*c.outs)
		restore := SetLevel(cpu.AVX2)
		d.run(want, c.outs, 0, c.rows, 0, c.outs)
		restore()
		defer SetLevel(cpu.AVX512)()
		d.run(got, c.outs, 0, c.rows, 0, c.outs)
		mustMatch(t, c.String(), got, want)
	}
}

func TestPackPanels(t *testing.T) {
	const outs, k = 19, 3
	w := make([]float32, outs*k)
	for i := range w {
		w[i] = float32(i + 1)
	}
	panels := PackPanels(w, outs, k)
	if len(panels) != 2*k*PanelWidth {
		t.Fatalf("%d elements, want %d", len(panels), 2*k*PanelWidth)
	}
	for o := range 2 * PanelWidth {
		for i := range k {
			want := float32(0)
			if o < outs {
				want = w[o*k+i]
			}
			if got := panels[o/PanelWidth*k*PanelWidth+i*PanelWidth+o%PanelWidth]; got != want {
				t.Errorf("output %d, input %d is %v, want %v", o, i, got, want)
			}
		}
	}
}

func TestConvLengths(t *testing.T) {
	f := func(n int) []float32 { return make([]float32, n) }
	// 2 rows of 3 channels, 2 taps, 17 outputs: 2 panels of 6 inputs.
	conv := func(dst, x, panels, bias []float32) { ConvF32(dst, 17, x, 3, 2, 3, 3, panels, bias, 2, 17) }
	conv(f(34), f(9), f(192), f(17))
	conv(f(34), f(9), f(192), nil)
	mustPanic(t, "short dst", func() { conv(f(33), f(9), f(192), f(17)) })
	mustPanic(t, "short x", func() { conv(f(34), f(8), f(192), f(17)) })
	mustPanic(t, "short panels", func() { conv(f(34), f(9), f(191), f(17)) })
	mustPanic(t, "short bias", func() { conv(f(34), f(9), f(192), f(16)) })
	mustPanic(t, "no taps", func() { ConvF32(f(34), 17, f(9), 3, 0, 3, 3, f(192), nil, 2, 17) })
}
