package osfile

import "golang.org/x/sys/windows"

// Free is how many bytes this user may write on a folder's disk; -1 if it is not known.
func Free(dir string) int64 {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return -1
	}
	var free uint64
	if windows.GetDiskFreeSpaceEx(name, &free, nil, nil) != nil {
		return -1
	}
	return int64(min(free, 1<<62))
}
