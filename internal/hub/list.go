package hub

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Cached is one revision in the cache.
type Cached struct {
	Repo      string   `json:"repo"`
	Revisions []string `json:"revisions"` // names of it, sorted
	Commit    string   `json:"commit"`
	Runs      bool     `json:"runs"`              // it is of the kind that Mynah runs
	Kind      Kind     `json:"kind"`              // as far as its config.json tells
	Missing   string   `json:"missing,omitempty"` // a file that it lacks
	Files     int      `json:"files"`
	Size      int64    `json:"size_bytes"`       // of its files
	Unshared  int64    `json:"own_bytes"`        // of these, what no other revision has: what removing it frees
	Partial   int64    `json:"incomplete_bytes"` // of the repository, of files that were not fetched to their end
	Path      string   `json:"path"`
}

// List lists the revisions of all models in the cache, by repository and commit.
func (s Settings) List() ([]Cached, error) {
	entries, err := os.ReadDir(s.Cache)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("cache %s: %w", s.Cache, cause(err))
	}
	all := []Cached{}
	for _, e := range entries {
		if repo, ok := repoOf(e.Name()); ok {
			all = append(all, newStore(s, repo).list(repo)...)
		}
	}
	return all, nil
}

// list lists the revisions of one repository.
func (s *store) list(repo string) []Cached {
	refs, commits := s.refs(), s.commits()
	used := s.users(commits)
	var all []Cached
	for _, commit := range commits {
		dir := s.snapshot(commit)
		c := Cached{Repo: repo, Revisions: []string{}, Commit: commit, Partial: s.partial(), Path: dir}
		for _, r := range slices.Sorted(maps.Keys(refs)) {
			if refs[r] == commit {
				c.Revisions = append(c.Revisions, r)
			}
		}
		c.Kind, _ = readKind(filepath.Join(dir, configFile))
		// One that a pull has only begun may have no config.json yet.
		c.Runs = c.Kind.Type == runs || c.Kind.Type == "" && len(s.remembered(commit)) > 0
		if c.Runs || c.Kind.Type == "" {
			c.Missing = s.missing(commit)
		}
		for content, size := range s.contents(commit, &c.Files) {
			c.Size += size
			if used[content] == 1 {
				c.Unshared += s.frees(content, size)
			}
		}
		all = append(all, c)
	}
	return all
}

// contents are the files that the names in a snapshot lead to at their first step, with
// their sizes: blobs, or the files themselves where there are no links.
func (s *store) contents(commit string, files *int) map[string]int64 {
	found := map[string]int64{}
	_ = filepath.WalkDir(s.snapshot(commit), func(p string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || isFresh(d.Name()) {
			return nil // what cannot be read, or is being written, is not counted
		}
		content := p
		if d.Type()&fs.ModeSymlink != 0 {
			if target, err := os.Readlink(p); err == nil {
				if content = target; !filepath.IsAbs(target) {
					content = filepath.Join(filepath.Dir(p), target)
				}
			}
		}
		*files++
		found[content] = max(0, sizeOf(content))
		return nil
	})
	return found
}

// frees is what removing a content of so many bytes frees: nothing if it is, or lies behind, a
// link that leads out of the repository.
func (s *store) frees(content string, size int64) int64 {
	info, err := os.Lstat(content)
	inside := filepath.Dir(content) == filepath.Join(s.dir, blobsDir) || strings.HasPrefix(content, filepath.Join(s.dir, snapshotsDir)+string(filepath.Separator))
	if err != nil || !info.Mode().IsRegular() || !inside {
		return 0
	}
	return size
}

// users counts by how many of the commits each content is used.
func (s *store) users(commits []string) map[string]int {
	used := map[string]int{}
	for _, c := range commits {
		var files int
		for content := range s.contents(c, &files) {
			used[content]++
		}
	}
	return used
}

// partial is what unfinished blobs have: those of Python as well.
func (s *store) partial() (n int64) {
	entries, _ := os.ReadDir(filepath.Join(s.dir, blobsDir))
	for _, e := range entries {
		n += s.partialOf(e.Name())
	}
	return n
}

// partialOf is what a file of the blobs' folder has if it is an unfinished blob.
func (s *store) partialOf(name string) int64 {
	path := filepath.Join(s.dir, blobsDir, name)
	switch digest, ours := strings.CutSuffix(path, incompleteEnd); {
	case ours:
		if j := readJournal(digest+journalEnd, anySize); j != nil && sizeOf(path) >= 0 {
			return j.have()
		}
	case strings.HasSuffix(path, ".incomplete") && !strings.HasSuffix(path, journalEnd):
		return max(0, sizeOf(path))
	}
	return 0
}
