//go:build !(darwin || freebsd || linux || windows)

package osfile

// Free is not known on this system.
func Free(string) int64 { return -1 }
