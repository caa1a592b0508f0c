package safetensors

import (
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"unsafe"
)

// mapping holds the bytes of one file: a read-only memory map, or a copy in memory.
type mapping struct {
	data  []byte
	unmap func() error // nil for a copy
}

func (m *mapping) close() error {
	unmap := m.unmap
	m.data, m.unmap = nil, nil
	if unmap == nil {
		return nil
	}
	return unmap()
}

// openFile maps a file of the operating system, where there is mmap, and reads any other one. The data begins at an
// address that is a multiple of 8 either way.
func openFile(fsys fs.FS, name string) (*mapping, error) {
	f, size, err := openRegular(fsys, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var m *mapping
	if osFile, ok := f.(*os.File); ok {
		m, err = mapFile(osFile, size)
	} else {
		m, err = readFile(f, size)
	}
	if err != nil {
		return nil, &FileError{File: name, Problem: "cannot read", Found: bytesOf(size), Err: cause(err)}
	}
	return m, nil
}

// openRegular opens a file that is not empty and returns its size.
func openRegular(fsys fs.FS, name string) (f fs.File, size int, err error) {
	// To open a pipe would wait for its other end, so look first.
	if info, err := fs.Stat(fsys, name); err == nil && !info.Mode().IsRegular() {
		return nil, 0, fileErr(name, "is", "of type "+info.Mode().Type().String(), "a regular file")
	}
	if f, err = fsys.Open(name); err != nil {
		return nil, 0, &FileError{File: name, Problem: "cannot open", Err: cause(err)}
	}
	if size, err = sizeOf(f, name); err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, size, nil
}

// sizeOf returns the size of an open file, which must be a regular one that is not empty.
func sizeOf(f fs.File, name string) (int, error) {
	info, err := f.Stat()
	if err != nil {
		return 0, &FileError{File: name, Problem: "cannot stat", Err: cause(err)}
	}
	size := info.Size()
	switch {
	case !info.Mode().IsRegular():
		return 0, fileErr(name, "is", "of type "+info.Mode().Type().String(), "a regular file")
	case size <= 0:
		return 0, fileErr(name, "file of", bytesOf(size), "at least 8 bytes of header length")
	case size > math.MaxInt:
		return 0, fileErr(name, "file of", bytesOf(size), "one that fits the address space")
	}
	return int(size), nil
}

// ReadMetadata returns the metadata of one .safetensors file. It reads the header and no more, and checks it as Open does.
func ReadMetadata(fsys fs.FS, name string) (map[string]string, error) {
	f, size, err := openRegular(fsys, name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	start := make([]byte, min(size, startBytes))
	if _, err := io.ReadFull(f, start); err != nil {
		return nil, &FileError{File: name, Problem: "cannot read", Found: bytesOf(len(start)), Err: cause(err)}
	}
	n, err := headerLength(name, start, size)
	if err != nil {
		return nil, err
	}
	whole := make([]byte, lengthBytes+n) // no more than the file has
	if have := copy(whole, start); have < len(whole) {
		if _, err := io.ReadFull(f, whole[have:]); err != nil {
			return nil, &FileError{File: name, Problem: "cannot read", Found: bytesOf(len(whole)), Err: cause(err)}
		}
	}
	_, meta, err := parseEntries(name, whole[lengthBytes:], size-len(whole))
	return meta, err
}

// readFile copies a file of the given size into memory.
func readFile(f io.Reader, size int) (*mapping, error) {
	words := make([]uint64, (size+7)/8) // words, for the alignment
	data := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), size)
	if _, err := io.ReadFull(f, data); err != nil {
		return nil, err
	}
	if n, err := f.Read(make([]byte, 1)); n > 0 {
		return nil, errors.New("the file is longer than its stated size")
	} else if err != nil && err != io.EOF {
		return nil, err
	}
	return &mapping{data: data}, nil
}

// cause drops the path from an error of the file system, since the message around it names the file.
func cause(err error) error {
	var p *fs.PathError
	if errors.As(err, &p) {
		return p.Err
	}
	return err
}
