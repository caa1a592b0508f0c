package packed

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
)

// Digest identifies a checkpoint directory: SHA-256 over the names, sizes and SHA-256
// digests of the small files and of all weight files and their indexes, each read in
// full. sum gives the digest of one file, by its name in fsys.
func Digest(fsys fs.FS, sum func(name string) (string, error)) (string, error) {
	names, err := contents(fsys)
	if err != nil {
		return "", err
	}
	whole := sha256.New()
	for _, name := range names {
		info, err := fs.Stat(fsys, name)
		if err != nil {
			return "", err
		}
		digest, err := sum(name)
		if err != nil {
			return "", err
		}
		fmt.Fprintf(whole, "%q %d %s\n", name, info.Size(), digest)
	}
	return hex.EncodeToString(whole.Sum(nil)), nil
}

// contents lists the files that decide what a checkpoint is, sorted. What is there and no
// regular file, such as a pipe, is none of them: to read it could take for ever.
func contents(fsys fs.FS) ([]string, error) {
	var names []string
	for _, name := range smallFiles {
		if info, err := fs.Stat(fsys, name); err == nil && info.Mode().IsRegular() {
			names = append(names, name)
		}
	}
	for _, folder := range weightFolders {
		for _, pattern := range []string{"*.safetensors", "*.safetensors.index.json"} {
			found, err := fs.Glob(fsys, path.Join(folder, pattern))
			if err != nil {
				return nil, err
			}
			names = append(names, slices.DeleteFunc(found, func(name string) bool {
				info, err := fs.Stat(fsys, name)
				return err == nil && !info.Mode().IsRegular()
			})...)
		}
	}
	slices.Sort(names)
	return names, nil
}

// Sum returns the SHA-256 of a file, read as a stream.
func Sum(fsys fs.FS, name string) (string, error) {
	f, err := fsys.Open(name)
	if err != nil {
		return "", err
	}
	defer f.Close()
	hash := sha256.New()
	if _, err := io.CopyBuffer(hash, struct{ io.Reader }{f}, make([]byte, 1<<20)); err != nil {
		return "", fmt.Errorf("%s: %w", name, err)
	}
	return hex.EncodeToString(hash.Sum(nil)), nil
}

// DigestDir is Digest of a directory, without memory of earlier ones.
func DigestDir(dir string) (string, error) {
	fsys := os.DirFS(dir)
	return Digest(fsys, func(name string) (string, error) { return Sum(fsys, name) })
}

// pathOf is the path of a file in a directory, in full, so that it can be remembered.
func pathOf(dir, name string) (string, error) {
	return filepath.Abs(filepath.Join(dir, filepath.FromSlash(name)))
}
