package safetensors

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
	"unsafe"
)

// Tensor is one tensor for Write. Data is called once, when the tensor's turn has come, and writes exactly the bytes
// that DType and Shape ask for, little-endian and row-major. It may be nil for a tensor without elements.
type Tensor struct {
	Name  string
	DType DType
	Shape []int
	Data  func(w io.Writer) error
}

// Bytes makes a Data function of bytes that are in memory.
func Bytes(b []byte) func(io.Writer) error {
	return func(w io.Writer) error {
		_, err := w.Write(b)
		return err
	}
}

// Values makes a Data function of numbers that are in memory.
func Values[T float32 | uint16 | uint32 | int32 | int64 | int8](v []T) func(io.Writer) error {
	return Bytes(Encode(v))
}

// Encode returns numbers as the format stores them. They are copied only where the
// machine's byte order asks for that.
func Encode[T float32 | uint16 | uint32 | int32 | int64 | int8](v []T) []byte {
	if len(v) == 0 {
		return nil
	}
	n := len(v) * int(unsafe.Sizeof(v[0]))
	if littleEndian {
		return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(v))), n)
	}
	b, err := binary.Append(make([]byte, 0, n), binary.LittleEndian, v)
	if err != nil {
		panic(err) // only a type without a fixed size could do this
	}
	return b
}

// cacheLine is what the beginnings of tensors that fill whole lines are multiples of,
// so that a vector load of a mapped matrix touches one line.
const cacheLine = 64 // bytes

// Write writes one safetensors file. Only the header is built in memory; the tensors stream through their Data
// functions. Those that fill whole cache lines come first and each begins at one; the others follow by falling element
// size, as the format's own library lays out all, so that each begins at a multiple of its element size. Metadata may
// be nil. After an error w holds part of a file.
func Write(w io.Writer, tensors []Tensor, metadata map[string]string) error {
	sorted := slices.Clone(tensors)
	slices.SortFunc(sorted, func(a, b Tensor) int {
		return cmp.Or(cmp.Compare(ragged(a), ragged(b)), cmp.Compare(b.DType.Size(), a.DType.Size()), cmp.Compare(a.Name, b.Name))
	})
	header, sizes, err := makeHeader(sorted, metadata)
	if err != nil {
		return err
	}
	if _, err := w.Write(header); err != nil {
		return fmt.Errorf("safetensors: write header: %w", err)
	}
	for i, t := range sorted {
		c := &countWriter{w: w, left: sizes[i]}
		if t.Data != nil {
			if err := t.Data(c); err != nil {
				return fmt.Errorf("safetensors: write tensor %s: %w", printable(t.Name), err)
			}
		}
		if c.left != 0 {
			return fmt.Errorf("safetensors: write tensor %s: %d bytes given, wanted %d", printable(t.Name), sizes[i]-c.left, sizes[i])
		}
	}
	return nil
}

// ragged is 0 for a tensor that fills whole cache lines and 1 for others.
func ragged(t Tensor) int {
	if n, err := byteCount(t.DType, t.Shape); err == nil && n%cacheLine == 0 {
		return 0
	}
	return 1
}

// makeHeader returns the length and the padded JSON for tensors in their order, and the bytes of each tensor.
func makeHeader(tensors []Tensor, metadata map[string]string) (header []byte, sizes []int, err error) {
	b := bytes.NewBuffer(make([]byte, lengthBytes))
	b.WriteByte('{')
	comma := ""
	if len(metadata) > 0 {
		for k, v := range metadata {
			if !utf8.ValidString(k) || !utf8.ValidString(v) {
				return nil, nil, fmt.Errorf("safetensors: write metadata %s: not UTF-8", printable(k))
			}
		}
		fmt.Fprintf(b, "%q:%s", metadataKey, mustJSON(metadata))
		comma = ","
	}
	seen := make(map[string]bool, len(tensors))
	at := 0
	for _, t := range tensors {
		n, err := byteCount(t.DType, t.Shape)
		switch {
		case err != nil:
			return nil, nil, fmt.Errorf("safetensors: write tensor %s: shape %v has a %w", printable(t.Name), t.Shape, err)
		case t.Name == metadataKey || !utf8.ValidString(t.Name):
			return nil, nil, fmt.Errorf("safetensors: write tensor %s: not a name for a tensor", printable(t.Name))
		case seen[t.Name]:
			return nil, nil, fmt.Errorf("safetensors: write tensor %s: given twice, wanted once", printable(t.Name))
		case len(t.Shape) > maxRank:
			return nil, nil, fmt.Errorf("safetensors: write tensor %s: %d dimensions, wanted at most %d", printable(t.Name), len(t.Shape), maxRank)
		case at+n < at:
			return nil, nil, fmt.Errorf("safetensors: write tensor %s: file size overflows", printable(t.Name))
		}
		seen[t.Name] = true
		fmt.Fprintf(b, `%s%s:{"dtype":%q,"shape":%s,"data_offsets":[%d,%d]}`, comma, mustJSON(t.Name), string(t.DType),
			mustJSON(append([]int{}, t.Shape...)), at, at+n)
		comma = ","
		at += n
		sizes = append(sizes, n)
	}
	b.WriteByte('}')
	b.WriteString(strings.Repeat(" ", (cacheLine-b.Len()%cacheLine)%cacheLine)) // the data begins at a cache line
	if b.Len()-lengthBytes > maxHeaderBytes {
		return nil, nil, fmt.Errorf("safetensors: write header of %d bytes, wanted at most %d", b.Len()-lengthBytes, maxHeaderBytes)
	}
	header = b.Bytes()
	binary.LittleEndian.PutUint64(header, uint64(len(header)-lengthBytes))
	return header, sizes, nil
}

// mustJSON encodes strings, maps of strings and ints, for which encoding/json cannot fail.
func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// countWriter passes on at most left bytes and refuses more.
type countWriter struct {
	w    io.Writer
	left int
}

func (c *countWriter) Write(p []byte) (int, error) {
	if len(p) > c.left {
		return 0, fmt.Errorf("%d bytes more than dtype and shape ask for", len(p)-c.left)
	}
	n, err := c.w.Write(p)
	c.left -= n
	return n, err
}
