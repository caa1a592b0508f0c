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

// openFile maps a file of the operating system and reads any other one. The data begins at an address that is a
// multiple of 8 either way.
func openFile(fsys fs.FS, name string) (*mapping, error) {
	// To open a pipe would wait for its other end, so look first.
	if info, err := fs.Stat(fsys, name); err == nil && !info.Mode().IsRegular() {
		return nil, fileErr(name, "is", "of type "+info.Mode().Type().String(), "a regular file")
	}
	f, err := fsys.Open(name)
	if err != nil {
		return nil, &FileError{File: name, Problem: "cannot open", Err: cause(err)}
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, &FileError{File: name, Problem: "cannot stat", Err: cause(err)}
	}
	size := info.Size()
	switch {
	case !info.Mode().IsRegular():
		return nil, fileErr(name, "is", "of type "+info.Mode().Type().String(), "a regular file")
	case size <= 0:
		return nil, fileErr(name, "file of", bytesOf(size), "at least 8 bytes of header length")
	case size > math.MaxInt:
		return nil, fileErr(name, "file of", bytesOf(size), "one that fits the address space")
	}
	var m *mapping
	if osFile, ok := f.(*os.File); ok {
		m, err = mapFile(osFile, int(size))
	} else {
		m, err = readFile(f, int(size))
	}
	if err != nil {
		return nil, &FileError{File: name, Problem: "cannot read", Found: bytesOf(size), Err: cause(err)}
	}
	return m, nil
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
