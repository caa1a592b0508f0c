package kernel

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"
)

// convInt8Data is a case with its operands; weights and activations take all codes.
type convInt8Data struct {
	convCase
	x, bias []float32
	xRows   int
	w       ConvWeights
	codes   []int8 // [outs, taps, in]
}

func newConvInt8Data(rng *rand.Rand, c convCase) *convInt8Data {
	d := &convInt8Data{convCase: c}
	d.xRows = max(0, (c.rows-1)*c.step+(c.taps-1)*c.dilation+1)
	d.x = make([]float32, d.xRows*c.in)
	for i := range d.x {
		d.x[i] = float32(rng.NormFloat64()) * float32(1+i%3)
	}
	if c.bias {
		d.bias = make([]float32, c.outs)
		for i := range d.bias {
			d.bias[i] = float32(rng.NormFloat64())
		}
	}
	padded, kp := (c.outs+PanelWidth-1)/PanelWidth*PanelWidth, Int8K(c.in)
	d.codes = make([]int8, c.outs*c.taps*c.in)
	spread := make([]int8, c.outs*c.taps*kp)
	d.w = ConvWeights{In: c.in, Taps: c.taps, Scale: make([]float32, padded), Sum: make([]int32, padded*c.taps)}
	for o := range c.outs {
		d.w.Scale[o] = float32(rng.Float64()) / 100
		for t := range c.taps {
			for i := range c.in {
				code := int8(rng.IntN(ConvPair+1) - ConvPair/2)
				if i%2 == 0 && rng.IntN(4) == 0 {
					code = int8(127 - 254*(o%2))
				} else if i%2 == 1 {
					before := int(d.codes[(o*c.taps+t)*c.in+i-1])
					most := ConvPair - max(before, -before)
					code = int8(min(max(int(code), -most), most))
				}
				d.codes[(o*c.taps+t)*c.in+i] = code
				spread[(o*c.taps+t)*kp+i] = code
				d.w.Sum[(o/PanelWidth*c.taps+t)*PanelWidth+o%PanelWidth] += int32(code)
			}
		}
	}
	d.w.Codes = PackInt8(spread, c.outs, c.taps*kp)
	return d
}

// quantize makes the activations' codes at the level that is set.
func (d *convInt8Data) quantize() *ConvCodes {
	kp := Int8K(d.in)
	c := &ConvCodes{Codes: make([]uint8, d.xRows*kp), Rows: make([]ConvRow, d.xRows)}
	for r := range d.xRows {
		c.Rows[r].Scale, c.Rows[r].Zero = QuantizeU8(c.Codes[r*kp:(r+1)*kp], d.x[r*d.in:(r+1)*d.in])
	}
	return c
}

// run does rows lo to hi and the outputs from o to end.
func (d *convInt8Data) run(dst []float32, ldd int, codes *ConvCodes, lo, hi, o, end int) {
	bias := d.bias
	if bias != nil {
		bias = bias[o:end]
	}
	x, w := codes.From(lo*d.step, d.in), d.w.From(o)
	ConvInt8(dst, ldd, &x, d.step, d.dilation, &w, bias, hi-lo, end-o)
}

// TestConvInt8 compares all levels with the definition, which every rounding of is spelled out here, whole and in parts.
func TestConvInt8(t *testing.T) {
	eachLevel(t, func(t *testing.T) {
		rng := newRand()
		for _, c := range convCases() {
			d := newConvInt8Data(rng, c)
			if c.rows == 0 {
				continue
			}
			ldd := c.outs + c.gap
			got := make([]float32, c.rows*ldd)
			codes := d.quantize()
			d.run(got, ldd, codes, 0, c.rows, 0, c.outs)
			want := d.defined()
			for r := range c.rows {
				mustMatch(t, fmt.Sprintf("%v, row %d", c, r), got[r*ldd:r*ldd+c.outs], want[r*c.outs:(r+1)*c.outs])
				for _, v := range got[r*ldd+c.outs : (r+1)*ldd] {
					if v != 0 {
						t.Fatalf("%v: wrote between rows", c)
					}
				}
			}
			parts := make([]float32, len(got))
			for lo := 0; lo < c.rows; lo += 4 {
				hi, cut := min(lo+4, c.rows), min(c.outs, (lo%4+1)*PanelWidth)
				d.run(parts[lo*ldd:], ldd, codes, lo, hi, 0, cut)
				if cut < c.outs {
					d.run(parts[lo*ldd+cut:], ldd, codes, lo, hi, cut, c.outs)
				}
			}
			mustMatch(t, c.String()+", in parts", parts, got)
		}
	})
}

// defined computes a case from its plain codes.
func (d *convInt8Data) defined() []float32 {
	dst := make([]float32, d.rows*d.outs)
	q := make([]uint8, Int8K(d.in))
	for r := range d.rows {
		acc := make([]float32, d.outs)
		for t := range d.taps {
			row := r*d.step + t*d.dilation
			scale, zero := QuantizeU8(q, d.x[row*d.in:(row+1)*d.in])
			for o := range acc {
				sum := int32(0)
				for i := range d.in {
					sum += (int32(q[i]) - zero) * int32(d.codes[(o*d.taps+t)*d.in+i])
				}
				acc[o] += float32(float32(sum) * scale)
			}
		}
		for o, v := range acc {
			v = float32(v * d.w.Scale[o])
			if d.bias != nil {
				v += d.bias[o]
			}
			dst[r*d.outs+o] = v + 0
		}
	}
	return dst
}

