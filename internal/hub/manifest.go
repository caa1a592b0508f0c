package hub

import (
	"cmp"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// manifestsDir holds a manifest of each commit of which something was fetched.
const manifestsDir = ".mynah"

// manifest is the list of the files that pulls were to bring of one commit. It is written
// before the first of them comes, so that a snapshot tells what it lacks. One that
// huggingface_hub made has none.
type manifest struct {
	Version int            `json:"mynah_files"`
	Files   []manifestFile `json:"files"` // by path
}

type manifestFile struct {
	Path   string `json:"path"`
	Size   int64  `json:"size"`
	Digest string `json:"digest"`
}

const manifestVersion = 1

func (s *store) manifest(commit string) string {
	return filepath.Join(s.dir, manifestsDir, commit+".json")
}

// remembered are the files of a commit's manifest; none if there is no manifest, or not one
// that can be read.
func (s *store) remembered(commit string) []manifestFile {
	data, err := readBounded(s.manifest(commit), maxManifest)
	if err != nil {
		return nil
	}
	return parseManifest(data)
}

// parseManifest leaves out what is no safe path, or no digest.
func parseManifest(data []byte) []manifestFile {
	var m manifest
	if json.Unmarshal(data, &m) != nil || m.Version != manifestVersion {
		return nil
	}
	return slices.DeleteFunc(m.Files, func(f manifestFile) bool {
		return checkPath(f.Path) != nil || !digestPattern.MatchString(f.Digest) || f.Size < 0 || f.Size > maxFileSize
	})
}

// remember adds files to a commit's manifest.
func (s *store) remember(commit string, files []File) error {
	before := s.remembered(commit)
	all := map[string]manifestFile{}
	for _, f := range before {
		all[f.Path] = f
	}
	for _, f := range files {
		all[f.Path] = manifestFile{f.Path, f.Size, f.Digest}
	}
	m := manifest{Version: manifestVersion}
	for _, f := range all {
		m.Files = append(m.Files, f)
	}
	slices.SortFunc(m.Files, func(a, b manifestFile) int { return cmp.Compare(a.Path, b.Path) })
	if slices.Equal(m.Files, before) {
		return nil
	}
	data, err := json.Marshal(m)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(s.dir)
	if err != nil {
		return onDisk(err)
	}
	defer root.Close()
	if err := root.MkdirAll(manifestsDir, 0o777); err != nil {
		return onDisk(err)
	}
	fresh := path.Join(manifestsDir, fmt.Sprintf("%s.%d%s", commit, os.Getpid(), freshEnd))
	if err := root.WriteFile(fresh, append(data, '\n'), 0o666); err != nil {
		return onDisk(err)
	}
	return onDisk(root.Rename(fresh, path.Join(manifestsDir, commit+".json")))
}
