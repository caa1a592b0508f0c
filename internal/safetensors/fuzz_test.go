package safetensors

import (
	"bytes"
	"errors"
	"io/fs"
	"path"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
)

const (
	// fuzzAllocFactor and fuzzAllocSlack bound what opening may allocate, as a multiple of the input's bytes and
	// a constant: the file itself, its decoder's buffer and one record for each tensor, of which the shortest takes
	// some 50 bytes. The slack is for what the fuzzing engine allocates meanwhile.
	fuzzAllocFactor = 64
	fuzzAllocSlack  = 4 << 20
)

// FuzzHeader opens arbitrary bytes. Nothing may panic, no header may make Open allocate much more than the file is
// long, every error is one line that names the file, and whatever is accepted can be read to its last byte.
func FuzzHeader(f *testing.F) {
	var b bytes.Buffer
	if err := Write(&b, sample(), map[string]string{"format": "pt"}); err != nil {
		f.Fatal(err)
	}
	f.Add(b.Bytes())
	f.Add(misalign(b.Bytes()))
	f.Add(b.Bytes()[:b.Len()-1])
	f.Add(fileOf("{}", 0))
	f.Add(fileOf(`{"__metadata__":{"a":"b"},"t":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}   `, 0))
	f.Add(fileOf("{"+entry("a", "U8", "[4]", "[2,6]")+","+entry("b", "F16", "[1]", "[0,2]")+"}", 6))
	f.Add(fileOf("{"+entry("a", "F64", "[2305843009213693952]", "[0,0]")+"}", 0))
	f.Add(fileOf("{"+entry("a", "F32", "[250000000000]", "[0,1000000000000]")+"}", 8))
	f.Add(fileOf("{"+entry("a", "U8", "[4]", "[4,0]")+"}", 4))
	f.Add(lengthOf(1<<63, "{}"))
	f.Add([]byte("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 1\n"))
	f.Fuzz(func(t *testing.T, file []byte) {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := Open(fstest.MapFS{"m.safetensors": {Data: file}}, "m.safetensors")
		runtime.ReadMemStats(&after)
		if used, limit := after.TotalAlloc-before.TotalAlloc, uint64(fuzzAllocFactor*len(file)+fuzzAllocSlack); used > limit {
			t.Errorf("opening %d bytes allocated %d, wanted at most %d", len(file), used, limit)
		}
		if err != nil {
			if msg := err.Error(); !strings.HasPrefix(msg, "safetensors: m.safetensors: ") || strings.ContainsAny(msg, "\n\r") {
				t.Errorf("error %q, wanted one line that names the file", msg)
			}
			return
		}
		readAll(t, s, len(file))
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
}

// readAll reads every tensor through the view of its dtype and checks the counts of elements and bytes.
func readAll(t *testing.T, s *Set, size int) {
	total := 0
	for _, name := range s.Names() {
		info, _ := s.Info(name)
		n, err := elements(s, info)
		if err != nil {
			t.Errorf("tensor %q: %v", name, err)
		}
		want := 1
		for _, d := range info.Shape {
			if want *= d; d == 0 {
				break
			}
		}
		if n != want {
			t.Errorf("tensor %q of shape %v has %d elements", name, info.Shape, n)
		}
		for _, b := range s.tensors[name].data { // touches every byte
			total += int(b&1) | 1
		}
	}
	if int64(total) != s.Bytes() || total > size {
		t.Errorf("read %d bytes, wanted %d in a file of %d", total, s.Bytes(), size)
	}
}

func elements(s *Set, info Info) (int, error) {
	switch info.DType {
	case F32:
		v, err := s.F32(info.Name, info.Shape...)
		return len(v), err
	case BF16:
		v, err := s.BF16(info.Name, info.Shape...)
		return len(v), err
	case I32:
		v, err := s.I32(info.Name, info.Shape...)
		return len(v), err
	case I64:
		v, err := s.I64(info.Name, info.Shape...)
		return len(v), err
	case I8:
		v, err := s.I8(info.Name, info.Shape...)
		return len(v), err
	case U8:
		v, err := s.U8(info.Name, info.Shape...)
		return len(v), err
	}
	return len(s.tensors[info.Name].data) / info.DType.Size(), nil
}

// namesFS records which files were asked for.
type namesFS struct {
	fstest.MapFS
	asked map[string]bool
}

func (f namesFS) Open(name string) (fs.File, error) {
	f.asked[name] = true
	return f.MapFS.Open(name)
}

// FuzzIndex opens arbitrary bytes as an index beside two good shards. Nothing may panic, no file outside the index's
// directory may be asked for, and an index that is accepted names exactly the tensors that there are.
func FuzzIndex(f *testing.F) {
	var a, b bytes.Buffer
	if err := errors.Join(
		Write(&a, []Tensor{{"x", U8, []int{1}, Bytes([]byte{1})}}, nil),
		Write(&b, []Tensor{{"y", U8, []int{1}, Bytes([]byte{2})}}, nil)); err != nil {
		f.Fatal(err)
	}
	f.Add(indexOf("x", "a.safetensors", "y", "b.safetensors"))
	f.Add(indexOf("x", "a.safetensors"))
	f.Add(indexOf("x", "../a.safetensors"))
	f.Add(indexOf("x", `..\\a.safetensors`))
	f.Add([]byte(`{"weight_map":{"x":"a.safetensors"},"weight_map":null}`))
	f.Add([]byte(`{"weight_map":{}}`))
	f.Add(indexOf("x", "a.safetensors", "y", "b# c.safetensors"))
	f.Fuzz(func(t *testing.T, index []byte) {
		const name = "d/model.safetensors.index.json"
		fsys := namesFS{fstest.MapFS{name: {Data: index}, "d/a.safetensors": {Data: a.Bytes()}, "d/b.safetensors": {Data: b.Bytes()}}, map[string]bool{}}
		s, err := Open(fsys, name)
		for asked := range fsys.asked {
			if path.Dir(asked) != "d" {
				t.Errorf("asked for %q, outside of d", asked)
			}
		}
		if err != nil {
			// A name with unusual characters is quoted.
			msg := err.Error()
			if named := strings.TrimPrefix(msg, "safetensors: "); !strings.HasPrefix(strings.TrimPrefix(named, `"`), "d/") || strings.ContainsAny(msg, "\n\r") {
				t.Errorf("error %q, wanted one line that names the file", msg)
			}
			return
		}
		for _, n := range s.Names() {
			if want := map[string]string{"x": "d/a.safetensors", "y": "d/b.safetensors"}[n]; s.tensors[n].File != want {
				t.Errorf("tensor %q is in %q, wanted %q", n, s.tensors[n].File, want)
			}
		}
	})
}
