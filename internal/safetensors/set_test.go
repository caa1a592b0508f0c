package safetensors

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"unsafe"
)

// sample is one small tensor of every dtype that has a view.
func sample() []Tensor {
	return []Tensor{
		{"f32", F32, []int{2, 3}, Values([]float32{1, -2, 3.5, 0, 1e-40, 6})},
		{"bf16", BF16, []int{3}, Values([]uint16{0x3f80, 0xc000, 0x0001})},
		{"f16", F16, []int{4}, Values([]uint16{0x3c00, 0x8001, 0x03ff, 0x7bff})},
		{"i32", I32, []int{2}, Values([]int32{-1, math.MinInt32})},
		{"i64", I64, []int{1}, Values([]int64{math.MinInt64})},
		{"i8", I8, []int{3}, Values([]int8{-128, 0, 127})},
		{"u8", U8, []int{1, 5}, Bytes([]byte{1, 2, 3, 4, 255})},
		{"scalar", F32, nil, Values([]float32{42})},
		{"none", F32, []int{0, 7}, nil},
		{"nan", BF16, []int{3}, Values([]uint16{0, 0x7fc0, 0})},
		{"inf", F16, []int{2}, Values([]uint16{0, 0xfc00})},
	}
}

func encode(t *testing.T, tensors []Tensor) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := Write(&b, tensors, map[string]string{"format": "pt"}); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// misalign returns the same file with a header one byte longer, so that no tensor stands at its own alignment.
func misalign(b []byte) []byte {
	n := binary.LittleEndian.Uint64(b)
	out := binary.LittleEndian.AppendUint64(nil, n+1)
	out = append(out, b[8:8+n]...)
	out = append(out, ' ')
	return append(out, b[8+n:]...)
}

func TestViews(t *testing.T) {
	plain := encode(t, sample())
	dir := t.TempDir()
	for name, b := range map[string][]byte{"plain.safetensors": plain, "odd.safetensors": misalign(plain)} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	memory := fstest.MapFS{"plain.safetensors": {Data: plain}, "odd.safetensors": {Data: misalign(plain)}}
	for _, c := range []struct {
		name    string
		fsys    fs.FS
		file    string
		aligned bool
	}{
		{"mapped", os.DirFS(dir), "plain.safetensors", true},
		{"mapped, misaligned", os.DirFS(dir), "odd.safetensors", false},
		{"in memory", memory, "plain.safetensors", true},
		{"in memory, misaligned", memory, "odd.safetensors", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := Open(c.fsys, c.file)
			if err != nil {
				t.Fatal(err)
			}
			checkSample(t, s)
			v, err := s.F32("f32", 2, 3)
			if err != nil {
				t.Fatal(err)
			}
			if uintptr(unsafe.Pointer(&v[0]))%4 != 0 {
				t.Errorf("view at %p is not aligned", v)
			}
			inFile := uintptr(unsafe.Pointer(&v[0])) == uintptr(unsafe.Pointer(&s.tensors["f32"].data[0]))
			if littleEndian && inFile != c.aligned {
				t.Errorf("view is the file's own bytes: %v, wanted %v", inFile, c.aligned)
			}
			if err := s.Close(); err != nil {
				t.Errorf("Close: %v", err)
			}
			if err := s.Close(); err != nil {
				t.Errorf("second Close: %v", err)
			}
			_, err = s.F32("f32", 2, 3)
			wantErr(t, err, "safetensors: "+c.file+": tensor f32: asked for after Close, wanted an open file")
		})
	}
}

