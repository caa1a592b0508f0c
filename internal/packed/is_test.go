package packed

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/mynah-tts/mynah/internal/safetensors"
)

// TestIs knows packed files of any version from other files, whole or cut.
func TestIs(t *testing.T) {
	good, err := os.ReadFile(write(t, header))
	if err != nil {
		t.Fatal(err)
	}
	other := bytes.Replace(good, []byte(`"mynah.packed":"2"`), []byte(`"mynah.packed":"9"`), 1)
	if bytes.Equal(other, good) {
		t.Fatal("the version is not in the header")
	}
	var plain bytes.Buffer
	if err := safetensors.Write(&plain, tensors, map[string]string{"format": "pt"}); err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, c := range []struct {
		name string
		data []byte
		want bool
	}{
		{"whole", good, true}, {"of another version", other, true}, {"cut in its data", good[:len(good)-1], false},
		{"cut in its header", good[:100], false}, {"of somebody else", plain.Bytes(), false}, {"empty", nil, false},
	} {
		name := filepath.Join(dir, c.name)
		if err := os.WriteFile(name, c.data, 0o644); err != nil {
			t.Fatal(err)
		}
		if got := Is(name); got != c.want {
			t.Errorf("%s: %v, wanted %v", c.name, got, c.want)
		}
	}
	if Is(dir) || Is(filepath.Join(dir, "none")) {
		t.Error("a directory, or a file that is not there, is a packed file")
	}
}
