package hub

import (
	"os"
	"path/filepath"
	"testing"
)

// FuzzJournal: whatever a journal holds, what it says to be there and what it says to be
// missing are the file.
func FuzzJournal(f *testing.F) {
	f.Add("{\"mynah_pull\":1,\"size\":100}\n0 5\n5 9\n90 100\n")
	f.Add("{\"mynah_pull\":1,\"size\":100}\n0 200\n")
	f.Add("{\"mynah_pull\":1,\"size\":100}\n-1 5\n 7 6\n")
	f.Fuzz(func(t *testing.T, content string) {
		path := filepath.Join(t.TempDir(), "j")
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		j := readJournal(path, 100)
		if j == nil {
			return
		}
		at := map[int64]bool{}
		for _, s := range append(j.missing(7), j.done...) {
			for i := s.start; i < s.end; i++ {
				if at[i] || i < 0 || i >= 100 {
					t.Fatalf("%q: byte %d", content, i)
				}
				at[i] = true
			}
		}
		if len(at) != 100 {
			t.Fatalf("%q: %d bytes", content, len(at))
		}
	})
}
