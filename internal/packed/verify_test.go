package packed

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestVerify changes each byte of the tensors that Open leaves out: Verify finds it.
func TestVerify(t *testing.T) {
	name := write(t, header)
	good, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	verify := func(data []byte) error {
		t.Helper()
		if err := os.WriteFile(name, data, 0o644); err != nil {
			t.Fatal(err)
		}
		f, err := Open(name, packing)
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		return f.Verify(t.Context())
	}
	if err := verify(good); err != nil {
		t.Fatal(err)
	}
	norm := []byte{1, 0, 2, 0, 3, 0} // model/norm
	if bytes.Count(good, norm) != 1 {
		t.Fatal("the norm is not in the file once")
	}
	at := bytes.Index(good, norm)
	for i := range norm {
		changed := bytes.Clone(good)
		changed[at+i] ^= 0x10
		if err := verify(changed); err == nil || !strings.HasPrefix(err.Error(), "is damaged: its checksum is crc32c:") {
			t.Errorf("byte %d: %v", i, err)
		}
	}
	f, err := Open(write(t, header), packing)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := f.Verify(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("%v after the end of the context", err)
	}
}

// TestCoversCodec changes the codec's tensor, which Open verifies.
func TestCoversCodec(t *testing.T) {
	name := write(t, header)
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	five := []byte{0, 0, 0xa0, 0x40} // speech_tokenizer/norm
	if bytes.Count(data, five) != 1 {
		t.Fatal("the codec's norm is not in the file once")
	}
	data[bytes.Index(data, five)] ^= 1
	if err := os.WriteFile(name, data, 0o644); err != nil {
		t.Fatal(err)
	}
	if f, err := Open(name, packing); err == nil {
		f.Close()
		t.Error("no error for a changed tensor of the codec")
	}
}

// TestCacheSweeps keeps the files of other checkpoints, of other forms and of newer versions, and removes those of the same checkpoint
// that are of older ones.
func TestCacheSweeps(t *testing.T) {
	c := Cache{Dir: t.TempDir()}
	mine, other := strings.Repeat("ab", 32), strings.Repeat("cd", 32)
	files := map[string]bool{ // whether it stays
		mine + "-int4-int8-1.safetensors":                             false,
		mine + "-int4-int8-f32-6.safetensors":                         false,
		mine + "-int4-int8-f32-8.safetensors":                         true,
		mine + "-int4-int8-f32-99999999999999999999.safetensors":      true,
		mine + fmt.Sprintf("-int4-int4-int8-%d.safetensors", packing): true,
		other + "-int4-int8-1.safetensors":                            true,
		mine + "-int4-int8-1.safetensors.txt":                         true,
		digestsFile:                                                   true,
		"notes.txt":                                                   true,
		filepath.Base(c.Path(mine, "int4-int8-f32", packing)):         true,
	}
	for name := range files {
		if err := os.WriteFile(filepath.Join(c.Dir, name), []byte("x"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	h := header
	h.Source = mine
	if err := c.Write(c.Path(mine, "int4-int8-f32", packing), h, tensors); err != nil {
		t.Fatal(err)
	}
	for name, stays := range files {
		if _, err := os.Stat(filepath.Join(c.Dir, name)); (err == nil) != stays {
			t.Errorf("%s: %v, wanted that it stays: %v", name, err, stays)
		}
	}
}
