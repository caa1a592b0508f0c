//go:build !windows

package osfile

import "errors"

// Is is errors.Is for an error of the system by POSIX's name, such as syscall.EADDRINUSE,
// whatever number this system has for it.
func Is(err, posix error) bool { return errors.Is(err, posix) }
