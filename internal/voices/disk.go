package voices

import (
	"io"
	"os"
)

// disk is how a store writes. Tests have one that is full.
type disk interface {
	create(path string) (file, error) // a new file of this user alone
	rename(from, to string) error     // a file of that name is replaced
	remove(path string) error
	syncDir(path string)
}

// file is a file that is written.
type file interface {
	io.WriteCloser
	Sync() error
}

// osDisk is the operating system's.
type osDisk struct{}

// Voices are of persons: nobody else on this machine is to read them.
const (
	folderMode = 0o700
	fileMode   = 0o600
)

func (osDisk) create(path string) (file, error) {
	return os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, fileMode)
}

func (osDisk) rename(from, to string) error { return os.Rename(from, to) }
func (osDisk) remove(path string) error     { return os.Remove(path) }

// syncDir puts the names in a folder on the disk. Not every system can.
func (osDisk) syncDir(path string) {
	if dir, err := os.Open(path); err == nil {
		_ = dir.Sync()
		dir.Close()
	}
}
