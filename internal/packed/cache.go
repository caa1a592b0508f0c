package packed

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"time"

	"github.com/mynah-tts/mynah/internal/safetensors"
)

// Cache is a folder of matrices files, found by the digest of the checkpoint that they
// came from. Several processes may use it at once: files appear by being renamed.
type Cache struct{ Dir string }

// digestsFile remembers digests of files, so that a checkpoint is not read in full each
// time that it is opened.
const digestsFile = "digests.json"

// settled is how old a change of a file must be for its digest to be remembered: two
// changes in quick succession may leave the same time.
const settled = 2 * time.Second

// known is a remembered digest and what the file was like.
type known struct {
	Size     int64  `json:"size"`
	Modified int64  `json:"modified_ns"`
	Inode    uint64 `json:"inode"`
	SHA256   string `json:"sha256"`
}

// Digest is that of a checkpoint directory. Files that are as they were, by path, size,
// time of change and inode, are not read again.
func (c Cache) Digest(dir string) (string, error) {
	fsys := os.DirFS(dir)
	memory, grown := c.remembered(), false
	digest, err := Digest(fsys, func(name string) (string, error) {
		full, err := pathOf(dir, name)
		if err != nil {
			return "", err
		}
		info, err := os.Stat(full)
		if err != nil {
			return "", err
		}
		now := known{Size: info.Size(), Modified: info.ModTime().UnixNano(), Inode: inode(info)}
		before := memory[full]
		now.SHA256 = before.SHA256
		if now == before {
			return before.SHA256, nil
		}
		if now.SHA256, err = Sum(fsys, name); err != nil {
			return "", err
		}
		if time.Since(info.ModTime()) > settled {
			memory[full], grown = now, true
		}
		return now.SHA256, nil
	})
	if err == nil && grown {
		_ = c.remember(memory) // without it the next opening takes longer, no more
	}
	return digest, err
}

var hex256 = regexp.MustCompile(`^[0-9a-f]{64}$`)

// remembered reads the digests. What is wrong with them is forgotten.
func (c Cache) remembered() map[string]known {
	found := map[string]known{}
	name := filepath.Join(c.Dir, digestsFile)
	if info, err := os.Stat(name); err != nil || !info.Mode().IsRegular() {
		return found
	}
	data, err := os.ReadFile(name)
	if err != nil || json.Unmarshal(data, &found) != nil || found == nil {
		return map[string]known{}
	}
	for name, k := range found {
		if !hex256.MatchString(k.SHA256) {
			delete(found, name)
		}
	}
	return found
}

// remember writes the digests of the files that still exist.
func (c Cache) remember(memory map[string]known) error {
	for name := range memory {
		if _, err := os.Stat(name); err != nil {
			delete(memory, name)
		}
	}
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	data, err := json.MarshalIndent(memory, "", "  ")
	if err != nil {
		return err
	}
	return replaceFile(filepath.Join(c.Dir, digestsFile), func(f *os.File) error {
		_, err := f.Write(append(data, '\n'))
		return err
	})
}

// Path is where the matrices of a checkpoint stand. form says what they are packed as.
func (c Cache) Path(digest, form string, packing int) string {
	return filepath.Join(c.Dir, fmt.Sprintf("%s-%s-%d.safetensors", digest, form, packing))
}

// Open opens the matrices at a path, which must be those of the digest. It also removes what
// writers that were killed left in the folder.
func (c Cache) Open(path, digest string, packing int) (*File, error) {
	c.sweepAside()
	f, err := Open(path, packing)
	if err != nil {
		return nil, err
	}
	if f.Holds != MatricesOnly || f.Source != digest {
		_ = f.Close() // what is wrong with the file is the news
		return nil, fmt.Errorf("is of another checkpoint")
	}
	return f, nil
}

// Write keeps the matrices of a checkpoint, and removes those of it that older versions
// of the packing left behind.
func (c Cache) Write(path string, h Header, tensors []safetensors.Tensor) error {
	if err := os.MkdirAll(c.Dir, 0o755); err != nil {
		return err
	}
	h.Holds = MatricesOnly
	if err := Write(context.Background(), path, h, nil, tensors, nil); err != nil {
		return err
	}
	c.sweep(h.Source, h.Packing)
	return nil
}

const (
	// asideNames is the pattern of the files that osfile.CreatePending writes aside.
	asideNames = ".mynah-*.tmp"
	// abandoned is how long such a file must have been left alone to be of a dead process: one
	// that lives writes all the time, and needs minutes at most to bring it onto a slow disk.
	abandoned = 15 * time.Minute
)

// sweepAside removes files that were written aside and have no writer any more. Each may be as
// large as all matrices, and no name leads to it.
func (c Cache) sweepAside() {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		if is, _ := filepath.Match(asideNames, e.Name()); !is || !e.Type().IsRegular() {
			continue
		}
		if info, err := e.Info(); err == nil && time.Since(info.ModTime()) > abandoned {
			_ = os.Remove(filepath.Join(c.Dir, e.Name()))
		}
	}
}

var cachedName = regexp.MustCompile(`^([0-9a-f]{64})-[a-z0-9-]+-([0-9]+)\.safetensors$`)

// sweep removes the matrices of a checkpoint that are of older versions than one. Newer ones
// are of a program that may share the folder. What cannot be removed stays: it takes room, no
// more.
func (c Cache) sweep(digest string, packing int) {
	entries, err := os.ReadDir(c.Dir)
	if err != nil {
		return
	}
	for _, e := range entries {
		m := cachedName.FindStringSubmatch(e.Name())
		if m == nil || m[1] != digest || !e.Type().IsRegular() {
			continue
		}
		if version, err := strconv.Atoi(m[2]); err == nil && version < packing {
			_ = os.Remove(filepath.Join(c.Dir, e.Name()))
		}
	}
}
