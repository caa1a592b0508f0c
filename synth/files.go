package synth

import (
	"fmt"
	"io/fs"
)

// RegularFiles returns a file system that opens nothing but regular files of fsys.
func RegularFiles(fsys fs.FS) fs.FS { return regularFiles{fsys} }

// regularFiles opens nothing but regular files: a pipe or a device in a checkpoint
// would block or never end.
type regularFiles struct{ fs.FS }

// Open looks before it opens.
func (r regularFiles) Open(name string) (fs.File, error) {
	info, err := fs.Stat(r.FS, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() && !info.IsDir() {
		return nil, &fs.PathError{Op: "open", Path: name, Err: fmt.Errorf("no regular file (%v)", info.Mode().Type())}
	}
	return r.FS.Open(name)
}

// Stat is that of the file system beneath.
func (r regularFiles) Stat(name string) (fs.FileInfo, error) { return fs.Stat(r.FS, name) }
