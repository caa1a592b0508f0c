package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/mynah-tts/mynah/internal/osfile"
)

// Names of a worker's folder, the process's alone, and of the file in it that the process
// locks for as long as it lives.
const (
	workerDirs = "mynah-worker-*"
	workerLock = "lock"
)

// newWorkerDir makes a folder for what a worker has not finished and removes what killed
// workers have left beside it. remove ends it.
func newWorkerDir(temp string) (dir string, remove func(), err error) {
	for range 8 { // a worker that starts in the same instant may take a folder between its making and its lock
		if dir, err = os.MkdirTemp(temp, workerDirs); err != nil {
			return "", nil, fmt.Errorf("%s: %w", temp, cause(err))
		}
		lock, e := osfile.Lock(filepath.Join(dir, workerLock), 0o600)
		if e == nil {
			removeLeftWorkerDirs(temp, dir)
			return dir, func() {
				lock.Close() // first: where an open file cannot be removed, the folder would stay
				_ = os.RemoveAll(dir)
			}, nil
		}
		err = fmt.Errorf("%s: %w", dir, cause(e))
	}
	return "", nil, err
}

// removeLeftWorkerDirs removes the folders of workers that live no more: those whose lock
// nobody holds. What is not this user's stays, as the system refuses it.
func removeLeftWorkerDirs(temp, mine string) {
	if !locked(filepath.Join(mine, workerLock)) {
		return // this file system has no locks, nobody can be told from the dead
	}
	entries, _ := os.ReadDir(temp)
	for _, entry := range entries {
		dir := filepath.Join(temp, entry.Name())
		lock := filepath.Join(dir, workerLock)
		if ours, _ := filepath.Match(workerDirs, entry.Name()); !ours || dir == mine || !entry.IsDir() {
			continue
		}
		if info, err := os.Lstat(lock); err != nil || !info.Mode().IsRegular() {
			continue
		}
		f, err := osfile.Lock(lock, 0o600)
		if err != nil {
			continue
		}
		f.Close()
		_ = os.RemoveAll(dir)
	}
}

// locked reports whether somebody holds the lock of a file, this process included.
func locked(path string) bool {
	f, err := osfile.Lock(path, 0o600)
	if err == nil {
		f.Close()
	}
	return errors.Is(err, osfile.ErrLocked)
}
