package batch

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// errLocked says that another process holds the lock.
var errLocked = errors.New("locked")

// lock is a file that one process holds at a time, as long as it lives.
type lock struct{ file *os.File }

// takeLock takes the lock of a folder's work, or says that another run has it.
func takeLock(path string) (*lock, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o666)
		if err != nil {
			return nil, onDisk(path, err)
		}
		if err := lockFile(f); err != nil {
			f.Close()
			if errors.Is(err, errLocked) {
				return nil, fmt.Errorf("another run is at work in %s", filepath.Dir(filepath.Dir(path)))
			}
			return nil, onDisk(path, err)
		}
		// The run before may have removed the file in between.
		mine, err := f.Stat()
		if now, e := os.Stat(path); err == nil && e == nil && os.SameFile(mine, now) {
			return &lock{f}, nil
		}
		f.Close()
	}
}

// release removes the file and gives the lock up.
func (l *lock) release() {
	_ = os.Remove(l.file.Name()) // where an open file cannot be removed it stays, and does no harm
	l.file.Close()
}
