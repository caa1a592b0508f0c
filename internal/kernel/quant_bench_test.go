package kernel

import (
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
)

// benchBytes is the size of the streamed matrices: well above any cache.
const benchBytes = 256 << 20

// benchInt4 is a matrix of benchBytes of codes.
func benchInt4(k, group int) *Int4 {
	outs := benchBytes * 2 / k
	groups := k / group
	w := &Int4{K: k, Outs: outs, Group: group, Codes: make([]uint32, outs*k/8), Scale: make([]float32, outs*groups), Zero: make([]uint8, outs*groups)}
	rng := rand.New(rand.NewPCG(1, 1))
	for i := range w.Codes {
		w.Codes[i] = rng.Uint32()
	}
	for i := range w.Scale {
		w.Scale[i], w.Zero[i] = 0.01, 8
	}
	return w
}

// onWorkers runs part on several goroutines at once.
func onWorkers(workers int, part func(worker int)) {
	var wg sync.WaitGroup
	for worker := range workers {
		wg.Go(func() { part(worker) })
	}
	wg.Wait()
}

func benchQuant(b *testing.B, workers, rows int, bytes int64, macs float64, run func(worker int)) {
	b.SetBytes(bytes)
	b.ReportAllocs()
	for b.Loop() {
		onWorkers(workers, run)
	}
	b.ReportMetric(macs*float64(b.N)/b.Elapsed().Seconds()/1e9, "GMAC/s")
}

func BenchmarkInt4(b *testing.B) {
	const k, group = 1024, 64
	w := benchInt4(k, group)
	for _, rows := range []int{1, 8} {
		x16, x8 := make([]int16, rows*k), make([]int8, rows*k)
		scale, sum := make([]float32, rows*k/group), make([]int32, rows*k/group)
		for _, workers := range []int{1, 2} {
			part := w.Outs / workers
			dst := make([]float32, rows*w.Outs)
			bytes := int64(len(w.Codes)*4 + len(w.Scale)*5)
			macs := float64(rows) * float64(w.Outs) * k
			name := map[int]string{1: "row", 8: "rows8"}[rows] + map[int]string{1: "/1", 2: "/2"}[workers]
			b.Run("A16/"+name, func(b *testing.B) {
				benchQuant(b, workers, rows, bytes, macs, func(i int) {
					p := w.Panel(i * part)
					MatMulInt4A16(dst[i*part:], w.Outs, x16, scale, sum, &p, rows, part)
				})
			})
			b.Run("A8/"+name, func(b *testing.B) {
				benchQuant(b, workers, rows, bytes, macs, func(i int) {
					p := w.Panel(i * part)
					MatMulInt4A8(dst[i*part:], w.Outs, x8, scale, sum, &p, rows, part)
				})
			})
		}
	}
}

func BenchmarkInt8(b *testing.B) {
	const k = 1024
	outs := benchBytes / k
	w, wScale, wSum := make([]int8, outs*k), make([]float32, outs), make([]int32, outs)
	for i := range w {
		w[i] = int8(i * 7)
	}
	for _, rows := range []int{1, 8} {
		x := make([]uint8, rows*k)
		scale, zero := make([]float32, rows), make([]int32, rows)
		for _, workers := range []int{1, 2} {
			part := outs / workers
			dst := make([]float32, rows*outs)
			name := map[int]string{1: "row", 8: "rows8"}[rows] + map[int]string{1: "/1", 2: "/2"}[workers]
			b.Run(name, func(b *testing.B) {
				benchQuant(b, workers, rows, int64(len(w)), float64(rows)*float64(outs)*k, func(i int) {
					MatMulInt8(dst[i*part:], outs, x, scale, zero, w[i*part*k:], wScale[i*part:], wSum[i*part:], rows, k, part)
				})
			})
		}
	}
}

// BenchmarkQuantRows multiplies many rows by matrices of a layer's size, which stay in the cache: the arithmetic of prefill and batches.
func BenchmarkQuantRows(b *testing.B) {
	const k, outs, group = 1024, 1024, 64
	w4 := NewInt4(outs, k, group)
	w8, wScale, wSum := make([]int8, outs*k), make([]float32, outs), make([]int32, outs)
	for _, rows := range []int{2, 4, 8, 64} {
		x16, x8, xu, dst := make([]int16, rows*k), make([]int8, rows*k), make([]uint8, rows*k), make([]float32, rows*outs)
		scale, sum := make([]float32, rows*k/group), make([]int32, rows*k/group)
		macs := float64(rows) * outs * k
		b.Run(fmt.Sprintf("int4-a16/%d", rows), func(b *testing.B) {
			benchQuant(b, 1, 1, int64(len(w4.Codes)*4), macs, func(int) { MatMulInt4A16(dst, outs, x16, scale, sum, w4, rows, outs) })
		})
		b.Run(fmt.Sprintf("int4-a8/%d", rows), func(b *testing.B) {
			benchQuant(b, 1, 1, int64(len(w4.Codes)*4), macs, func(int) { MatMulInt4A8(dst, outs, x8, scale, sum, w4, rows, outs) })
		})
		b.Run(fmt.Sprintf("int8/%d", rows), func(b *testing.B) {
			benchQuant(b, 1, 1, int64(len(w8)), macs, func(int) { MatMulInt8(dst, outs, xu, scale, sum, w8, wScale, wSum, rows, k, outs) })
		})
	}
}
