package voices

import (
	"errors"
	"os"
	"time"
)

// errLocked says that another process holds the lock.
var errLocked = errors.New("locked")

// takeLock waits for the lock of a folder, which one at a time holds as long as it
// lives. The file stays: to remove it would let two hold it.
func takeLock(path string, most time.Duration) (*os.File, error) {
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, fileMode)
	if err != nil {
		return nil, err
	}
	for begun := time.Now(); ; time.Sleep(lockPoll) {
		err := lockFile(f)
		if err == nil {
			return f, nil
		}
		if !errors.Is(err, errLocked) || time.Since(begun) > most {
			f.Close()
			return nil, err
		}
	}
}
