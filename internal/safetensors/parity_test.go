package safetensors_test

import (
	"io/fs"
	"os"
	"path"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// TestParityFiles opens every safetensors file of the parity set, which the format's own library wrote, and reads
// each tensor of a float type to its end.
func TestParityFiles(t *testing.T) {
	root := os.DirFS(paritytest.Root(t))
	files := 0
	err := fs.WalkDir(root, ".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || path.Ext(name) != ".safetensors" {
			return err
		}
		files++
		t.Run(strings.TrimSuffix(name, ".safetensors"), func(t *testing.T) { readFile(t, root, name) })
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if files == 0 {
		t.Fatal("no safetensors file in the parity set")
	}
}

func readFile(t *testing.T, root fs.FS, name string) {
	s, err := safetensors.Open(root, name)
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	info, err := fs.Stat(root, name)
	if err != nil {
		t.Fatal(err)
	}
	if s.Bytes() <= 0 || s.Bytes() >= info.Size() {
		t.Errorf("tensors of %d bytes in a file of %d", s.Bytes(), info.Size())
	}
	for _, n := range s.Names() {
		info, _ := s.Info(n)
		switch info.DType {
		case safetensors.F32:
			_, err = s.F32(n, info.Shape...)
		case safetensors.BF16:
			_, err = s.BF16(n, info.Shape...)
			if err == nil {
				_, err = s.Widen(n, info.Shape...)
			}
		case safetensors.I32:
			_, err = s.I32(n, info.Shape...)
		}
		if err != nil {
			t.Error(err)
		}
	}
}
