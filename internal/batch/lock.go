package batch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mynah-tts/mynah/internal/osfile"
)

// lock is a file that one process holds at a time, as long as it lives.
type lock struct{ file *os.File }

// takeLock takes the lock of a folder's work, or says that another run has it.
func takeLock(path string) (*lock, error) {
	f, err := osfile.Lock(path, 0o666)
	switch {
	case errors.Is(err, osfile.ErrLocked):
		return nil, fmt.Errorf("another run is at work in %s", filepath.Dir(filepath.Dir(path)))
	case err != nil:
		return nil, onDisk(path, err)
	}
	return &lock{f}, nil
}

// release removes the file and gives the lock up.
func (l *lock) release() {
	_ = os.Remove(l.file.Name()) // where an open file cannot be removed it stays, and does no harm
	l.file.Close()
}
