package kernel

import (
	"fmt"
	"testing"

	"github.com/mynah-tts/mynah/internal/cpu"
	"github.com/mynah-tts/mynah/internal/team"
)

// gmac reports multiply-adds per second.
func gmac(b *testing.B, perOp int) {
	b.ReportMetric(float64(perOp)*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
}

// halfOnes returns n ones as bfloat16. Weights are written before they are timed: memory that was only allocated is one page of
// zeros to the system, and lies in the cache.
func halfOnes(n int) []uint16 {
	x := make([]uint16, n)
	for i := range x {
		x[i] = narrow(1)
	}
	return x
}

// BenchmarkGEMV streams the weights of 50 layers of 1024 by 3072, more than any cache holds, through one row: MB/s is the read
// bandwidth that one core gets.
func BenchmarkGEMV(b *testing.B) {
	const k, outs, layers = 1024, 3072, 50
	x, dst := ones(k), make([]float32, outs)
	b.Run("BF16", func(b *testing.B) {
		w := halfOnes(layers * k * outs)
		b.SetBytes(2 * k * outs * layers)
		b.ReportAllocs()
		for b.Loop() {
			for l := range layers {
				MatMulBF16(dst, outs, x, k, w[l*k*outs:], 1, k, outs)
			}
		}
	})
	b.Run("F32", func(b *testing.B) {
		w := ones(layers / 2 * k * outs)
		b.SetBytes(2 * k * outs * layers)
		b.ReportAllocs()
		for b.Loop() {
			for l := range layers / 2 {
				MatMulF32(dst, outs, x, k, w[l*k*outs:], 1, k, outs)
			}
		}
	})
	// What the loop does if memory is no limit: 512 KB of weights.
	b.Run("BF16Cached", func(b *testing.B) {
		w := halfOnes(256 * k)
		b.SetBytes(2 * 256 * k)
		for b.Loop() {
			MatMulBF16(dst, 256, x, k, w, 1, k, 256)
		}
	})
}

// gemvJob is one layer of BenchmarkGEMVTeam.
type gemvJob struct {
	dst, x  []float32
	w       []uint16
	k, outs int
}

func (j *gemvJob) Part(worker, workers int) {
	lo, hi := team.Split(j.outs, 8, worker, workers)
	MatMulBF16(j.dst[lo:], j.outs, j.x, j.k, j.w[lo*j.k:], 1, j.k, hi-lo)
}

// BenchmarkGEMVTeam is BenchmarkGEMV by a team of the default size, as a decode step does it.
func BenchmarkGEMVTeam(b *testing.B) {
	const layers = 50
	n, _ := cpu.Threads()
	tm := team.New(n)
	defer tm.Close()
	j := &gemvJob{k: 1024, outs: 3072}
	j.x, j.dst = ones(j.k), make([]float32, j.outs)
	w := halfOnes(layers * j.k * j.outs)
	b.SetBytes(int64(2 * len(w)))
	b.ReportAllocs()
	for b.Loop() {
		for l := range layers {
			j.w = w[l*j.k*j.outs:][:j.k*j.outs]
			tm.Run(j)
		}
	}
}

func BenchmarkGEMM(b *testing.B) {
	for _, rows := range []int{2, 3, 4, 6, 8, 16, 64} {
		for _, shape := range [][2]int{{1024, 3072}, {3072, 1024}} {
			k, outs := shape[0], shape[1]
			x, dst := ones(rows*k), make([]float32, rows*outs)
			b.Run(fmt.Sprintf("BF16/%dx%dx%d", rows, k, outs), func(b *testing.B) {
				w := halfOnes(k * outs)
				for b.Loop() {
					MatMulBF16(dst, outs, x, k, w, rows, k, outs)
				}
				gmac(b, rows*k*outs)
			})
			b.Run(fmt.Sprintf("F32/%dx%dx%d", rows, k, outs), func(b *testing.B) {
				w := ones(k * outs)
				for b.Loop() {
					MatMulF32(dst, outs, x, k, w, rows, k, outs)
				}
				gmac(b, rows*k*outs)
			})
		}
	}
}

// BenchmarkConv has the shapes of the codec's decoder, one frame at a time.
func BenchmarkConv(b *testing.B) {
	for _, c := range []convCase{
		{rows: 4, in: 1024, outs: 1536, taps: 7, dilation: 1},
		{rows: 4, in: 1536, outs: 768 * 8, taps: 2, dilation: 1},
		{rows: 32, in: 768, outs: 768, taps: 7, dilation: 1},
		{rows: 32, in: 768, outs: 768, taps: 1, dilation: 1},
		{rows: 160, in: 384, outs: 384, taps: 7, dilation: 3},
		{rows: 640, in: 192, outs: 192, taps: 7, dilation: 9},
		{rows: 1920, in: 96, outs: 96, taps: 7, dilation: 9},
		{rows: 1920, in: 96, outs: 96, taps: 1, dilation: 1},
		{rows: 1920, in: 96, outs: 1, taps: 7, dilation: 1},
	} {
		b.Run(fmt.Sprintf("%dx%dx%dx%d", c.rows, c.taps, c.in, c.outs), func(b *testing.B) {
			x := ones((c.rows + (c.taps-1)*c.dilation) * c.in)
			panels := ones((c.outs + PanelWidth - 1) / PanelWidth * PanelWidth * c.taps * c.in)
			dst, bias := make([]float32, c.rows*c.outs), ones(c.outs)
			b.ReportAllocs()
			for b.Loop() {
				ConvF32(dst, c.outs, x, c.in, c.taps, c.dilation*c.in, c.in, panels, bias, c.rows, c.outs)
			}
			gmac(b, c.rows*c.outs*c.taps*c.in)
		})
	}
}

func BenchmarkElementwise(b *testing.B) {
	const n = 384
	for _, k := range elementwiseKernels {
		b.Run(k.name, func(b *testing.B) {
			dst, x, y, z := make([]float32, n), ones(n), ones(n), ones(n)
			b.SetBytes(4 * n)
			b.ReportAllocs()
			for b.Loop() {
				k.run(dst, x, y, z)
			}
		})
	}
	b.Run("SoftmaxF32", func(b *testing.B) {
		x := ones(n)
		b.SetBytes(4 * n)
		for b.Loop() {
			SoftmaxF32(x)
		}
	})
	b.Run("WeightedSumF32", func(b *testing.B) {
		dst, p, v := make([]float32, 128), ones(n), ones(128*n)
		for b.Loop() {
			WeightedSumF32(dst, p, v, 128)
		}
		gmac(b, 128*n)
	})
	b.Run("DotF32", func(b *testing.B) {
		x, y := ones(n), ones(n)
		for b.Loop() {
			DotF32(x, y)
		}
		gmac(b, n)
	})
	b.Run("SnakeGeneric", func(b *testing.B) {
		defer SetLevel(cpu.Generic)()
		dst, x := make([]float32, n), ones(n)
		b.SetBytes(4 * n)
		for b.Loop() {
			SnakeF32(dst, x, x, x)
		}
	})
}
