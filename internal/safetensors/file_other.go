//go:build !unix

package safetensors

import "os"

// mapFile reads the file where there is no mmap.
func mapFile(f *os.File, size int) (*mapping, error) { return readFile(f, size) }
