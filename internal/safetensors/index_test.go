package safetensors

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"
)

// shard returns a file with one-byte tensors of these names.
func shard(t *testing.T, names ...string) []byte {
	t.Helper()
	var tensors []Tensor
	for i, n := range names {
		tensors = append(tensors, Tensor{n, U8, []int{1}, Bytes([]byte{byte(i + 1)})})
	}
	return encode(t, tensors)
}

// indexOf returns an index from pairs of tensor and shard.
func indexOf(pairs ...string) []byte {
	var b strings.Builder
	for i := 0; i < len(pairs); i += 2 {
		fmt.Fprintf(&b, ",%q:%q", pairs[i], pairs[i+1])
	}
	return []byte(`{"metadata":{"total_size":3},"weight_map":{` + strings.TrimPrefix(b.String(), ",") + `}}`)
}

func TestShards(t *testing.T) {
	dir := t.TempDir()
	for name, b := range map[string][]byte{
		"model.safetensors.index.json": indexOf("x", "one.safetensors", "y", "two.safetensors", "z", "one.safetensors"),
		"one.safetensors":              shard(t, "x", "z"),
		"two.safetensors":              shard(t, "y"),
	} {
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	s, err := OpenModel(os.DirFS(filepath.Dir(dir)), filepath.Base(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for _, c := range []struct {
		tensor, file string
		value        byte
	}{{"x", "one.safetensors", 1}, {"z", "one.safetensors", 2}, {"y", "two.safetensors", 1}} {
		v, err := s.U8(c.tensor, 1)
		wantValues(t, c.tensor, v, err, c.value)
		if info, _ := s.Info(c.tensor); info.File != filepath.Base(dir)+"/"+c.file {
			t.Errorf("tensor %s is in %s, wanted %s", c.tensor, info.File, c.file)
		}
	}
	if s.Bytes() != 3 || len(s.Names()) != 3 {
		t.Errorf("%d bytes in %v, wanted 3 in 3 tensors", s.Bytes(), s.Names())
	}
	_, err = s.U8("w", 1)
	wantErr(t, err, "safetensors: "+filepath.Base(dir)+"/model.safetensors.index.json: tensor w: missing, wanted U8 [1]")
}

func TestIndexRefuses(t *testing.T) {
	const index = "d/model.safetensors.index.json"
	files := func(index []byte, more ...any) fstest.MapFS {
		fsys := fstest.MapFS{"d/model.safetensors.index.json": {Data: index}}
		for i := 0; i < len(more); i += 2 {
			fsys[more[i].(string)] = &fstest.MapFile{Data: more[i+1].([]byte)}
		}
		return fsys
	}
	x, y, xy := shard(t, "x"), shard(t, "y"), shard(t, "x", "y")
	plain := index + `: tensor x: in shard %s, wanted the plain name of a .safetensors file beside the index`
	for _, c := range []struct {
		name string
		fsys fstest.MapFS
		want string // after "safetensors: "
	}{
		{"empty", files(nil), index + ": file of 0 bytes, wanted at least 8 bytes of header length"},
		{"not JSON", files([]byte("{weights}")), index + `: index cannot be used, wanted a JSON object with "weight_map": invalid character 'w' looking for beginning of object key string`},
		{"an array", files([]byte("[1,2]")), index + `: index is not a JSON object, wanted a JSON object with "weight_map"`},
		{"invalid UTF-8", files([]byte("{\"\xff\":1}")), index + `: index with invalid UTF-8, wanted a JSON object with "weight_map"`},
		{"LFS pointer", files([]byte("version https://git-lfs.github.com/spec/v1\n")), index + ": is a Git LFS pointer of 43 bytes, wanted the file it points to (git lfs pull)"},
		{"no weight_map", files([]byte(`{"metadata":{}}`)), index + `: no weight_map in the index, wanted a JSON object with "weight_map"`},
		{"weight_map is null", files([]byte(`{"weight_map":null}`)), index + `: no weight_map in the index, wanted a JSON object with "weight_map"`},
		{"weight_map is a list", files([]byte(`{"weight_map":[]}`)), index + `: index cannot be used, wanted a JSON object with "weight_map": weight_map is not an object`},
		{"weight_map twice", files([]byte(`{"weight_map":{},"weight_map":{}}`)), index + `: index cannot be used, wanted a JSON object with "weight_map": weight_map comes twice`},
		{"shard is a number", files([]byte(`{"weight_map":{"x":1}}`)), index + `: index cannot be used, wanted a JSON object with "weight_map": weight_map: x is not a string`},
		{"shard is an object", files([]byte(`{"weight_map":{"x":{"y":"z"}}}`)), index + `: index cannot be used, wanted a JSON object with "weight_map": weight_map: x is not a string`},
		{"tensor twice", files([]byte(`{"weight_map":{"x":"a.safetensors","x":"b.safetensors"}}`)), index + `: index cannot be used, wanted a JSON object with "weight_map": weight_map: x comes twice`},
		{"shard in a parent", files(indexOf("x", "../a.safetensors"), "a.safetensors", x), fmt.Sprintf(plain, "../a.safetensors")},
		{"shard from the root", files(indexOf("x", "/d/a.safetensors"), "d/a.safetensors", x), fmt.Sprintf(plain, "/d/a.safetensors")},
		{"shard in a folder", files(indexOf("x", "s/a.safetensors"), "d/s/a.safetensors", x), fmt.Sprintf(plain, "s/a.safetensors")},
		{"shard in a parent, with backslashes", files(indexOf("x", `..\a.safetensors`)), fmt.Sprintf(plain, `..\a.safetensors`)},
		{"shard on a drive", files(indexOf("x", `c:a.safetensors`)), fmt.Sprintf(plain, `c:a.safetensors`)},
		{"shard without a name", files(indexOf("x", "")), fmt.Sprintf(plain, `""`)},
		{"shard of another kind", files(indexOf("x", "config.json"), "d/config.json", x), fmt.Sprintf(plain, "config.json")},
		{"shard is missing", files(indexOf("x", "a.safetensors", "y", "b.safetensors"), "d/a.safetensors", x), "d/b.safetensors: missing, wanted the shard that " + index + " names: file does not exist"},
		{"shard is cut", files(indexOf("x", "a.safetensors"), "d/a.safetensors", x[:len(x)-1]), "d/a.safetensors: tensor x: data_offsets [0 1], wanted an end within the 0 bytes of data in the file"},
		{"tensor is not in its shard", files(indexOf("x", "a.safetensors", "y", "a.safetensors"), "d/a.safetensors", x), "d/a.safetensors: tensor y: missing, wanted it in this shard, as " + index + " says"},
		{"tensor is in another shard", files(indexOf("x", "b.safetensors", "y", "a.safetensors"), "d/a.safetensors", x, "d/b.safetensors", y), index + ": tensor x: held by shard d/a.safetensors, wanted d/b.safetensors"},
		{"tensor is in two shards", files(indexOf("x", "a.safetensors", "y", "b.safetensors"), "d/a.safetensors", x, "d/b.safetensors", xy), index + ": tensor x: held by two shards, d/a.safetensors and d/b.safetensors, wanted one"},
		{"tensor is not in the index", files(indexOf("x", "a.safetensors"), "d/a.safetensors", xy), index + ": tensor y: not named in the index but held by d/a.safetensors, wanted weight_map to name every tensor"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, err := OpenModel(c.fsys, "d")
			if err == nil {
				t.Fatalf("opened with tensors %v, wanted the error %q", s.Names(), c.want)
			}
			wantErr(t, err, "safetensors: "+c.want)
		})
	}
}

func TestOpenModel(t *testing.T) {
	fsys := fstest.MapFS{
		"both/model.safetensors":            {Data: shard(t, "x")},
		"both/model.safetensors.index.json": {Data: []byte("not looked at")},
		"none/config.json":                  {Data: []byte("{}")},
		"model.safetensors":                 {Data: shard(t, "top")},
	}
	for _, c := range []struct{ dir, tensor string }{{"both", "x"}, {".", "top"}} {
		s, err := OpenModel(fsys, c.dir)
		if err != nil {
			t.Fatal(err)
		}
		v, err := s.U8(c.tensor, 1)
		wantValues(t, c.tensor, v, err, 1)
		s.Close()
	}
	_, err := OpenModel(fsys, "none")
	wantErr(t, err, "safetensors: none: no weights, wanted none/model.safetensors or none/model.safetensors.index.json: file does not exist")
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v, wanted one that wraps fs.ErrNotExist", err)
	}
	_, err = OpenModel(fsys, "../none")
	if err == nil || !strings.HasPrefix(err.Error(), "safetensors: ../none") {
		t.Errorf("got %v, wanted one that names ../none", err)
	}
}
