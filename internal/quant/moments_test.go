package quant

import (
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"testing"

	"github.com/mynah-tts/mynah/internal/kernel"
)

// mixed returns rows of inputs that go together: few sources, mixed, and a mean.
func mixed(rng *rand.Rand, rows, k int) []float32 {
	const sources = 12
	mix := make([]float32, (sources+1)*k)
	seed := rand.New(rand.NewPCG(1, uint64(k)))
	for i := range mix {
		mix[i] = float32(seed.NormFloat64())
	}
	x := make([]float32, rows*k)
	for r := range rows {
		row := x[r*k : (r+1)*k]
		copy(row, mix[sources*k:])
		for s := range sources {
			kernel.AxpyF32(row, float32(rng.NormFloat64()), mix[s*k:(s+1)*k])
		}
		for i := range row {
			row[i] += 0.3 * float32(rng.NormFloat64())
		}
	}
	return x
}

// productError is the squared error of products with rows, relative to their squares.
func productError(w []float32, m *kernel.Int4, x []float32, rows int) float64 {
	k := m.K
	got, want := make([]float32, rows*m.Outs), make([]float32, rows*m.Outs)
	values := make([]float32, m.Outs*k)
	for o := range m.Outs {
		Dequantize(values[o*k:(o+1)*k], m, o)
	}
	kernel.MatMulF32(got, m.Outs, x, k, values, rows, k, m.Outs)
	kernel.MatMulF32(want, m.Outs, x, k, w, rows, k, m.Outs)
	var diff, power float64
	for i := range want {
		d := float64(got[i]) - float64(want[i])
		diff, power = diff+d*d, power+float64(want[i])*float64(want[i])
	}
	return diff / power
}

// TestMomentsLowerErrors packs ragged matrices by the moments of some rows and measures
// on others: the products' squared error is less than half of that of refined grids.
func TestMomentsLowerErrors(t *testing.T) {
	for _, c := range []struct{ outs, k, group int }{{48, 256, 64}, {33, 200, 64}, {16, 320, 96}, {5, 70, 8}} {
		rng := rand.New(rand.NewPCG(3, 4))
		w := make([]float32, c.outs*c.k)
		for i := range w {
			w[i] = float32(rng.NormFloat64())
		}
		moments := NewMoments(c.k)
		moments.Add(mixed(rng, 200, c.k), 200)
		moments.Add(mixed(rng, 100, c.k), 100)
		fresh := mixed(rng, 100, c.k)
		row := func(dst []float32, o int) { copy(dst, w[o*c.k:]) }
		pack := func(opts Int4Options) *kernel.Int4 {
			m, err := PackInt4(row, c.outs, c.k, opts)
			if err != nil {
				t.Fatal(err)
			}
			return m
		}
		refined := productError(w, pack(Int4Options{Group: c.group, Refine: true}), fresh, 100)
		packed := pack(Int4Options{Group: c.group, Refine: true, Moments: moments})
		heard := productError(w, packed, fresh, 100)
		if !(heard < 0.5*refined) {
			t.Errorf("%+v: error %.5f, on refined grids alone %.5f", c, heard, refined)
		}
		power, diff, plain := CompareProducts(row, packed, moments)
		if !(diff > 0 && diff < plain && plain < power) {
			t.Errorf("%+v: measured %g of %g, %g on plain grids", c, diff, power, plain)
		}
		// The same bytes by any number of processors.
		defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(1))
		rng = rand.New(rand.NewPCG(3, 4))
		for range w {
			rng.NormFloat64()
		}
		again := NewMoments(c.k)
		again.Add(mixed(rng, 200, c.k), 200)
		again.Add(mixed(rng, 100, c.k), 100)
		if one := pack(Int4Options{Group: c.group, Refine: true, Moments: again}); !reflect.DeepEqual(one, packed) {
			t.Errorf("%+v: one processor packs otherwise", c)
		}
	}
}

// TestMomentsThatTellNothing: inputs that are zero, not finite or unheard leave codes as
// they are without moments.
func TestMomentsThatTellNothing(t *testing.T) {
	const outs, k = 20, 200
	rng := rand.New(rand.NewPCG(5, 6))
	w := make([]float32, outs*k)
	for i := range w {
		w[i] = float32(rng.NormFloat64())
	}
	row := func(dst []float32, o int) { copy(dst, w[o*k:]) }
	want, err := PackInt4(row, outs, k, Int4Options{Group: 64, Refine: true})
	if err != nil {
		t.Fatal(err)
	}
	for name, value := range map[string]float32{"zero": 0, "NaN": float32(math.NaN()), "infinite": float32(math.Inf(1)), "huge": 1e30} {
		x := make([]float32, 2*k)
		for i := range x {
			x[i] = value
		}
		m := NewMoments(k)
		m.Add(x, 2)
		got, err := PackInt4(row, outs, k, Int4Options{Group: 64, Refine: true, Moments: m})
		if err != nil {
			t.Fatal(err)
		}
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s inputs change the codes", name)
		}
	}
	if _, err := PackInt4(row, outs, k, Int4Options{Group: 64, Moments: NewMoments(k + 1)}); err == nil {
		t.Error("moments of another size are taken")
	}
}

// TestFeedback checks V'V against the inverse of the moments by multiplying them.
func TestFeedback(t *testing.T) {
	const n = 50
	m := NewMoments(n)
	m.Add(mixed(rand.New(rand.NewPCG(7, 8)), 300, n), 300)
	f := m.feedback()[0]
	v := func(i, j int) float64 {
		switch {
		case i == j:
			return 1 / float64(f.inverse[i])
		case i < j:
			return float64(f.lower[j*n+i])
		}
		return 0
	}
	mean := 0.0
	for i := range n {
		mean += float64(m.blocks[0][i*n+i]) / n
	}
	for i := range n {
		for j := range n {
			sum := 0.0
			for p := range n {
				h := float64(m.blocks[0][i*n+p])
				if p == i {
					h += damping*h + 1e-4*mean
				}
				inverse := 0.0
				for q := range n {
					inverse += v(q, p) * v(q, j)
				}
				sum += h * inverse
			}
			want := 0.0
			if i == j {
				want = 1
			}
			if math.Abs(sum-want) > 1e-4 {
				t.Fatalf("element [%d, %d] of the product is %g, want %g", i, j, sum, want)
			}
		}
	}
}