// checkSample compares every view of a set that holds sample.
func checkSample(t *testing.T, s *Set) {
	t.Helper()
	f32, err := s.F32("f32", 2, 3)
	wantValues(t, "f32", f32, err, 1, -2, 3.5, 0, 1e-40, 6)
	bf16, err := s.BF16("bf16", 3)
	wantValues(t, "bf16", bf16, err, 0x3f80, 0xc000, 0x0001)
	i32, err := s.I32("i32", 2)
	wantValues(t, "i32", i32, err, -1, math.MinInt32)
	i64, err := s.I64("i64", 1)
	wantValues(t, "i64", i64, err, math.MinInt64)
	i8, err := s.I8("i8", 3)
	wantValues(t, "i8", i8, err, -128, 0, 127)
	u8, err := s.U8("u8", 1, 5)
	wantValues(t, "u8", u8, err, 1, 2, 3, 4, 255)
	scalar, err := s.F32("scalar")
	wantValues(t, "scalar", scalar, err, 42)
	none, err := s.F32("none", 0, 7)
	wantValues(t, "none", none, err)
	wide, err := s.Widen("f32", 2, 3)
	wantValues(t, "f32 widened", wide, err, 1, -2, 3.5, 0, 1e-40, 6)
	wide, err = s.Widen("bf16", 3)
	wantValues(t, "bf16 widened", wide, err, 1, -2, math.Float32frombits(0x10000))
	wide, err = s.Widen("f16", 4)
	wantValues(t, "f16 widened", wide, err, 1, -1.0/(1<<24), 1023.0/(1<<24), 65504)
	if want := int64(6*4 + 3*2 + 4*2 + 2*4 + 8 + 3 + 5 + 4 + 3*2 + 2*2); s.Bytes() != want {
		t.Errorf("Bytes() = %d, wanted %d", s.Bytes(), want)
	}
	if want := []string{"bf16", "f16", "f32", "i32", "i64", "i8", "inf", "nan", "none", "scalar", "u8"}; !slices.Equal(s.Names(), want) {
		t.Errorf("Names() = %v, wanted %v", s.Names(), want)
	}
}

func wantValues[T comparable](t *testing.T, what string, got []T, err error, want ...T) {
	t.Helper()
	if err != nil {
		t.Errorf("%s: %v", what, err)
	}
	if got == nil || !slices.Equal(got, want) {
		t.Errorf("%s: got %#v, wanted %v", what, got, want)
	}
}

func wantErr(t *testing.T, err error, want string) {
	t.Helper()
	if err == nil || err.Error() != want {
		t.Errorf("\ngot    %v\nwanted %s", err, want)
	}
}

