package osfile

import (
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
)

// Pending is a file that is being written under a temporary name next to its
// target and takes the target's name when it is complete. A reader of the target
// sees the old file or the whole new one, whatever happens in between.
type Pending struct {
	*os.File
	target string
	done   bool
}

// CreatePending begins a file that shall replace target, which need not exist. A
// symbolic link to a file stays one. The errors say what is in the way; they do not
// name the target.
func CreatePending(target string) (*Pending, error) {
	mode, keep := fs.FileMode(0o666), false
	if info, err := os.Stat(target); err == nil {
		// Replacing needs no right to write the old file: ask for it all the same, or
		// a file that somebody made read-only would be lost.
		old, err := os.OpenFile(target, os.O_WRONLY, 0)
		if err != nil {
			return nil, Cause(err)
		}
		old.Close()
		mode, keep = info.Mode().Perm(), true
		if target, err = filepath.EvalSymlinks(target); err != nil {
			return nil, Cause(err)
		}
	}
	dir := filepath.Dir(target)
	for {
		name := filepath.Join(dir, fmt.Sprintf(".mynah-%016x.tmp", rand.Uint64()))
		f, err := os.OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
		if errors.Is(err, fs.ErrExist) {
			continue
		}
		if err != nil {
			return nil, createError(dir, err)
		}
		p := &Pending{File: f, target: target}
		if keep {
			// The process's mask took bits from the old file's mode.
			if err := f.Chmod(mode); err != nil {
				p.Abort()
				return nil, Cause(err)
			}
		}
		return p, nil
	}
}

// createError says why no file can be made in dir.
func createError(dir string, err error) error {
	if info, e := os.Stat(dir); errors.Is(e, fs.ErrNotExist) {
		return fmt.Errorf("directory %s does not exist", dir)
	} else if e == nil && !info.IsDir() {
		return fmt.Errorf("%s is not a directory", dir)
	}
	return fmt.Errorf("cannot create a file in %s: %w", dir, Cause(err))
}

// Commit puts the bytes on the disk and gives the file its name. If that fails the
// file is removed.
func (p *Pending) Commit() error {
	if err := p.Sync(); err != nil {
		p.Abort()
		return Cause(err)
	}
	if err := p.Close(); err != nil {
		p.Abort()
		return Cause(err)
	}
	if err := os.Rename(p.Name(), p.target); err != nil {
		p.Abort()
		return Cause(err)
	}
	p.done = true
	// The name is safe once its directory is, which not every system can be asked for.
	if dir, err := os.Open(filepath.Dir(p.target)); err == nil {
		_ = dir.Sync()
		dir.Close()
	}
	return nil
}

// Abort removes the file unless it has its name.
func (p *Pending) Abort() error {
	if p.done {
		return nil
	}
	p.done = true
	_ = p.Close() // closed already if Commit failed
	return Cause(os.Remove(p.Name()))
}

// Cause strips the operation and the temporary name from an error of package os.
func Cause(err error) error {
	var path *fs.PathError
	if errors.As(err, &path) {
		return path.Err
	}
	var link *os.LinkError
	if errors.As(err, &link) {
		return link.Err
	}
	return err
}
