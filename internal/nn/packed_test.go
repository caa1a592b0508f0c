package nn

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unsafe"

	"github.com/mynah-tts/mynah/internal/safetensors"
)

// TestPackedRoundTrip writes packed matrices of ragged sizes to a file and maps it: the
// same outputs, bit for bit, from views that are no copies and begin at cache lines.
func TestPackedRoundTrip(t *testing.T) {
	const rows = 3
	for _, p := range []Precision{Int8, Int4A16, Int4A8} {
		var tensors []safetensors.Tensor
		var maps []Linear
		for _, size := range [][2]int{{64, 16}, {200, 33}, {63, 1}, {1, 5}} {
			in, out := size[0], size[1]
			l := NewLinear(inputs(out, in), nil, in, out)
			l.name = string(rune('a' + len(maps)))
			if err := l.Quantize(p); err != nil {
				t.Fatal(err)
			}
			maps = append(maps, l)
			tensors = append(tensors, l.Export()...)
		}
		// Neighbours that would push the matrices off their lines.
		tensors = append(tensors, safetensors.Tensor{Name: "a", DType: safetensors.F32, Shape: []int{1}, Data: safetensors.Values([]float32{1})})
		var file bytes.Buffer
		if err := safetensors.Write(&file, tensors, nil); err != nil {
			t.Fatal(err)
		}
		dir := t.TempDir()
		if err := os.WriteFile(filepath.Join(dir, "x.safetensors"), file.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
		set, err := safetensors.Open(os.DirFS(dir), "x.safetensors")
		if err != nil {
			t.Fatal(err)
		}
		defer set.Close()
		for _, want := range maps {
			got, err := LoadLinear(set, want.name, want.In, want.Out, false)
			if err != nil {
				t.Fatal(err)
			}
			if err := got.Quantize(p); err != nil {
				t.Fatal(err)
			}
			x, y, z := inputs(rows, want.In), make([]float32, rows*want.Out), make([]float32, rows*want.Out)
			want.Forward(NewWork(nil), y, x, rows)
			got.Forward(NewWork(nil), z, x, rows)
			sameBits(t, string(p)+" "+want.name, z, y)
			checkViews(t, set, &got)
			if err := got.Quantize(F32); err == nil || !strings.Contains(err.Error(), "packed as") {
				t.Errorf("float weights of packed ones: %v", err)
			}
			if _, err := LoadLinear(set, want.name, want.In, want.Out+16, false); err == nil || !strings.Contains(err.Error(), "shape") {
				t.Errorf("a matrix of another size: %v", err)
			}
		}
	}
}

func checkViews(t *testing.T, set *safetensors.Set, l *Linear) {
	t.Helper()
	var codes unsafe.Pointer
	name := l.name + int4Codes
	if l.int4 != nil {
		codes = unsafe.Pointer(unsafe.SliceData(l.int4.Codes))
	} else {
		codes, name = unsafe.Pointer(unsafe.SliceData(l.int8.Codes)), l.name+int8Codes
	}
	if raw := set.Raw(name); codes != unsafe.Pointer(unsafe.SliceData(raw)) {
		t.Errorf("%s is a copy", name)
	}
	if at := uintptr(codes) % 64; at != 0 {
		t.Errorf("%s begins at byte %d of a cache line", name, at)
	}
}
