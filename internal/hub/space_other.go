//go:build !(darwin || freebsd || linux || windows)

package hub

// freeSpace is not known on this system.
func freeSpace(string) int64 { return -1 }
