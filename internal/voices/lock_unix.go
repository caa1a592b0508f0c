//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package voices

import (
	"errors"
	"os"

	"golang.org/x/sys/unix"
)

// lockFile locks an open file for this process, until it is closed.
func lockFile(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return errLocked
	}
	return err
}
