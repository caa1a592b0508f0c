//go:build unix

package osfile

import (
	"errors"
	"syscall"
)

// IsFull reports whether an error says that the disk, or the user's share of it, is full.
func IsFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
