package osfile

import (
	"errors"
	"syscall"

	"golang.org/x/sys/windows"
)

// numbers are what Windows says where POSIX has a name. Package syscall has these names on
// Windows too, with numbers that no call ever returns.
var numbers = map[error][]syscall.Errno{
	syscall.EACCES:        {windows.WSAEACCES, windows.ERROR_ACCESS_DENIED},
	syscall.EADDRINUSE:    {windows.WSAEADDRINUSE},
	syscall.EADDRNOTAVAIL: {windows.WSAEADDRNOTAVAIL},
	syscall.ECONNREFUSED:  {windows.WSAECONNREFUSED},
	syscall.ECONNRESET:    {windows.WSAECONNRESET},
	syscall.EPIPE:         {windows.ERROR_BROKEN_PIPE, windows.ERROR_NO_DATA},
}

// Is is errors.Is for an error of the system by POSIX's name, such as syscall.EADDRINUSE,
// whatever number this system has for it.
func Is(err, posix error) bool {
	for _, number := range numbers[posix] {
		if errors.Is(err, number) {
			return true
		}
	}
	return errors.Is(err, posix)
}
