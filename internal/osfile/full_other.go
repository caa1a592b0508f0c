//go:build !unix && !windows

package osfile

// IsFull reports whether an error says that the disk is full, which this system tells in
// words alone.
func IsFull(error) bool { return false }
