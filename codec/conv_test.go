package codec

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/mynah-tts/mynah/internal/safetensors"
)

// random returns n values of the order of one.
func random(n int, seed uint64) []float32 {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := make([]float32, n)
	for i := range x {
		x[i] = float32(rng.NormFloat64())
	}
	return x
}

// plain is the definition of a causal convolution, in float64: x [rows, in], weight [out, in, k].
func plain(x, weight, bias []float32, in, out, k, dilation int) []float64 {
	rows := len(x) / in
	y := make([]float64, rows*out)
	for r := range rows {
		for o := range out {
			sum := float64(bias[o])
			for t := range k {
				if from := r - (k-1-t)*dilation; from >= 0 {
					for c := range in {
						sum += float64(weight[(o*in+c)*k+t]) * float64(x[from*in+c])
					}
				}
			}
			y[r*out+o] = sum
		}
	}
	return y
}

// scattered is the definition of a transposed convolution, weight [in, out, k]: every input row adds k output rows, stride apart,
// and what reaches beyond rows * stride is cut off.
func scattered(x, weight, bias []float32, in, out, k, stride int) []float64 {
	rows := len(x) / in
	y := make([]float64, rows*stride*out)
	for i := range y {
		y[i] = float64(bias[i%out])
	}
	for r := range rows {
		for t := range k {
			if to := r*stride + t; to < rows*stride {
				for o := range out {
					for c := range in {
						y[to*out+o] += float64(weight[(c*out+o)*k+t]) * float64(x[r*in+c])
					}
				}
			}
		}
	}
	return y
}

// stream runs a convolution over x in steps of step rows, and a team of workers.
func stream(t *testing.T, c *conv, x []float32, step, workers int) []float32 {
	t.Helper()
	wk := work(t, workers)
	c.rate = 1
	if err := c.pack(F32); err != nil {
		t.Fatal(err)
	}
	s := &State{left: make([]float32, c.left*c.in)}
	sc := &Scratch{spans: []span{{state: s}}}
	rows := len(x) / c.in
	buf := make([]float32, (c.left+step)*c.in)
	y := make([]float32, rows*c.outs)
	for from := 0; from < rows; from += step {
		n := min(step, rows-from)
		sc.n, sc.spans[0].frames = n, n
		sc.fill(c, buf, x[from*c.in:(from+n)*c.in])
		sc.run(wk, convJob{conv: c, x: c.input(buf), dst: buffer{data: y[from*c.outs:][:n*c.outs]}})
		sc.keep(c, buf)
	}
	return y
}

// TestConv runs plain and transposed convolutions of many shapes in steps, against their definitions.
func TestConv(t *testing.T) {
	const rows = 300
	for _, c := range []struct{ in, out, k, stride, dilation int }{
		{1, 1, 1, 1, 1}, {3, 5, 7, 1, 1}, {4, 16, 7, 1, 3}, {5, 17, 7, 1, 9}, {8, 70, 3, 1, 1}, {19, 3, 2, 1, 4},
		{3, 5, 2, 2, 1}, {4, 7, 16, 8, 1}, {6, 3, 10, 5, 1}, {5, 9, 9, 3, 1}, {2, 1, 4, 1, 1}, {7, 33, 6, 3, 1},
	} {
		transposed := c.stride > 1
		t.Run(fmt.Sprintf("in=%d/out=%d/k=%d/stride=%d/dilation=%d", c.in, c.out, c.k, c.stride, c.dilation), func(t *testing.T) {
			x, weight, bias := random(rows*c.in, 1), random(c.in*c.out*c.k, 2), random(c.out, 3)
			shape := []int{c.out, c.in, c.k}
			if transposed {
				shape = []int{c.in, c.out, c.k}
			}
			w := openTensors(t, []safetensors.Tensor{
				{Name: "c.weight", DType: safetensors.F32, Shape: shape, Data: safetensors.Values(weight)},
				{Name: "c.bias", DType: safetensors.F32, Shape: []int{c.out}, Data: safetensors.Values(bias)},
			})
			var got conv
			var err error
			var want []float64
			if transposed {
				got, err = loadTransposed(w, "c", c.in, c.out, c.stride)
				want = scattered(x, weight, bias, c.in, c.out, c.k, c.stride)
			} else {
				got, err = loadConv(w, "c", c.in, c.out, c.dilation)
				want = plain(x, weight, bias, c.in, c.out, c.k, c.dilation)
			}
			if err != nil {
				t.Fatal(err)
			}
			whole := stream(t, &got, x, rows, 1)
			for i, v := range whole {
				if diff := math.Abs(float64(v) - want[i]); !(diff < 1e-5*float64(c.in*c.k)) {
					t.Fatalf("[%d] is %g, wanted %g", i, v, want[i])
				}
			}
			for _, workers := range []int{1, 2, 3} {
				for _, step := range []int{1, 2, 7, 100, 299} {
					for i, v := range stream(t, &got, x, step, workers) {
						if v != whole[i] {
							t.Fatalf("%d workers, %d rows a step: [%d] is %g, in one step %g", workers, step, i, v, whole[i])
						}
					}
				}
			}
		})
	}
}

// TestTransposedKernel refuses a kernel that the stride does not divide.
func TestTransposedKernel(t *testing.T) {
	w := openTensors(t, []safetensors.Tensor{
		{Name: "c.weight", DType: safetensors.F32, Shape: []int{2, 3, 7}, Data: safetensors.Values(random(42, 1))},
		{Name: "c.bias", DType: safetensors.F32, Shape: []int{3}, Data: safetensors.Values(random(3, 1))},
	})
	_, err := loadTransposed(w, "c", 2, 3, 5)
	const want = "safetensors: m.safetensors: tensor c.weight: shape [2 3 7], wanted [2 3 k] with k a multiple of 5"
	if err == nil || err.Error() != want {
		t.Errorf("%v, wanted %s", err, want)
	}
}
