//go:build unix

package safetensors

import (
	"os"

	"golang.org/x/sys/unix"
)

// mapFile maps size bytes of f read-only. The map outlives the closing of f.
func mapFile(f *os.File, size int) (*mapping, error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return nil, err
	}
	var data []byte
	var mapErr error
	err = conn.Control(func(fd uintptr) {
		data, mapErr = unix.Mmap(int(fd), 0, size, unix.PROT_READ, unix.MAP_PRIVATE)
	})
	if err == nil {
		err = mapErr
	}
	if err != nil {
		return nil, os.NewSyscallError("mmap", err)
	}
	return &mapping{data: data, unmap: func() error { return unix.Munmap(data) }}, nil
}
