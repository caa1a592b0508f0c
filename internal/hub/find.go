package hub

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
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
	if missing := Missing(dir); missing != "" {
		return "", notCached(fmt.Sprintf("%s is not all in the cache, %s is missing: mynah pull %s fetches it", n, missing, n))
	}
	return dir, nil
}

// commitOf finds the commit that a name means in the cache.
func (s *store) commitOf(n Name) (string, error) {
	how := fmt.Sprintf("mynah pull %s fetches it", n)
	if info, err := os.Stat(s.dir); err != nil || !info.IsDir() {
		return "", notCached(fmt.Sprintf("%s is not in the cache %s: %s", n, s.cache, how))
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
		return "", notCached(fmt.Sprintf("%s is not in the cache %s: %s", n, s.cache, how))
	}
	return "", notCached(fmt.Sprintf("%s has no revision %s in the cache, there is %s: %s", n.Repo, n.revision(), strings.Join(s.names(n.Repo, commits), ", "), how))
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

// readRef is the commit of a revision, "" if there is none.
func (s *store) readRef(revision string) string {
	data, err := readBounded(filepath.Join(s.dir, refsDir, filepath.FromSlash(revision)), maxRef)
	commit := strings.TrimSpace(string(data))
	if err != nil || !commitPattern.MatchString(commit) {
		return ""
	}
	return commit
}

// refs are all revisions with their commits.
func (s *store) refs() map[string]string {
	all := map[string]string{}
	top := filepath.Join(s.dir, refsDir)
	_ = filepath.WalkDir(top, func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return nil // what cannot be read is no revision
		}
		name, _ := filepath.Rel(top, p)
		if name = filepath.ToSlash(name); revisionPattern.MatchString(name) {
			if commit := s.readRef(name); commit != "" {
				all[name] = commit
			}
		}
		return nil
	})
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

// Missing names a file that a checkpoint's folder lacks, or returns "". It looks at names
// alone: opening the model looks at the rest.
func Missing(dir string) string {
	if sizeOf(filepath.Join(dir, configFile)) < 0 {
		return configFile
	}
	if _, err := os.Stat(filepath.Join(dir, codecDir)); err == nil && sizeOf(filepath.Join(dir, codecDir, configFile)) < 0 {
		return path.Join(codecDir, configFile)
	}
	return cmp.Or(missingWeights(dir, "."), missingWeights(dir, codecDir))
}

// weightsFile is the name of weights in one file, and begins that of an index of shards.
const weightsFile = "model" + weightsEnd

// missingWeights looks for the weights of a folder: one file, or those of an index.
func missingWeights(dir, sub string) string {
	name := func(s string) string { return path.Join(sub, s) }
	at := func(s string) string { return filepath.Join(dir, filepath.FromSlash(sub), s) }
	data, err := readBounded(at(weightsFile+".index.json"), maxIndex)
	if err != nil {
		if sizeOf(at(weightsFile)) < 0 {
			return name(weightsFile)
		}
		return ""
	}
	var index struct {
		Map map[string]string `json:"weight_map"`
	}
	if json.Unmarshal(data, &index) != nil {
		return ""
	}
	for _, shard := range index.Map {
		if !strings.ContainsAny(shard, `/\`) && sizeOf(at(shard)) < 0 {
			return name(shard)
		}
	}
	return ""
}
