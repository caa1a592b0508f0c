package osfile

import (
	"errors"
	"os"
)

// ErrLocked says that another process holds the lock.
var ErrLocked = errors.New("locked by another process")

// Lock opens a file, which is made if it is not there, and locks it for this process until
// it is closed; ErrLocked if another holds it. The holder may remove the file before it
// closes it. Where file systems know no locks nothing is locked.
func Lock(path string, mode os.FileMode) (*os.File, error) {
	for {
		f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, mode)
		if err != nil {
			return nil, err
		}
		if err := lock(f); err != nil {
			f.Close()
			if errors.Is(err, ErrLocked) {
				return nil, err
			}
			return nil, &os.PathError{Op: "lock", Path: path, Err: err}
		}
		// The holder before may have removed the file in between.
		mine, err := f.Stat()
		if now, e := os.Stat(path); err == nil && e == nil && os.SameFile(mine, now) {
			return f, nil
		}
		f.Close()
	}
}
