//go:build !unix

package packed

import "io/fs"

// inode is 0 where there are none.
func inode(fs.FileInfo) uint64 { return 0 }