// TestConvInt8Extremes has sums of 16 and 32 bits near their bounds.
func TestConvInt8Extremes(t *testing.T) {
	const in = MaxConvInt8
	x := make([]float32, in)
	for i := range x {
		x[i] = 255
	}
	for _, pair := range [][2]int8{{127, 1}, {64, 64}, {-127, -1}, {0, 127}, {-64, -64}} {
		w := ConvWeights{In: in, Taps: 1, Codes: make([]int8, in*PanelWidth), Scale: make([]float32, PanelWidth), Sum: make([]int32, PanelWidth)}
		for i := range w.Codes {
			w.Codes[i] = pair[i%2]
		}
		both := int32(pair[0]) + int32(pair[1])
		w.Scale[0], w.Sum[0] = 1, both*in/2
		eachLevel(t, func(t *testing.T) {
			codes := ConvCodes{Codes: make([]uint8, in), Rows: make([]ConvRow, 1)}
			codes.Rows[0].Scale, codes.Rows[0].Zero = QuantizeU8(codes.Codes, x)
			dst := make([]float32, 1)
			ConvInt8(dst, 1, &codes, 1, 0, &w, nil, 1, 1)
			if want := float32(255 * both * in / 2); dst[0] != want {
				t.Errorf("pairs of %v: %v, wanted %v", pair, dst[0], want)
			}
		})
	}
}

// TestConvInt8NaN wants NaN where a row's scale is NaN, and nowhere else.
func TestConvInt8NaN(t *testing.T) {
	c := convCase{rows: 9, in: 8, outs: 20, taps: 3, dilation: 2, step: 1}
	eachLevel(t, func(t *testing.T) {
		d := newConvInt8Data(newRand(), c)
		d.x[6*c.in+3] = float32(math.Inf(1))
		dst := make([]float32, c.rows*c.outs)
		d.run(dst, c.outs, d.quantize(), 0, c.rows, 0, c.outs)
		for i, v := range dst {
			r := i / c.outs
			if sees := r == 2 || r == 4 || r == 6; (v != v) != sees {
				t.Fatalf("row %d is %v", r, v)
			}
		}
	})
}

func TestConvInt8Lengths(t *testing.T) {
	const in, taps, outs = 6, 2, 17
	run := func(codes, rows, dst, w, wScale, wSum int) func() {
		return func() {
			x := ConvCodes{Codes: make([]uint8, codes), Rows: make([]ConvRow, rows)}
			m := ConvWeights{In: in, Taps: taps, Codes: make([]int8, w), Scale: make([]float32, wScale), Sum: make([]int32, wSum)}
			ConvInt8(make([]float32, dst), outs, &x, 1, 1, &m, nil, 2, outs)
		}
	}
	run(24, 3, 34, 512, 32, 64)()
	for name, f := range map[string]func(){
		"codes": run(23, 3, 34, 512, 32, 64), "rows": run(24, 2, 34, 512, 32, 64), "dst": run(24, 3, 33, 512, 32, 64),
		"w": run(24, 3, 34, 511, 32, 64), "wScale": run(24, 3, 34, 512, 31, 64), "wSum": run(24, 3, 34, 512, 32, 63),
	} {
		mustPanic(t, "short "+name, f)
	}
}

// BenchmarkConvForms is the shapes of the decoder: many rows, and few rows of large matrices.
func BenchmarkConvForms(b *testing.B) {
	for _, c := range []convCase{
		{rows: 96, in: 96, outs: 96, taps: 7, dilation: 1, step: 1, bias: true},
		{rows: 96, in: 192, outs: 192, taps: 7, dilation: 1, step: 1, bias: true},
		{rows: 32, in: 768, outs: 768, taps: 7, dilation: 1, step: 1, bias: true},
		{rows: 4, in: 1024, outs: 1536, taps: 7, dilation: 1, step: 1, bias: true},
	} {
		d := newConvInt8Data(newRand(), c)
		k := c.taps * c.in
		dst, macs := make([]float32, c.rows*c.outs), c.rows*c.outs*k
		b.Run(fmt.Sprintf("%v/f32", c), func(b *testing.B) {
			panels := ones(c.outs * k)
			for b.Loop() {
				ConvF32(dst, c.outs, d.x, c.in, c.taps, c.in, c.in, panels, d.bias, c.rows, c.outs)
			}
			gmac(b, macs)
		})
		b.Run(fmt.Sprintf("%v/bf16", c), func(b *testing.B) {
			panels := halfOnes(c.outs * k)
			for b.Loop() {
				ConvBF16(dst, c.outs, d.x, c.in, c.taps, c.in, c.in, panels, d.bias, c.rows, c.outs)
			}
			gmac(b, macs)
		})
		b.Run(fmt.Sprintf("%v/int8", c), func(b *testing.B) {
			codes := d.quantize()
			for b.Loop() {
				ConvInt8(dst, c.outs, codes, 1, 1, &d.w, d.bias, c.rows, c.outs)
			}
			gmac(b, macs)
		})
		b.Run(fmt.Sprintf("%v/quantize", c), func(b *testing.B) {
			codes := make([]uint8, Int8K(c.in))
			for b.Loop() {
				for r := range d.xRows {
					QuantizeU8(codes[:Int8K(c.in)], d.x[r*c.in:(r+1)*c.in])
				}
			}
			b.ReportMetric(b.Elapsed().Seconds()*1e9/float64(b.N)/float64(d.xRows*c.in), "ns/value")
		})
	}
}
