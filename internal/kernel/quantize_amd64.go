//go:build !purego

package kernel

import (
	"math"

	"github.com/mynah-tts/mynah/internal/cpu"
)

//go:noescape
func peakBitsAVX2(x *float32, n int) uint32

//go:noescape
func rangeAVX2(x *float32, n int) (low, high float32)

//go:noescape
func codesI16AVX2(q *int16, x *float32, n int, inverse float32) (sum int32)

//go:noescape
func codesI8AVX2(q *int8, x *float32, n int, inverse float32) (sum int32)

//go:noescape
func codesU8AVX2(q *uint8, x *float32, n int, inverse float32, zero int32)

// quantizeLanes is how many values the assembly takes at once; rows of other lengths go to the generic twin.
const quantizeLanes = 8

func quantizeI16(q []int16, scale []float32, sum []int32, x []float32, group int) {
	if level == cpu.Generic || len(x)%group != 0 {
		quantizeI16Generic(q, scale, sum, x, group)
		return
	}
	for g := range scale {
		lo, inverse := g*group, float32(0)
		if scale[g], inverse = groupScale(x[lo:lo+group], math.MaxInt16); inverse == 0 {
			clear(q[lo : lo+group])
			sum[g] = 0
			continue
		}
		sum[g] = codesI16AVX2(&q[lo], &x[lo], group, inverse)
	}
}

func quantizeI8(q []int8, scale []float32, sum []int32, x []float32, group int) {
	if level == cpu.Generic || len(x)%group != 0 {
		quantizeI8Generic(q, scale, sum, x, group)
		return
	}
	for g := range scale {
		lo, inverse := g*group, float32(0)
		if scale[g], inverse = groupScale(x[lo:lo+group], math.MaxInt8); inverse == 0 {
			clear(q[lo : lo+group])
			sum[g] = 0
			continue
		}
		sum[g] = codesI8AVX2(&q[lo], &x[lo], group, inverse)
	}
}

// groupScale is the scale of a group and what its values are multiplied by; an inverse of 0 means that all codes are 0.
func groupScale(x []float32, most float32) (scale, inverse float32) {
	peak := math.Float32frombits(peakBitsAVX2(&x[0], len(x)))
	switch {
	case peak == 0:
		return 0, 0
	case !(peak <= math.MaxFloat32):
		return float32(math.NaN()), 0
	}
	if inverse = most / peak; inverse > math.MaxFloat32 {
		return 0, 0
	}
	return peak / most, inverse
}

func quantizeU8(q []uint8, x []float32) (float32, int32) {
	if level == cpu.Generic || len(x)%quantizeLanes != 0 || len(x) == 0 {
		return quantizeU8Generic(q, x)
	}
	if peak := math.Float32frombits(peakBitsAVX2(&x[0], len(x))); !(peak <= math.MaxFloat32) {
		clear(q)
		return float32(math.NaN()), 0
	}
	low, high := rangeAVX2(&x[0], len(x))
	scale, inverse, zero := affineU8(low, high)
	if scale == 0 {
		clear(q)
		return 0, 0
	}
	codesU8AVX2(&q[0], &x[0], len(x), inverse, zero)
	return scale, zero
}
