package hub

import (
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// readRef is the commit of a revision, "" if there is none.
func (s *store) readRef(revision string) string {
	data, err := readBounded(s.ref(revision), maxRef)
	commit := strings.TrimSpace(string(data))
	if err != nil || isFresh(path.Base(revision)) || !commitPattern.MatchString(commit) {
		return ""
	}
	return commit
}

func (s *store) ref(revision string) string {
	return filepath.Join(s.dir, refsDir, filepath.FromSlash(revision))
}

// refs are all revisions with their commits.
func (s *store) refs() map[string]string {
	all := map[string]string{}
	for _, name := range s.refFiles(".") {
		if commit := s.readRef(name); commit != "" && revisionPattern.MatchString(name) {
			all[name] = commit
		}
	}
	return all
}

// refFiles are the names of the files of refs at or below a name, in order, without those
// that are being written.
func (s *store) refFiles(at string) (names []string) {
	top := filepath.Join(s.dir, refsDir)
	_ = filepath.WalkDir(s.ref(at), func(p string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() || isFresh(d.Name()) {
			return nil // what cannot be read is no revision
		}
		if name, err := filepath.Rel(top, p); err == nil {
			names = append(names, filepath.ToSlash(name))
		}
		return nil
	})
	return names
}

// checkRef refuses a revision whose name is a folder of another's, or the other way round:
// both are files below refs, and cannot be there together.
func (s *store) checkRef(n Name, commit string) error {
	revision := n.revision()
	if revision == commit {
		return nil
	}
	other := ""
	for i, c := range revision {
		if c == '/' {
			if info, err := os.Lstat(s.ref(revision[:i])); err == nil && !info.IsDir() {
				other = revision[:i]
			}
		}
	}
	if info, err := os.Lstat(s.ref(revision)); err == nil && info.IsDir() {
		if below := s.refFiles(revision); len(below) > 0 {
			other = below[0]
		}
	}
	if other == "" {
		return nil
	}
	return fmt.Errorf("%s: the cache has the revision %s, and files of both names cannot be there together: mynah models remove %s@%s removes that one, mynah pull %s@%s takes this one by its commit",
		n, other, n.Repo, other, n.Repo, commit)
}

// writeRef says which commit a revision is at.
func (s *store) writeRef(revision, commit string) error {
	if revision == commit || s.readRef(revision) == commit {
		return nil
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return onDisk(err)
	}
	defer root.Close()
	name := path.Join(refsDir, revision)
	if info, err := root.Lstat(name); err == nil && info.IsDir() {
		s.removeEmpty(revision)
	}
	if err := root.MkdirAll(path.Dir(name), 0o777); err != nil {
		return onDisk(err)
	}
	// Beside refs, not in it: huggingface_hub takes every file there for a ref.
	const fresh = freshStart + "ref" + shortEnd
	if err := root.WriteFile(fresh, []byte(commit), 0o666); err != nil {
		return onDisk(err)
	}
	return onDisk(root.Rename(fresh, name))
}

// removeRef removes a revision's name, and the folders that are empty then.
func (s *store) removeRef(revision string) error {
	if err := os.Remove(s.ref(revision)); err != nil {
		return err
	}
	for dir := path.Dir(revision); dir != "."; dir = path.Dir(dir) {
		if os.Remove(s.ref(dir)) != nil {
			return nil // others are in it
		}
	}
	return nil
}

// removeEmpty removes a folder of refs and those in it, as far as they are empty but for files
// that were being written.
func (s *store) removeEmpty(revision string) {
	var dirs []string
	_ = filepath.WalkDir(s.ref(revision), func(p string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
		case d.IsDir():
			dirs = append(dirs, p)
		case isFresh(d.Name()):
			_ = os.Remove(p)
		}
		return nil
	})
	for _, dir := range slices.Backward(dirs) {
		_ = os.Remove(dir)
	}
}
