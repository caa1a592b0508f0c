//go:build !purego

package kernel

import (
	"unsafe"

	"github.com/mynah-tts/mynah/internal/cpu"
)

// haveAssembly tells that this build has kernels above the generic level.
const haveAssembly = true

//go:noescape
func dotF32AVX2(x, y *float32, n int) float32

//go:noescape
func dotF32AVX512(x, y *float32, n int) float32

//go:noescape
func dotBF16AVX2(x *float32, w *uint16, n int) float32

//go:noescape
func dotBF16AVX512(x *float32, w *uint16, n int) float32

func dotF32(x, y []float32) float32 {
	switch level {
	case cpu.AVX512:
		return dotF32AVX512(unsafe.SliceData(x), unsafe.SliceData(y), len(x))
	case cpu.AVX2:
		return dotF32AVX2(unsafe.SliceData(x), unsafe.SliceData(y), len(x))
	}
	return dotF32Generic(x, y)
}

func dotBF16(x []float32, w []uint16) float32 {
	switch level {
	case cpu.AVX512:
		return dotBF16AVX512(unsafe.SliceData(x), unsafe.SliceData(w), len(x))
	case cpu.AVX2:
		if len(x) < 8 {
			var px [8]float32
			var pw [8]uint16
			copy(px[:], x)
			copy(pw[:], w)
			return dotBF16AVX2(&px[0], &pw[0], len(px))
		}
		return dotBF16AVX2(&x[0], &w[0], len(x))
	}
	return dotBF16Generic(x, w)
}
