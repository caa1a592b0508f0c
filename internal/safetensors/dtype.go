package safetensors

import (
	"fmt"
	"math"
)

// DType is the element type of a tensor, spelled as in the format.
type DType string

// The element types that Open accepts. Only some of them have a typed view; the others can stand in a file, so that
// asking for such a tensor names its dtype.
const (
	BOOL   DType = "BOOL"
	U8     DType = "U8"
	I8     DType = "I8"
	F8E5M2 DType = "F8_E5M2"
	F8E4M3 DType = "F8_E4M3"
	I16    DType = "I16"
	U16    DType = "U16"
	F16    DType = "F16"
	BF16   DType = "BF16"
	I32    DType = "I32"
	U32    DType = "U32"
	F32    DType = "F32"
	I64    DType = "I64"
	U64    DType = "U64"
	F64    DType = "F64"
)

const knownDTypes = "BOOL, U8, I8, F8_E5M2, F8_E4M3, I16, U16, F16, BF16, I32, U32, F32, I64, U64 or F64"

// Size returns the bytes of one element, 0 for a dtype that is not known.
func (d DType) Size() int {
	switch d {
	case BOOL, U8, I8, F8E5M2, F8E4M3:
		return 1
	case I16, U16, F16, BF16:
		return 2
	case I32, U32, F32:
		return 4
	case I64, U64, F64:
		return 8
	}
	return 0
}

// byteCount returns the bytes that a tensor of this dtype and shape takes. It fails on an unknown dtype, on a
// negative dimension and when the product does not fit an int; the message has no file and tensor yet.
func byteCount(d DType, shape []int) (int, error) {
	n := d.Size()
	if n == 0 {
		return 0, fmt.Errorf("dtype %s", printable(string(d)))
	}
	for _, dim := range shape {
		if dim < 0 {
			return 0, fmt.Errorf("dimension %d", dim)
		}
		if dim != 0 && n > math.MaxInt/dim {
			return 0, fmt.Errorf("size beyond %d bytes", math.MaxInt)
		}
		n *= dim
	}
	return n, nil
}
