//go:build unix

package hub

import (
	"errors"
	"syscall"
)

// isFull reports whether a write failed for want of room.
func isFull(err error) bool { return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) }
