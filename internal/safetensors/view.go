package safetensors

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"unsafe"
)

// littleEndian tells whether this machine stores numbers as the format does.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// F32 returns the elements of a float32 tensor, row-major, without a copy. The slice is read-only and dies with
// Close. The shape must be exactly the one given (none for a scalar); errors are of type *TensorError.
func (s *Set) F32(name string, shape ...int) ([]float32, error) {
	t, err := s.find(name, shape, F32)
	if err != nil {
		return nil, err
	}
	return view[float32](t.data), nil
}

// BF16 returns the bits of a bfloat16 tensor (the upper halves of float32 numbers), as F32 does.
func (s *Set) BF16(name string, shape ...int) ([]uint16, error) {
	t, err := s.find(name, shape, BF16)
	if err != nil {
		return nil, err
	}
	return view[uint16](t.data), nil
}

// I32 returns the elements of an int32 tensor, as F32 does.
func (s *Set) I32(name string, shape ...int) ([]int32, error) {
	t, err := s.find(name, shape, I32)
	if err != nil {
		return nil, err
	}
	return view[int32](t.data), nil
}

// U32 returns the elements of a uint32 tensor, as F32 does.
func (s *Set) U32(name string, shape ...int) ([]uint32, error) {
	t, err := s.find(name, shape, U32)
	if err != nil {
		return nil, err
	}
	return view[uint32](t.data), nil
}

// Raw returns the bytes of a tensor of any dtype, nil when there is none of this
// name, as F32 does.
func (s *Set) Raw(name string) []byte {
	if t, ok := s.tensors[name]; ok && !s.closed {
		return t.data
	}
	return nil
}

// I64 returns the elements of an int64 tensor, as F32 does.
func (s *Set) I64(name string, shape ...int) ([]int64, error) {
	t, err := s.find(name, shape, I64)
	if err != nil {
		return nil, err
	}
	return view[int64](t.data), nil
}

// I8 returns the elements of an int8 tensor, as F32 does.
func (s *Set) I8(name string, shape ...int) ([]int8, error) {
	t, err := s.find(name, shape, I8)
	if err != nil {
		return nil, err
	}
	return view[int8](t.data), nil
}

// U8 returns the elements of a uint8 tensor, as F32 does.
func (s *Set) U8(name string, shape ...int) ([]byte, error) {
	t, err := s.find(name, shape, U8)
	if err != nil {
		return nil, err
	}
	return view[byte](t.data), nil
}

// Widen returns a fresh float32 copy of an F32, BF16 or F16 tensor, which outlives Close. It is meant for small
// tensors (norms, biases) and refuses NaN and infinity, which would spread through everything computed from them.
func (s *Set) Widen(name string, shape ...int) ([]float32, error) {
	t, err := s.find(name, shape, F32, BF16, F16)
	if err != nil {
		return nil, err
	}
	out := make([]float32, len(t.data)/t.DType.Size())
	switch t.DType {
	case F32:
		copy(out, view[float32](t.data))
	case BF16:
		for i, b := range view[uint16](t.data) {
			out[i] = math.Float32frombits(uint32(b) << 16)
		}
	case F16:
		for i, b := range view[uint16](t.data) {
			out[i] = widenF16(b)
		}
	}
	for i, v := range out {
		if math.Float32bits(v)&0x7f800000 == 0x7f800000 { // NaN or infinity
			return nil, &TensorError{t.File, name, "element", fmt.Sprintf("%d is %v", i, v), "finite numbers"}
		}
	}
	return out, nil
}

// find returns the tensor of this name if its dtype is one of those given and its shape the one given.
func (s *Set) find(name string, shape []int, dtypes ...DType) (*tensor, error) {
	if s.closed {
		return nil, &TensorError{s.file, name, "asked for after Close", "", "an open file"}
	}
	t, ok := s.tensors[name]
	if !ok {
		return nil, &TensorError{s.file, name, "missing", "", oneOf(dtypes) + " " + fmt.Sprint(shape)}
	}
	if !slices.Contains(dtypes, t.DType) {
		return nil, &TensorError{t.File, name, "dtype", string(t.DType), oneOf(dtypes)}
	}
	if !slices.Equal(t.Shape, shape) {
		return nil, &TensorError{t.File, name, "shape", fmt.Sprint(t.Shape), fmt.Sprint(shape)}
	}
	return t, nil
}

func oneOf(dtypes []DType) string {
	names := make([]string, len(dtypes))
	for i, d := range dtypes {
		names[i] = string(d)
	}
	return strings.Join(names, " or ")
}

// view reinterprets the bytes of a tensor as numbers. They are copied only where the address or the machine's byte
// order does not allow that: the format asks for no alignment.
func view[T float32 | uint16 | uint32 | int32 | int64 | int8 | byte](data []byte) []T {
	size := int(unsafe.Sizeof(*new(T)))
	if len(data) < size {
		return []T{}
	}
	p := unsafe.Pointer(unsafe.SliceData(data))
	if littleEndian && uintptr(p)%unsafe.Alignof(*new(T)) == 0 {
		return unsafe.Slice((*T)(p), len(data)/size)
	}
	out := make([]T, len(data)/size)
	if _, err := binary.Decode(data, binary.LittleEndian, out); err != nil {
		panic("safetensors: " + strconv.Itoa(len(data)) + " bytes do not fill a slice of their own size: " + err.Error())
	}
	return out
}

// widenF16 converts a half (1 sign, 5 exponent, 10 fraction bits) exactly.
func widenF16(h uint16) float32 {
	sign := uint32(h&0x8000) << 16
	exp := uint32(h>>10) & 0x1f
	frac := uint32(h & 0x3ff)
	switch exp {
	case 0: // zero and subnormals: frac * 2^-24, exact in float32
		v := float32(frac) / (1 << 24)
		return math.Float32frombits(math.Float32bits(v) | sign)
	case 0x1f: // infinity and NaN keep their fraction
		return math.Float32frombits(sign | 0xff<<23 | frac<<13)
	}
	return math.Float32frombits(sign | (exp+127-15)<<23 | frac<<13)
}
