package hub

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mynah-tts/mynah/internal/osfile"
)

// ErrNotCached is wrapped by the errors of models that are not in the cache, or not all of
// them.
var ErrNotCached = errors.New("not in the cache")

// notCached is such an error.
type notCached string

func (e notCached) Error() string { return string(e) }

func (notCached) Is(target error) bool { return target == ErrNotCached }

// Find returns the folder of a model's snapshot in the cache. An error says what is there
// instead, and how the model is fetched.
func (s Settings) Find(n Name) (string, error) {
	st := newStore(s, n.Repo)
	commit, err := st.commitOf(n)
	if err != nil {
		return "", err
	}
	dir := st.snapshot(commit)
	if k, err := readKind(filepath.Join(dir, configFile)); err == nil && k.Type != runs {
		return dir, nil // opening it says why it cannot be run
	}
	if missing := st.missing(commit); missing != "" {
		return "", notCached(fmt.Sprintf("%s is not all in the cache, %s is missing: %s", n, missing, st.how(n)))
	}
	return dir, nil
}

// how says how a model that is not there, or not all of it, gets there.
func (s *store) how(n Name) string {
	path := filepath.Join(s.locks, repoLock)
	if sizeOf(path) >= 0 { // a lock that is not there need not be made to be asked
		l, err := takeLock(path)
		if errors.Is(err, osfile.ErrLocked) {
			return fmt.Sprintf("a pull of %s is running%s, mynah pull %s waits for its end", n.Repo, holder(path), n)
		}
		if err == nil {
			l.release()
		}
	}
	return fmt.Sprintf("mynah pull %s fetches it", n)
}

// Has reports whether anything of a repository is in the cache.
func (s Settings) Has(repo string) bool {
	info, err := os.Stat(newStore(s, repo).dir)
	return err == nil && info.IsDir()
}

// commitOf finds the commit that a name means in the cache.
func (s *store) commitOf(n Name) (string, error) {
	if info, err := os.Stat(s.dir); err != nil || !info.IsDir() {
		return "", notCached(fmt.Sprintf("%s is not in the cache %s: %s", n, s.cache, s.how(n)))
	}
	if commit := s.readRef(n.revision()); commit != "" {
		return commit, nil
	}
	commits := s.commits()
	if n.Revision != "" {
		isPart := func(c string) bool { return len(n.Revision) >= shortestCommit && strings.HasPrefix(c, n.Revision) }
		found := slices.DeleteFunc(slices.Clone(commits), func(c string) bool { return !isPart(c) })
		if len(found) == 1 {
			return found[0], nil
		}
		if len(found) > 1 {
			return "", fmt.Errorf("%s: %d commits in the cache begin like that", n, len(found))
		}
	}
	if len(commits) == 0 {
		return "", notCached(fmt.Sprintf("%s is not in the cache %s: %s", n, s.cache, s.how(n)))
	}
	return "", notCached(fmt.Sprintf("%s has no revision %s in the cache, there is %s: %s", n.Repo, n.revision(), strings.Join(s.names(n.Repo, commits), ", "), s.how(n)))
}

// shortestCommit is how many digits may stand for a commit.
const shortestCommit = 7

// names are by what names the given commits can be had.
func (s *store) names(repo string, commits []string) []string {
	refs := s.refs()
	var all []string
	for _, c := range commits {
		name := c
		for _, r := range slices.Sorted(maps.Keys(refs)) {
			if refs[r] == c {
				name = r
			}
		}
		all = append(all, repo+"@"+name)
	}
	return all
}

// commits are those that have a folder, sorted.
func (s *store) commits() []string {
	entries, _ := os.ReadDir(filepath.Join(s.dir, snapshotsDir))
	var all []string
	for _, e := range entries {
		if e.IsDir() && commitPattern.MatchString(e.Name()) {
			all = append(all, e.Name())
		}
	}
	return all
}
