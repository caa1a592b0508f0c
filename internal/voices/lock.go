package voices

import (
	"errors"
	"os"
	"time"

	"github.com/mynah-tts/mynah/internal/osfile"
)

// takeLock waits for the lock of a folder, which one at a time holds as long as it
// lives. The file stays.
func takeLock(path string, most time.Duration) (*os.File, error) {
	for begun := time.Now(); ; time.Sleep(lockPoll) {
		f, err := osfile.Lock(path, fileMode)
		if !errors.Is(err, osfile.ErrLocked) || time.Since(begun) > most {
			return f, err
		}
	}
}
