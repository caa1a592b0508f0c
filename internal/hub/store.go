package hub

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"

	"github.com/mynah-tts/mynah/internal/osfile"
)

// The folders of a repository.
const (
	blobsDir     = "blobs"
	refsDir      = "refs"
	snapshotsDir = "snapshots"
	locksDir     = ".locks"
)

// Ends of the files of an unfinished blob.
const (
	incompleteEnd = ".mynah.incomplete"
	journalEnd    = ".mynah-journal.incomplete"
)

// store is a repository's folder in the cache.
type store struct {
	cache  string // the cache's folder
	dir    string // the repository's
	locks  string // of its locks
	copies bool   // no symbolic links
}

func newStore(s Settings, repo string) *store {
	name := folder(repo)
	return &store{cache: s.Cache, dir: filepath.Join(s.Cache, name), locks: filepath.Join(s.Cache, locksDir, name), copies: s.Copies}
}

func (s *store) blob(digest string) string { return filepath.Join(s.dir, blobsDir, digest) }

func (s *store) snapshot(commit string) string { return filepath.Join(s.dir, snapshotsDir, commit) }

// pointer is where a file stands in its snapshot.
func (s *store) pointer(commit, name string) string {
	return filepath.Join(s.snapshot(commit), filepath.FromSlash(name))
}

// state fills in what of a file is there.
func (s *store) state(commit string, f *File) {
	f.There, f.Have = false, 0
	if sizeOf(s.pointer(commit, f.Path)) == f.Size {
		f.There, f.Have = true, f.Size
		return
	}
	if f.Digest == "" {
		return
	}
	if sizeOf(s.blob(f.Digest)) == f.Size {
		f.Have = f.Size
		return
	}
	if j := readJournal(s.blob(f.Digest)+journalEnd, f.Size); j != nil && sizeOf(s.blob(f.Digest)+incompleteEnd) >= 0 {
		f.Have = j.have()
	}
}

// sizeOf is the size of a regular file, at the end of links; -1 if there is none.
func sizeOf(path string) int64 {
	info, err := os.Stat(path)
	if err != nil || !info.Mode().IsRegular() {
		return -1
	}
	return info.Size()
}

// prepare makes the folders.
func (s *store) prepare() error {
	for _, dir := range []string{s.locks, filepath.Join(s.dir, blobsDir), filepath.Join(s.dir, refsDir), filepath.Join(s.dir, snapshotsDir)} {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return onDisk(err)
		}
	}
	return nil
}

// point gives a blob its name in a snapshot: by a relative link, or where there are no links
// as a file of its own. A blob that is new is moved then, as huggingface_hub does.
func (s *store) point(commit string, f File, isNew bool) error {
	// No folder on the way may be a link that leads out of the repository's.
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return onDisk(err)
	}
	defer root.Close()
	name := path.Join(snapshotsDir, commit, f.Path)
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return onDisk(err)
	}
	fresh := path.Join(path.Dir(name), freshStart+f.Digest+shortEnd)
	_ = root.Remove(fresh) // of a run that was killed
	if !s.copies {
		target := strings.Repeat("../", strings.Count(name, "/")) + blobsDir + "/" + f.Digest
		if err := root.Symlink(filepath.FromSlash(target), fresh); err == nil {
			return onDisk(root.Rename(fresh, name))
		}
	}
	if isNew {
		return onDisk(root.Rename(path.Join(blobsDir, f.Digest), name))
	}
	if err := copyInto(root, fresh, s.blob(f.Digest)); err != nil {
		_ = root.Remove(fresh)
		return onDisk(err)
	}
	return onDisk(root.Rename(fresh, name))
}

func copyInto(root *os.Root, name, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := root.Create(name)
	if err != nil {
		return err
	}
	if _, err = io.Copy(out, in); err == nil {
		err = out.Sync()
	}
	if e := out.Close(); err == nil {
		err = e
	}
	return err
}

// readBounded reads a regular file of at most so many bytes.
func readBounded(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("no regular file of at most %d bytes", most)}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, most))
}

// cause strips the operation and path of a file error that the caller words anew.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// diskError is a failure of the cache's disk: no server's, and no second attempt helps.
type diskError struct{ err error }

func (e *diskError) Unwrap() error { return e.err }

func (e *diskError) Error() string {
	if osfile.IsFull(e.err) {
		return "the disk is full; what was fetched stays, and the same command goes on from there"
	}
	return "cannot write the cache: " + e.err.Error()
}

func onDisk(err error) error {
	var already *diskError
	if err == nil || errors.As(err, &already) {
		return err
	}
	return permanent(&diskError{err})
}

// syncDir brings a rename onto the disk, where folders can be synced.
func syncDir(dir string) {
	if d, err := os.Open(dir); err == nil {
		_ = d.Sync()
		d.Close()
	}
}
