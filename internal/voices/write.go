package voices

import (
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/mynah-tts/mynah/internal/osfile"
)

// Names of the folder that are no voices.
const (
	lockName   = ".lock"
	tempPrefix = ".new-" // a voice that is being written
)

// Add keeps a voice. One of the same name, in any case, is only replaced if that is
// asked for. Until Add returns without an error the folder is as it was. The profile is
// returned as it was kept: a time that was not given is now.
func (s *Store) Add(p Profile, replace bool) (Voice, error) {
	if p.Created.IsZero() {
		p.Created = now()
	}
	if err := p.check(); err != nil {
		return Voice{}, err
	}
	data, err := p.encode()
	if err != nil {
		return Voice{}, err
	}
	file := fileName(p.Name)
	err = s.change(func() error {
		if err := s.room(file, p.Name, replace); err != nil {
			return err
		}
		return s.write(file, data)
	})
	if err != nil {
		return Voice{}, err
	}
	s.drop(file)
	v := Voice{Profile: p, Mode: p.Mode(), Bytes: int64(len(data))}
	v.XVector, v.Codes = nil, nil
	return v, nil
}

// Remove removes a voice by its name in any case; also one whose file is damaged.
func (s *Store) Remove(name string) error {
	clean, err := CheckName(name)
	if err != nil {
		return notFound(name)
	}
	if _, err := os.Lstat(s.dir); err != nil { // no folder is made to remove something from
		return notFound(name)
	}
	file := fileName(clean)
	path := filepath.Join(s.dir, file)
	err = s.change(func() error {
		switch err := s.disk.remove(path); {
		case errors.Is(err, fs.ErrNotExist):
			return notFound(name)
		case err != nil:
			return onDisk(path, err)
		}
		s.disk.syncDir(s.dir)
		return nil
	})
	s.drop(file)
	return err
}

// change runs a change of the folder while nobody else changes it, here or in another
// process. What one that was killed has left is removed before.
func (s *Store) change(do func() error) error {
	s.writing.Lock()
	defer s.writing.Unlock()
	if err := os.MkdirAll(s.dir, folderMode); err != nil {
		return onDisk(s.dir, err)
	}
	lock, err := takeLock(filepath.Join(s.dir, lockName), lockWait)
	switch {
	case errors.Is(err, osfile.ErrLocked):
		return errorf(Disk, "%s: another process has been changing the voices for %v", s.dir, lockWait)
	case err != nil:
		return onDisk(s.dir, err)
	}
	defer lock.Close()
	s.sweep()
	return do()
}

// sweep removes files that were never finished. The lock is held, so nobody is at work
// on them.
func (s *Store) sweep() {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return // what follows will tell
	}
	for _, f := range files {
		if strings.HasPrefix(f.Name(), tempPrefix) {
			_ = os.Remove(filepath.Join(s.dir, f.Name())) // takes room, no more
		}
	}
}

// room tells whether a voice may be kept.
func (s *Store) room(file, name string, replace bool) error {
	files, err := os.ReadDir(s.dir)
	if err != nil {
		return onDisk(s.dir, err)
	}
	count, there := 0, false
	for _, f := range files {
		if isVoiceFile(f.Name()) {
			count++
			there = there || f.Name() == file
		}
	}
	switch {
	case there && !replace:
		if e, _, err := s.look(file, false); err == nil && e.profile.Name != "" {
			name = e.profile.Name // as it was written there
		}
		return errorf(Exists, "there is a voice %s already", quoted(name))
	case !there && count >= s.max:
		return errorf(TooMany, "%d voices are kept, the most allowed: remove one first", count)
	}
	return nil
}

// write makes a file appear with its contents, or not at all.
func (s *Store) write(file string, data []byte) error {
	random := make([]byte, 8)
	_, _ = rand.Read(random) // never fails
	temp, path := filepath.Join(s.dir, tempPrefix+hex.EncodeToString(random)), filepath.Join(s.dir, file)
	f, err := s.disk.create(temp)
	if err != nil {
		return onDisk(s.dir, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = s.disk.rename(temp, path)
	}
	if err != nil {
		_ = s.disk.remove(temp) // the first error is the one to report
		return onDisk(s.dir, err)
	}
	s.disk.syncDir(s.dir)
	return nil
}
