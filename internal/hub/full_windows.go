package hub

import (
	"errors"

	"golang.org/x/sys/windows"
)

// isFull reports whether a write failed for want of room.
func isFull(err error) bool {
	return errors.Is(err, windows.ERROR_DISK_FULL) || errors.Is(err, windows.ERROR_HANDLE_DISK_FULL)
}
