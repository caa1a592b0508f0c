//go:build !purego

package kernel

import (
	"unsafe"

	"github.com/mynah-tts/mynah/internal/cpu"
)

//go:noescape
func addF32AVX2(dst, x *float32, n int)

//go:noescape
func mulF32AVX2(dst, x *float32, n int)

//go:noescape
func mulAddF32AVX2(dst, a, b *float32, n int)

//go:noescape
func mulAddF32AVX512(dst, a, b *float32, n int)

//go:noescape
func axpyF32AVX2(dst *float32, a float32, x *float32, n int)

//go:noescape
func axpyF32AVX512(dst *float32, a float32, x *float32, n int)

//go:noescape
func weightedSumF32AVX2(dst, p, v *float32, ldv, n, d int)

//go:noescape
func weightedSumF32AVX512(dst, p, v *float32, ldv, n, d int)

//go:noescape
func scaleMulF32AVX2(dst, x *float32, scale float32, w *float32, n int)

//go:noescape
func scaleF32AVX2(x *float32, a float32, n int)

//go:noescape
func rotateF32AVX2(a, b, cos, sin *float32, n int)

//go:noescape
func widenBF16AVX2(dst *float32, src *uint16, n int)

//go:noescape
func finitePrefixAVX2(x *float32, n int) int

// Where there is no version for AVX-512 the one for AVX2 runs: those kernels wait for memory or are short.

func addF32(dst, x []float32) {
	if level == cpu.Generic {
		addF32Generic(dst, x)
		return
	}
	addF32AVX2(unsafe.SliceData(dst), unsafe.SliceData(x), len(dst))
}

func mulF32(dst, x []float32) {
	if level == cpu.Generic {
		mulF32Generic(dst, x)
		return
	}
	mulF32AVX2(unsafe.SliceData(dst), unsafe.SliceData(x), len(dst))
}

func mulAddF32(dst, a, b []float32) {
	switch level {
	case cpu.AVX512:
		mulAddF32AVX512(unsafe.SliceData(dst), unsafe.SliceData(a), unsafe.SliceData(b), len(dst))
	case cpu.AVX2:
		mulAddF32AVX2(unsafe.SliceData(dst), unsafe.SliceData(a), unsafe.SliceData(b), len(dst))
	default:
		mulAddF32Generic(dst, a, b)
	}
}

func axpyF32(dst []float32, a float32, x []float32) {
	switch level {
	case cpu.AVX512:
		axpyF32AVX512(unsafe.SliceData(dst), a, unsafe.SliceData(x), len(dst))
	case cpu.AVX2:
		axpyF32AVX2(unsafe.SliceData(dst), a, unsafe.SliceData(x), len(dst))
	default:
		axpyF32Generic(dst, a, x)
	}
}

func weightedSumF32(dst, p, v []float32, ldv int) {
	switch level {
	case cpu.AVX512:
		weightedSumF32AVX512(unsafe.SliceData(dst), unsafe.SliceData(p), unsafe.SliceData(v), 4*ldv, len(p), len(dst))
	case cpu.AVX2:
		weightedSumF32AVX2(unsafe.SliceData(dst), unsafe.SliceData(p), unsafe.SliceData(v), 4*ldv, len(p), len(dst))
	default:
		weightedSumF32Generic(dst, p, v, ldv)
	}
}

func scaleMulF32(dst, x []float32, scale float32, w []float32) {
	if level == cpu.Generic {
		scaleMulF32Generic(dst, x, scale, w)
		return
	}
	scaleMulF32AVX2(unsafe.SliceData(dst), unsafe.SliceData(x), scale, unsafe.SliceData(w), len(dst))
}

func scaleF32(x []float32, a float32) {
	if level == cpu.Generic {
		scaleF32Generic(x, a)
		return
	}
	scaleF32AVX2(unsafe.SliceData(x), a, len(x))
}

func rotateF32(a, b, cos, sin []float32) {
	if level == cpu.Generic {
		rotateF32Generic(a, b, cos, sin)
		return
	}
	rotateF32AVX2(unsafe.SliceData(a), unsafe.SliceData(b), unsafe.SliceData(cos), unsafe.SliceData(sin), len(a))
}

func widenBF16(dst []float32, src []uint16) {
	if level == cpu.Generic {
		widenBF16Generic(dst, src)
		return
	}
	n := len(src) &^ 7
	widenBF16AVX2(unsafe.SliceData(dst), unsafe.SliceData(src), n)
	widenBF16Generic(dst[n:], src[n:])
}

func firstNonFinite(x []float32) int {
	if level == cpu.Generic {
		return firstNonFiniteGeneric(x)
	}
	n := finitePrefixAVX2(unsafe.SliceData(x), len(x)&^7)
	if i := firstNonFiniteGeneric(x[n:]); i >= 0 {
		return n + i
	}
	return -1
}
