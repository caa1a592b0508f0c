//go:build darwin || freebsd || linux

package osfile

import "golang.org/x/sys/unix"

// Free is how many bytes this user may write on a folder's disk; -1 if it is not known.
func Free(dir string) int64 {
	var s unix.Statfs_t
	if unix.Statfs(dir, &s) != nil {
		return -1
	}
	return int64(s.Bavail) * int64(s.Bsize)
}
