package safetensors

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math"
	"testing"
	"testing/fstest"
)

func TestWrite(t *testing.T) {
	b := encode(t, sample())
	n := binary.LittleEndian.Uint64(b)
	if n%8 != 0 {
		t.Errorf("header of %d bytes, wanted a multiple of 8", n)
	}
	var header struct {
		Meta map[string]string `json:"__metadata__"`
	}
	if err := json.Unmarshal(b[8:8+n], &header); err != nil || header.Meta["format"] != "pt" || len(header.Meta) != 1 {
		t.Errorf("metadata %v (%v), wanted format: pt", header.Meta, err)
	}
	s, err := openBytes(b)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	checkSample(t, s)
	for _, name := range s.Names() {
		if x := s.tensors[name]; x.begin%x.DType.Size() != 0 {
			t.Errorf("tensor %s begins at %d, wanted a multiple of %d", name, x.begin, x.DType.Size())
		}
	}
	if again := encode(t, sample()); !bytes.Equal(b, again) {
		t.Error("two writings of the same tensors differ")
	}
}

func TestWriteNothing(t *testing.T) {
	var b bytes.Buffer
	if err := Write(&b, nil, nil); err != nil {
		t.Fatal(err)
	}
	s, err := openBytes(b.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	if len(s.Names()) != 0 || s.Close() != nil {
		t.Errorf("names %v, wanted none", s.Names())
	}
}

// TestWriteStreams writes a tensor in pieces through an io.Reader, which is how a file larger than memory is made.
func TestWriteStreams(t *testing.T) {
	src := bytes.Repeat([]byte{1, 2, 3, 4, 5}, 1000)
	var b bytes.Buffer
	err := Write(&b, []Tensor{{"x", U8, []int{5, 1000}, func(w io.Writer) error {
		_, err := io.CopyBuffer(w, struct{ io.Reader }{bytes.NewReader(src)}, make([]byte, 7))
		return err
	}}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(fstest.MapFS{"m.safetensors": {Data: b.Bytes()}}, "m.safetensors")
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	x, err := s.U8("x", 5, 1000)
	wantValues(t, "x", x, err, src...)
}

func TestWriteRefuses(t *testing.T) {
	ok := Bytes([]byte{1, 2, 3, 4})
	failed := errors.New("disk on fire")
	for _, c := range []struct {
		name    string
		tensors []Tensor
		meta    map[string]string
		want    string // after "safetensors: write "
	}{
		{"unknown dtype", []Tensor{{"x", "F31", []int{1}, ok}}, nil, "tensor x: shape [1] has a dtype F31"},
		{"negative dimension", []Tensor{{"x", U8, []int{-1}, ok}}, nil, "tensor x: shape [-1] has a dimension -1"},
		{"overflow", []Tensor{{"x", F32, []int{math.MaxInt, 2}, ok}}, nil, "tensor x: shape [9223372036854775807 2] has a size beyond 9223372036854775807 bytes"},
		{"overflow of the sum", []Tensor{{"x", U8, []int{math.MaxInt}, ok}, {"y", U8, []int{1}, ok}}, nil, "tensor y: file size overflows"},
		{"too many dimensions", []Tensor{{"x", U8, make([]int, 17), ok}}, nil, "tensor x: 17 dimensions, wanted at most 16"},
		{"name twice", []Tensor{{"x", U8, []int{4}, ok}, {"x", U8, []int{4}, ok}}, nil, "tensor x: given twice, wanted once"},
		{"name of the metadata", []Tensor{{"__metadata__", U8, []int{4}, ok}}, nil, "tensor __metadata__: not a name for a tensor"},
		{"name is not UTF-8", []Tensor{{"\xff", U8, []int{4}, ok}}, nil, `tensor "\xff": not a name for a tensor`},
		{"metadata is not UTF-8", nil, map[string]string{"k": "\xff"}, "metadata k: not UTF-8"},
		{"too few bytes", []Tensor{{"x", U8, []int{5}, ok}}, nil, "tensor x: 4 bytes given, wanted 5"},
		{"no data", []Tensor{{"x", U8, []int{5}, nil}}, nil, "tensor x: 0 bytes given, wanted 5"},
		{"too many bytes", []Tensor{{"x", U8, []int{3}, ok}}, nil, "tensor x: 1 bytes more than dtype and shape ask for"},
		{"data fails", []Tensor{{"x", U8, []int{3}, func(io.Writer) error { return failed }}}, nil, "tensor x: disk on fire"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wantErr(t, Write(io.Discard, c.tensors, c.meta), "safetensors: write "+c.want)
		})
	}
	err := Write(failingWriter{failed}, sample(), nil)
	if !errors.Is(err, failed) {
		t.Errorf("got %v, wanted the writer's own error", err)
	}
}

type failingWriter struct{ err error }

func (w failingWriter) Write([]byte) (int, error) { return 0, w.err }
