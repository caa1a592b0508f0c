package hub

import (
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"

	"github.com/mynah-tts/mynah/internal/osfile"
)

// Removal is what is to be removed from the cache.
type Removal struct {
	Repo  string
	Gone  []Cached // revisions
	Stay  int      // revisions of the repository that stay
	Frees int64    // bytes, those of unfinished files included if nothing stays

	store   *store
	commits []string          // that were there when it was looked for
	refs    map[string]string // and their names
}

// Removal looks for what a name means: all revisions of a repository if it names none.
func (s Settings) Removal(n Name) (*Removal, error) {
	st := newStore(s, n.Repo)
	if info, err := os.Stat(st.dir); err != nil || !info.IsDir() {
		return nil, notCached(fmt.Sprintf("%s is not in the cache %s", n, s.Cache))
	}
	r := &Removal{Repo: n.Repo, store: st, commits: st.commits(), refs: st.refs()}
	if err := st.checkLinks(n.Repo); err != nil {
		return nil, err
	}
	all := st.list(n.Repo)
	if n.Revision == "" {
		r.Gone = all
	} else {
		commit, err := st.commitOf(n)
		if err != nil {
			return nil, fmt.Errorf("%s is not in the cache", n)
		}
		r.Gone = slices.DeleteFunc(slices.Clone(all), func(c Cached) bool { return c.Commit != commit })
		if len(r.Gone) == 0 {
			return nil, notCached(fmt.Sprintf("%s is not in the cache", n))
		}
	}
	if r.Stay = len(all) - len(r.Gone); r.Stay > 0 {
		for digest := range st.partialsOf(r.Gone[0].Commit) {
			r.Frees += st.partialOf(digest + incompleteEnd)
		}
		r.Frees += r.Gone[0].Unshared
		return r, nil
	}
	contents := map[string]int64{}
	for _, c := range r.Gone {
		var files int
		for content, size := range st.contents(c.Commit, &files) {
			contents[content] = size
		}
	}
	for content, size := range contents {
		r.Frees += st.frees(content, size)
	}
	r.Frees += st.partial()
	return r, nil
}

// checkLinks refuses a repository whose folders are links: what they lead to may be anybody's.
func (s *store) checkLinks(repo string) error {
	for _, dir := range []string{s.dir, filepath.Join(s.dir, refsDir), filepath.Join(s.dir, snapshotsDir), filepath.Join(s.dir, blobsDir)} {
		info, err := os.Lstat(dir)
		if err == nil && info.Mode()&(fs.ModeSymlink|fs.ModeIrregular) != 0 { // irregular are Windows' junctions
			return fmt.Errorf("%s: %s is a link, and nothing is removed through one: remove by hand what it leads to, and the link", repo, dir)
		}
	}
	return nil
}

// partialsOf are the digests of files of a commit that no other commit is known to have.
func (s *store) partialsOf(commit string) map[string]bool {
	digests := map[string]bool{}
	for _, f := range s.remembered(commit) {
		digests[f.Digest] = true
	}
	for _, other := range s.commits() {
		if other == commit {
			continue
		}
		for _, f := range s.remembered(other) {
			delete(digests, f.Digest)
		}
	}
	return digests
}

// Run removes it, unless it is being fetched, or other revisions or names are there than when
// it was looked for: what is removed is what was shown. Names go before contents, so that an
// interruption leaves no name without its content.
func (r *Removal) Run() error {
	locks, err := r.store.lockAll(r.Repo)
	if err != nil {
		return err
	}
	defer func() {
		for _, l := range locks {
			l.release()
		}
	}()
	if !slices.Equal(r.commits, r.store.commits()) || !maps.Equal(r.refs, r.store.refs()) {
		return fmt.Errorf("%s: the cache has changed since; nothing was removed", r.Repo)
	}
	if r.Stay == 0 {
		return r.store.removeAll()
	}
	for _, c := range r.Gone {
		if err := r.store.removeCommit(c.Commit); err != nil {
			return err
		}
	}
	return nil
}

// lockAll takes the lock of pulls and those of blobs that are there.
func (s *store) lockAll(repo string) (locks []*fileLock, err error) {
	if err := os.MkdirAll(s.locks, 0o777); err != nil {
		return nil, onDisk(err)
	}
	names := []string{repoLock}
	entries, err := os.ReadDir(s.locks)
	if err != nil {
		return nil, onDisk(err)
	}
	for _, e := range entries {
		if e.Type().IsRegular() && e.Name() != repoLock {
			names = append(names, e.Name())
		}
	}
	for _, name := range names {
		l, err := takeLock(filepath.Join(s.locks, name))
		if err != nil {
			for _, l := range locks {
				l.release()
			}
			if errors.Is(err, osfile.ErrLocked) {
				return nil, fmt.Errorf("%s is being fetched%s, so it is not removed", repo, holder(filepath.Join(s.locks, name)))
			}
			return nil, err
		}
		locks = append(locks, l)
	}
	return locks, nil
}

// removeAll removes a repository.
func (s *store) removeAll() error {
	entries, err := os.ReadDir(s.dir)
	if err != nil {
		return onRemoval(err)
	}
	rank := func(e os.DirEntry) int {
		switch e.Name() {
		case refsDir:
			return 0
		case snapshotsDir:
			return 1
		}
		return 2
	}
	slices.SortStableFunc(entries, func(a, b os.DirEntry) int { return cmp.Compare(rank(a), rank(b)) })
	for _, e := range entries {
		if err := os.RemoveAll(filepath.Join(s.dir, e.Name())); err != nil {
			return onRemoval(err)
		}
	}
	return onRemoval(os.Remove(s.dir))
}

// removeCommit removes one revision, and of its contents those that no other has.
func (s *store) removeCommit(commit string) error {
	used := s.users(s.commits())
	var files int
	contents, partials := s.contents(commit, &files), s.partialsOf(commit)
	for name, c := range s.refs() {
		if c == commit {
			if err := s.removeRef(name); err != nil {
				return onRemoval(err)
			}
		}
	}
	for _, path := range []string{
		s.snapshot(commit), filepath.Join(s.dir, ".no_exist", commit), filepath.Join(s.dir, "trees", commit+".json"), // the last two are huggingface_hub's
		s.manifest(commit),
	} {
		if err := os.RemoveAll(path); err != nil {
			return onRemoval(err)
		}
	}
	blobs := filepath.Join(s.dir, blobsDir)
	for content := range contents {
		if filepath.Dir(content) == blobs && used[content] == 1 { // a link may lead anywhere
			if err := os.Remove(content); err != nil && !os.IsNotExist(err) {
				return onRemoval(err)
			}
		}
	}
	return onRemoval(s.drop(partials))
}

func onRemoval(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("cannot remove all of it: %w", err)
}
