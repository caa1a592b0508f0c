//go:build !unix

package safetensors

import "os"

// mapFile reads the file: there is no mmap here, on Windows above all.
func mapFile(f *os.File, size int) (*mapping, error) { return readFile(f, size) }
