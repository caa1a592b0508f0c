//go:build !purego

package kernel

import (
	"math"
	"unsafe"

	"github.com/mynah-tts/mynah/internal/cpu"
)

// Tables of the assembly, in the order in which it reads them.

//lint:ignore U1000 read by the assembly
var expTable = [...]float32{math.Log2E, roundMagic + 127, ln2Hi, ln2Lo, exp6, exp5, exp4, exp3, exp2, 1, expMin, expMax}

//lint:ignore U1000 read by the assembly
var eluFloor float32 = eluMin

//lint:ignore U1000 read by the assembly
var geluTable = [...]float32{-0.5, geluP, gelu6, gelu5, gelu4, gelu3, gelu2, gelu1}

//lint:ignore U1000 read by the assembly
var snakeTable = [...]float32{1 / math.Pi, float32(math.Pi), math.Pi - piRounded, sin12, sin10, sin8, sin6, sin4, 1, sinMax, -sinMax}

const piRounded = 3.14159274101257324 // π as a float32

const signBit = 1 << 31

//lint:ignore U1000 read by the assembly
var signBits = [...]uint32{signBit, signBit, signBit, signBit, signBit, signBit, signBit, signBit}

//lint:ignore U1000 read by the assembly
var absBits = [...]uint32{signBit - 1, signBit - 1, signBit - 1, signBit - 1, signBit - 1, signBit - 1, signBit - 1, signBit - 1}

//go:noescape
func maxF32AVX2(x *float32, n int) float32

//go:noescape
func expSumF32AVX2(x, sums *float32, shift float32, n int)

//go:noescape
func siluF32AVX2(x *float32, n int)

//go:noescape
func siluMulF32AVX2(dst, gate, up *float32, n int)

//go:noescape
func siluMulF32AVX512(dst, gate, up *float32, n int)

//go:noescape
func geluF32AVX2(x *float32, n int)

//go:noescape
func eluF32AVX2(dst, x *float32, n int)

//go:noescape
func eluF32AVX512(dst, x *float32, n int)

//go:noescape
func snakeF32AVX2(dst, x, a, ib *float32, n int)

//go:noescape
func snakeF32AVX512(dst, x, a, ib *float32, n int)

func maxF32(x []float32) float32 {
	if level == cpu.Generic || len(x) < 8 {
		return maxF32Generic(x)
	}
	return maxF32AVX2(&x[0], len(x))
}

func expSumF32(x []float32, shift float32) float32 {
	if level == cpu.Generic {
		return expSumF32Generic(x, shift)
	}
	var sums [8]float32
	expSumF32AVX2(unsafe.SliceData(x), &sums[0], shift, len(x))
	return sumLanes(&sums)
}

func siluF32(x []float32) {
	if level == cpu.Generic {
		siluF32Generic(x)
		return
	}
	siluF32AVX2(unsafe.SliceData(x), len(x))
}

func siluMulF32(dst, gate, up []float32) {
	switch level {
	case cpu.AVX512:
		siluMulF32AVX512(unsafe.SliceData(dst), unsafe.SliceData(gate), unsafe.SliceData(up), len(dst))
	case cpu.AVX2:
		siluMulF32AVX2(unsafe.SliceData(dst), unsafe.SliceData(gate), unsafe.SliceData(up), len(dst))
	default:
		siluMulF32Generic(dst, gate, up)
	}
}

func geluF32(x []float32) {
	if level == cpu.Generic {
		geluF32Generic(x)
		return
	}
	geluF32AVX2(unsafe.SliceData(x), len(x))
}

func eluF32(dst, x []float32) {
	switch level {
	case cpu.AVX512:
		eluF32AVX512(unsafe.SliceData(dst), unsafe.SliceData(x), len(dst))
	case cpu.AVX2:
		eluF32AVX2(unsafe.SliceData(dst), unsafe.SliceData(x), len(dst))
	default:
		eluF32Generic(dst, x)
	}
}

func snakeF32(dst, x, a, ib []float32) {
	switch level {
	case cpu.AVX512:
		snakeF32AVX512(unsafe.SliceData(dst), unsafe.SliceData(x), unsafe.SliceData(a), unsafe.SliceData(ib), len(dst))
	case cpu.AVX2:
		snakeF32AVX2(unsafe.SliceData(dst), unsafe.SliceData(x), unsafe.SliceData(a), unsafe.SliceData(ib), len(dst))
	default:
		snakeF32Generic(dst, x, a, ib)
	}
}