func TestViewErrors(t *testing.T) {
	s, err := openBytes(encode(t, sample()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct {
		name string
		get  func() error
		want string // after "safetensors: m.safetensors: tensor "
	}{
		{"missing", func() error { _, err := s.F32("talker.x", 4, 4); return err }, "talker.x: missing, wanted F32 [4 4]"},
		{"missing for Widen", func() error { _, err := s.Widen("x", 4); return err }, "x: missing, wanted F32 or BF16 or F16 [4]"},
		{"dtype", func() error { _, err := s.F32("bf16", 3); return err }, "bf16: dtype BF16, wanted F32"},
		{"dtype of BF16", func() error { _, err := s.BF16("f16", 4); return err }, "f16: dtype F16, wanted BF16"},
		{"dtype of I32", func() error { _, err := s.I32("i64", 1); return err }, "i64: dtype I64, wanted I32"},
		{"dtype of I64", func() error { _, err := s.I64("i32", 2); return err }, "i32: dtype I32, wanted I64"},
		{"dtype of I8", func() error { _, err := s.I8("u8", 1, 5); return err }, "u8: dtype U8, wanted I8"},
		{"dtype of U8", func() error { _, err := s.U8("i8", 3); return err }, "i8: dtype I8, wanted U8"},
		{"dtype of Widen", func() error { _, err := s.Widen("i8", 3); return err }, "i8: dtype I8, wanted F32 or BF16 or F16"},
		{"shape", func() error { _, err := s.F32("f32", 3, 2); return err }, "f32: shape [2 3], wanted [3 2]"},
		{"rank", func() error { _, err := s.F32("f32", 6); return err }, "f32: shape [2 3], wanted [6]"},
		{"no shape", func() error { _, err := s.F32("f32"); return err }, "f32: shape [2 3], wanted []"},
		{"scalar for a vector", func() error { _, err := s.F32("scalar", 1); return err }, "scalar: shape [], wanted [1]"},
		{"NaN", func() error { _, err := s.Widen("nan", 3); return err }, "nan: element 1 is NaN, wanted finite numbers"},
		{"infinity", func() error { _, err := s.Widen("inf", 2); return err }, "inf: element 1 is -Inf, wanted finite numbers"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := c.get()
			wantErr(t, err, "safetensors: m.safetensors: tensor "+c.want)
			var te *TensorError
			if !errors.As(err, &te) || te.File != "m.safetensors" || te.Tensor != c.want[:strings.Index(c.want, ":")] {
				t.Errorf("got %#v, wanted a TensorError that names the file and tensor", err)
			}
		})
	}
	if info, ok := s.Info("talker.x"); ok {
		t.Errorf("Info of a missing tensor = %+v", info)
	}
}

func TestInfoIsACopy(t *testing.T) {
	s, err := openBytes(encode(t, sample()))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	info, _ := s.Info("f32")
	info.Shape[0] = 99
	s.Names()[0] = "x"
	if again, _ := s.Info("f32"); again.Shape[0] != 2 {
		t.Errorf("a caller changed the shape to %v", again.Shape)
	}
	if s.Names()[0] != "bf16" {
		t.Errorf("a caller changed the names to %v", s.Names())
	}
}

// TestWidenF16 compares all halves with the definition of the format in float64.
func TestWidenF16(t *testing.T) {
	for h := range 1 << 16 {
		exp, frac := h>>10&0x1f, float64(h&0x3ff)
		want := math.Ldexp(1+frac/1024, exp-15)
		switch {
		case exp == 0:
			want = math.Ldexp(frac, -24)
		case exp == 31 && frac == 0:
			want = math.Inf(1)
		case exp == 31:
			want = math.NaN()
		}
		if h&0x8000 != 0 {
			want = math.Copysign(want, -1)
		}
		got := widenF16(uint16(h))
		if math.IsNaN(want) {
			if !math.IsNaN(float64(got)) {
				t.Fatalf("half %#04x: got %v, wanted NaN", h, got)
			}
		} else if math.Float32bits(got) != math.Float32bits(float32(want)) {
			t.Fatalf("half %#04x: got %v, wanted %v", h, got, want)
		}
	}
}

func TestOpenFileErrors(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, "folder.safetensors"), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "empty.safetensors"), nil, 0o644); err != nil {
		t.Fatal(err)
	}
	_, err := Open(os.DirFS(dir), "absent.safetensors")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, wanted one that wraps fs.ErrNotExist", err)
	}
	var fe *FileError
	if !errors.As(err, &fe) || fe.File != "absent.safetensors" || !strings.HasPrefix(err.Error(), "safetensors: absent.safetensors: cannot open: ") {
		t.Errorf("got %v, wanted a FileError that names the file", err)
	}
	_, err = Open(os.DirFS(dir), "folder.safetensors")
	wantErr(t, err, "safetensors: folder.safetensors: is of type d---------, wanted a regular file")
	_, err = Open(os.DirFS(dir), "empty.safetensors")
	wantErr(t, err, "safetensors: empty.safetensors: file of 0 bytes, wanted at least 8 bytes of header length")
}

// sizedFS serves one file whose Stat tells another size than there is.
type sizedFS struct {
	fstest.MapFS
	size int64
}

type sizedFile struct {
	fs.File
	size int64
}

type sizedInfo struct {
	fs.FileInfo
	size int64
}

func (f sizedFS) Open(name string) (fs.File, error) {
	file, err := f.MapFS.Open(name)
	return sizedFile{file, f.size}, err
}

func (f sizedFile) Stat() (fs.FileInfo, error) {
	info, err := f.File.Stat()
	return sizedInfo{info, f.size}, err
}

func (i sizedInfo) Size() int64 { return i.size }

func TestOpenSizeChangesWhileReading(t *testing.T) {
	b := encode(t, sample())
	for _, c := range []struct {
		name string
		diff int64
		want string
	}{
		{"shorter than stated", 1, ": unexpected EOF"},
		{"longer than stated", -1, ": the file is longer than its stated size"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Open(sizedFS{fstest.MapFS{"m.safetensors": {Data: b}}, int64(len(b)) + c.diff}, "m.safetensors")
			if err == nil || !strings.HasPrefix(err.Error(), "safetensors: m.safetensors: cannot read ") || !strings.HasSuffix(err.Error(), c.want) {
				t.Errorf("got %v, wanted one that ends with %q", err, c.want)
			}
		})
	}
}
