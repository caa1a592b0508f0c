package kernel

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guarded returns n zeros in memory that faults when it is touched after their end, if atEnd, or before their start.
func guarded[T float32 | uint16](t *testing.T, n int, atEnd bool) []T {
	t.Helper()
	page := unix.Getpagesize()
	var zero T
	size := n * int(unsafe.Sizeof(zero))
	room := (size + page - 1) / page * page
	mem, err := unix.Mmap(-1, 0, page+room+page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Munmap(mem); err != nil {
			t.Error(err)
		}
	})
	for _, guard := range [][]byte{mem[:page], mem[page+room:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	start := page
	if atEnd {
		start += room - size
	}
	return unsafe.Slice((*T)(unsafe.Add(unsafe.Pointer(unsafe.SliceData(mem)), start)), n)
}
