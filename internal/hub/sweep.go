package hub

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Names of files that are being written. None is ever taken for what it will be: a kill may
// leave it behind.
const (
	freshStart = ".mynah-"    // begins that of a file in a snapshot, and of a ref
	freshEnd   = ".mynah.tmp" // ends that of a manifest; refs had it once
	shortEnd   = ".tmp"       // ends that of a file in a snapshot, and of a ref
)

// isFresh reports whether a name is that of a file that is being written.
func isFresh(name string) bool {
	return strings.HasSuffix(name, freshEnd) || strings.HasPrefix(name, freshStart) && strings.HasSuffix(name, shortEnd)
}

// sweep removes what kills left behind and nobody goes on from: unfinished blobs whose digests
// are given, or that are there as blobs, or of which nothing can be told, and files that were
// being written. Those of other revisions stay. What cannot be removed takes room, no more.
// The repository's lock must be held.
func (s *store) sweep(done map[string]bool) {
	blobs := filepath.Join(s.dir, blobsDir)
	entries, _ := os.ReadDir(blobs)
	for _, e := range entries {
		digest, end, _ := strings.Cut(e.Name(), ".")
		if end = "." + end; !isOurs(end) || !digestPattern.MatchString(digest) {
			continue
		}
		if done[digest] || end == copyEnd || end == journalEnd+journalFresh || s.isUseless(digest) {
			_ = os.Remove(filepath.Join(blobs, e.Name()))
		}
	}
	for _, dir := range []string{refsDir, snapshotsDir, manifestsDir} {
		_ = filepath.WalkDir(filepath.Join(s.dir, dir), func(p string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() && isFresh(d.Name()) {
				_ = os.Remove(p)
			}
			return nil
		})
	}
}

// isUseless reports whether no pull can go on from an unfinished blob.
func (s *store) isUseless(digest string) bool {
	blob := s.blob(digest)
	j := readJournal(blob+journalEnd, anySize)
	return j == nil || j.have() == 0 || sizeOf(blob+incompleteEnd) < 0 || sizeOf(blob) == j.head.Size
}

// isOurs reports whether a name ends as that of an unfinished blob of this package.
func isOurs(end string) bool {
	return end == incompleteEnd || end == journalEnd || end == journalEnd+journalFresh || end == copyEnd
}

// drop removes the unfinished blobs of digests.
func (s *store) drop(digests map[string]bool) error {
	for digest := range digests {
		for _, end := range []string{incompleteEnd, journalEnd, journalEnd + journalFresh, copyEnd} {
			if err := os.Remove(s.blob(digest) + end); err != nil && !os.IsNotExist(err) {
				return err
			}
		}
	}
	return nil
}
