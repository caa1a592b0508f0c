package hub

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
)

// Name is a repository and, if there is one, a revision: a branch, a tag or a commit.
type Name struct {
	Repo     string // org/name, or a name alone
	Revision string // "" if none was named
}

// String is what Parse reads.
func (n Name) String() string {
	if n.Revision == "" {
		return n.Repo
	}
	return n.Repo + "@" + n.Revision
}

// revision is the one that is meant.
func (n Name) revision() string {
	if n.Revision == "" {
		return defaultRevision
	}
	return n.Revision
}

const defaultRevision = "main"

var (
	repoPattern     = regexp.MustCompile(`^[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?(/[A-Za-z0-9_]([A-Za-z0-9._-]*[A-Za-z0-9_])?)?$`)
	revisionPattern = regexp.MustCompile(`^[A-Za-z0-9_][A-Za-z0-9._+=-]*(/[A-Za-z0-9_][A-Za-z0-9._+=-]*)*$`)
	commitPattern   = regexp.MustCompile(`^[0-9a-f]{40}$`)
	digestPattern   = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)
)

const (
	maxRepo     = 96  // characters, as the hub has it
	maxRevision = 200 // bytes
)

// Parse reads REPO or REPO@REVISION. The rules are the hub's own, so that a name is always a
// safe name of a folder.
func Parse(s string) (Name, error) {
	repo, revision, has := strings.Cut(s, "@")
	n := Name{repo, revision}
	switch {
	case len(repo) > maxRepo || !repoPattern.MatchString(repo) || strings.Contains(repo, "--") || strings.Contains(repo, "..") || strings.HasSuffix(repo, ".git"):
		return Name{}, fmt.Errorf("%.120q is no repository, wanted ORG/NAME or NAME of letters, digits, -, _ and . (%d at most, no -- or ..)", repo, maxRepo)
	case has && (len(revision) > maxRevision || !revisionPattern.MatchString(revision) || strings.Contains(revision, "..") || isFresh(revision)):
		return Name{}, fmt.Errorf("%.120q is no revision, wanted a branch, a tag or a commit", revision)
	}
	return n, nil
}

// folderPrefix begins the folder of a model's repository.
const folderPrefix = "models--"

// folder is the name of a repository's folder in the cache.
func folder(repo string) string { return folderPrefix + strings.ReplaceAll(repo, "/", "--") }

// repoOf is the repository of a folder's name.
func repoOf(folder string) (string, bool) {
	rest, ok := strings.CutPrefix(folder, folderPrefix)
	if !ok {
		return "", false
	}
	n, err := Parse(strings.ReplaceAll(rest, "--", "/"))
	return n.Repo, err == nil && n.Revision == ""
}

// RepoOf tells which repository a folder of a snapshot is of.
func RepoOf(snapshot string) (repo string, ok bool) {
	commit := filepath.Clean(snapshot)
	snapshots := filepath.Dir(commit)
	if !commitPattern.MatchString(filepath.Base(commit)) || filepath.Base(snapshots) != snapshotsDir {
		return "", false
	}
	return repoOf(filepath.Base(filepath.Dir(snapshots)))
}
