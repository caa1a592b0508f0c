package hub

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
)

// copyEnd ends the name of a blob that is being copied from another snapshot.
const copyEnd = ".mynah-copy.incomplete"

// twin is a file of another snapshot, which may have the content that is wanted. Where there
// are no links contents stand in the snapshots and have no blobs.
type twin struct {
	path   string
	digest string // as a manifest has it, "" if none does
}

// twins are the files, no links, of all snapshots but one, by size.
func (s *store) twins(but string) map[int64][]twin {
	all := map[int64][]twin{}
	for _, commit := range s.commits() {
		if commit == but {
			continue
		}
		top, digests := s.snapshot(commit), map[string]string{}
		for _, f := range s.remembered(commit) {
			digests[f.Path] = f.Digest
		}
		_ = filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
			if err != nil || !d.Type().IsRegular() || isFresh(d.Name()) {
				return nil // what cannot be read is no twin
			}
			if info, err := d.Info(); err == nil {
				name, _ := filepath.Rel(top, p)
				all[info.Size()] = append(all[info.Size()], twin{p, digests[filepath.ToSlash(name)]})
			}
			return nil
		})
	}
	return all
}

// hasTwin reports whether a manifest says that the content of a file is in another snapshot.
func hasTwin(twins map[int64][]twin, f *File) bool {
	for _, t := range twins[f.Size] {
		if t.digest == f.Digest {
			return true
		}
	}
	return false
}

// copyTwin makes the blob of a file from another snapshot's, and reports whether one had the
// content: its digest is compared, whatever a manifest says.
func (p *Pull) copyTwin(ctx context.Context, f File) (bool, error) {
	for _, t := range p.twins[f.Size] {
		if t.digest != "" && t.digest != f.Digest {
			continue
		}
		err := p.store.copyBlob(ctx, t.path, f)
		if err == nil {
			p.have.Add(f.Size - f.Have)
			return true, nil
		}
		var disk *diskError
		if ctx.Err() != nil || errors.As(err, &disk) {
			return false, err
		}
	}
	return false, nil
}

// copyBlob copies a file into a blob. An error that is no *diskError is the source's.
func (s *store) copyBlob(ctx context.Context, from string, f File) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	fresh := s.blob(f.Digest) + copyEnd
	out, err := os.Create(fresh)
	if err != nil {
		return onDisk(err)
	}
	defer func() {
		if err != nil {
			out.Close()
			_ = os.Remove(fresh)
		}
	}()
	sum, buffer := newHash(f.Digest, f.Size), make([]byte, 1<<20)
	for {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		n, readErr := in.Read(buffer)
		sum.Write(buffer[:n])
		if _, err := out.Write(buffer[:n]); err != nil {
			return onDisk(err)
		}
		if readErr == io.EOF {
			break
		}
		if readErr != nil {
			return readErr
		}
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != f.Digest {
		return &inconsistentError{fmt.Sprintf("its content has the digest %.12s…, not %.12s…", got, f.Digest)}
	}
	if err := out.Sync(); err != nil {
		return onDisk(err)
	}
	if err := out.Close(); err != nil {
		return onDisk(err)
	}
	return onDisk(os.Rename(fresh, s.blob(f.Digest)))
}
