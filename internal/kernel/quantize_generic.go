package kernel

import "math"

// signed is an activation code that is symmetric about 0.
type signed interface{ int8 | int16 }

func quantizeI16Generic(q []int16, scale []float32, sum []int32, x []float32, group int) {
	for g := range scale {
		lo := g * group
		scale[g], sum[g] = quantizeGroup(q[lo:lo+group], x[lo:min(lo+group, len(x))], math.MaxInt16, func(i int) int { return i })
	}
}

func quantizeI8Generic(q []int8, scale []float32, sum []int32, x []float32, group int) {
	for g := range scale {
		lo := g * group
		scale[g], sum[g] = quantizeGroup(q[lo:lo+group], x[lo:min(lo+group, len(x))], math.MaxInt8,
			func(i int) int { return i&^(Int4Block-1) + i8Place[i%Int4Block] })
	}
}

// quantizeGroup puts the code of x[i] at q[place(i)].
func quantizeGroup[T signed](q []T, x []float32, most float32, place func(int) int) (scale float32, sum int32) {
	var peak float32
	for _, v := range x {
		// NaN and Inf leave a peak that is not finite: max would keep a NaN, and so does this.
		if v != v {
			peak = v
		}
		if v < 0 {
			v = -v
		}
		if v > peak {
			peak = v
		}
	}
	clear(q)
	if peak == 0 {
		return 0, 0
	}
	if !(peak <= math.MaxFloat32) {
		return float32(math.NaN()), 0
	}
	inverse := most / peak
	if inverse > math.MaxFloat32 { // a peak among the subnormals, as good as 0
		return 0, 0
	}
	for i, v := range x {
		code := int32(math.RoundToEven(float64(float32(v * inverse))))
		q[place(i)] = T(code)
		sum += code
	}
	return peak / most, sum
}

func quantizeU8Generic(q []uint8, x []float32) (scale float32, zero int32) {
	var low, high float32
	finite := true
	for _, v := range x {
		low, high = min(low, v), max(high, v)
		finite = finite && v-v == 0
	}
	clear(q)
	if !finite {
		return float32(math.NaN()), 0
	}
	scale, inverse, zero := affineU8(low, high)
	if scale == 0 {
		return 0, 0
	}
	encodeU8(q[:len(x)], x, inverse, zero)
	for i := len(x); i < len(q); i++ {
		q[i] = uint8(zero)
	}
	return scale, zero
}

// levelsU8 is the largest code.
const levelsU8 = 255

// affineU8 chooses scale and zero point for a range that holds 0; the scale is 0 where everything is as good as 0.
func affineU8(low, high float32) (scale, inverse float32, zero int32) {
	scale = float32((float64(high) - float64(low)) / levelsU8)
	inverse = 1 / scale
	if scale == 0 || !(inverse <= math.MaxFloat32) {
		return 0, 0, 0
	}
	return scale, inverse, int32(min(max(math.RoundToEven(-float64(low)/float64(scale)), 0), levelsU8))
}

func encodeU8(q []uint8, x []float32, inverse float32, zero int32) {
	for i, v := range x {
		code := int32(math.RoundToEven(float64(float32(v*inverse)))) + zero
		q[i] = uint8(min(max(code, 0), levelsU8))
	}
}
