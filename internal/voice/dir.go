package voice

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"slices"
	"strings"
)

// suffix ends the name of a compact file, behind the name of the file that it holds.
const suffix = ".compact"

// expanding is a directory in which each compact file is seen, under its own name, as the file
// that it holds.
type expanding struct{ fsys fs.FS }

// Open opens a file or a folder.
func (d expanding) Open(name string) (fs.File, error) {
	switch {
	case !fs.ValidPath(name):
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrInvalid}
	case strings.HasSuffix(name, suffix):
		return nil, &fs.PathError{Op: "open", Path: name, Err: fs.ErrNotExist}
	}
	f, err := d.fsys.Open(name + suffix)
	if err == nil {
		return d.file(f, name)
	}
	if !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if f, err = d.fsys.Open(name); err != nil {
		return nil, err
	}
	if dir, ok := f.(fs.ReadDirFile); ok {
		return d.folder(dir, name)
	}
	return f, nil
}

// file makes of an opened compact file the file that it holds.
func (d expanding) file(f fs.File, name string) (fs.File, error) {
	open := func() (*expandedFile, error) {
		info, err := f.Stat()
		if err != nil {
			return nil, err
		}
		r, ok := f.(io.ReaderAt)
		if !ok {
			return nil, fmt.Errorf("compact form: %T cannot be read at an offset", f)
		}
		c, err := openCompact(r, info.Size())
		if err != nil {
			return nil, err
		}
		return &expandedFile{io.NewSectionReader(c, 0, c.size), f, expandedInfo{info, path.Base(name), c.size}}, nil
	}
	e, err := open()
	if err != nil {
		_ = f.Close() // what went wrong before is the news
		return nil, &fs.PathError{Op: "open", Path: name, Err: err}
	}
	return e, nil
}

// expandedFile is an open file that a compact one holds. Its Read, Seek and ReadAt are those of
// the expansion.
type expandedFile struct {
	*io.SectionReader
	compact fs.File
	info    expandedInfo
}

func (f *expandedFile) Stat() (fs.FileInfo, error) { return f.info, nil }

func (f *expandedFile) Close() error { return f.compact.Close() }

// expandedInfo describes the file that a compact one holds.
type expandedInfo struct {
	fs.FileInfo // of the compact file
	name        string
	size        int64
}

func (i expandedInfo) Name() string { return i.name }

func (i expandedInfo) Size() int64 { return i.size }

// folder lists an opened folder.
func (d expanding) folder(f fs.ReadDirFile, name string) (fs.File, error) {
	list, err := f.ReadDir(-1)
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	for i, e := range list {
		if plain, ok := strings.CutSuffix(e.Name(), suffix); ok {
			list[i] = expandedEntry{e, d, path.Join(name, plain)}
		}
	}
	slices.SortFunc(list, func(a, b fs.DirEntry) int { return cmp.Compare(a.Name(), b.Name()) })
	return &folder{f, list}, nil
}

// folder is an open folder.
type folder struct {
	fs.File
	left []fs.DirEntry
}

// ReadDir returns the next n entries, all that are left if n is not positive.
func (f *folder) ReadDir(n int) ([]fs.DirEntry, error) {
	switch {
	case n <= 0:
		n = len(f.left)
	case len(f.left) == 0:
		return nil, io.EOF
	}
	n = min(n, len(f.left))
	list := slices.Clone(f.left[:n])
	f.left = f.left[n:]
	return list, nil
}

// expandedEntry is a compact file in a folder.
type expandedEntry struct {
	fs.DirEntry // of the compact file
	dir         expanding
	path        string
}

func (e expandedEntry) Name() string { return path.Base(e.path) }

func (e expandedEntry) Info() (fs.FileInfo, error) { return fs.Stat(e.dir, e.path) }
