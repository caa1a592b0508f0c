package safetensors

import (
	"bytes"
	"encoding/binary"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
)

// countingFS counts the bytes that are read of its files.
type countingFS struct {
	fs.FS
	read int
}

type countingFile struct {
	fs.File
	in *countingFS
}

func (c *countingFS) Open(name string) (fs.File, error) {
	f, err := c.FS.Open(name)
	return countingFile{f, c}, err
}

func (f countingFile) Read(p []byte) (int, error) {
	n, err := f.File.Read(p)
	f.in.read += n
	return n, err
}

// TestReadMetadata reads the header and nothing behind it, and finds whatever Open finds in files that are no such files.
func TestReadMetadata(t *testing.T) {
	var b bytes.Buffer
	want := map[string]string{"format": "pt", "by": "a test"}
	if err := Write(&b, []Tensor{{"x", U8, []int{1 << 20}, Bytes(make([]byte, 1<<20))}}, want); err != nil {
		t.Fatal(err)
	}
	good := b.Bytes()
	header := lengthBytes + int(binary.LittleEndian.Uint64(good))
	files := map[string][]byte{
		"good": good, "empty": {}, "7 bytes": good[:7], "header cut": good[:header-1], "data cut": good[:len(good)-1],
		"data too long": append(bytes.Clone(good), 0), "huge header": append(bytes.Repeat([]byte{0xff}, 8), good[8:]...),
		"text": []byte("this is no such file at all, not a bit"), "pointer": []byte(lfsPrefix + ".github.com/spec/v1\n"),
		"no JSON": append(binary.LittleEndian.AppendUint64(nil, 20), bytes.Repeat([]byte{'{'}, 20)...),
	}
	for name, data := range files {
		fsys := &countingFS{FS: fstest.MapFS{"f": {Data: data}}}
		meta, err := ReadMetadata(fsys, "f")
		if fsys.read > header {
			t.Errorf("%s: %d bytes were read, the header of the good file ends at %d", name, fsys.read, header)
		}
		_, openErr := Open(fsys.FS, "f")
		switch {
		case name == "good" && (err != nil || !maps.Equal(meta, want)):
			t.Errorf("%v, %v, wanted %v", meta, err, want)
		case name != "good" && (err == nil || openErr == nil || err.Error() != openErr.Error() || meta != nil):
			t.Errorf("%s: %v, %v, Open says %v", name, meta, err, openErr)
		}
	}
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, good, 0o644); err != nil {
		t.Fatal(err)
	}
	if meta, err := ReadMetadata(os.DirFS(filepath.Dir(path)), "f"); err != nil || !maps.Equal(meta, want) {
		t.Errorf("of the operating system: %v, %v", meta, err)
	}
	if _, err := ReadMetadata(os.DirFS(filepath.Dir(path)), "none"); err == nil {
		t.Error("no error for a file that is not there")
	}
}
