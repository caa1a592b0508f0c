package batch

import (
	"io"
	"os"
	"path/filepath"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/internal/osfile"
)

// Disk is what a job writes through. Tests have one that is full.
type Disk interface {
	// Open opens a file for reading and writing, with os.OpenFile's flags.
	Open(path string, flag int) (File, error)
	// Sink begins an audio file of samples that have their final rate.
	Sink(path string, rate int, format audio.Format) (audio.Sink, error)
	// Rename gives a file another name in the same folder or one below it. A file of that
	// name is replaced.
	Rename(from, to string) error
	// SyncDir puts the names in a folder on the disk, where the system can be asked for it.
	SyncDir(path string) error
}

// File is an open file of a Disk.
type File interface {
	io.ReadWriteCloser
	io.ReaderAt
	io.WriterAt
	Truncate(size int64) error
	Sync() error
}

// osDisk is the operating system's.
type osDisk struct{}

func (osDisk) Open(path string, flag int) (File, error) { return os.OpenFile(path, flag, 0o666) }
func (osDisk) Rename(from, to string) error             { return os.Rename(from, to) }

func (osDisk) Sink(path string, rate int, format audio.Format) (audio.Sink, error) {
	return audio.CreateEncoder(path, rate, audio.Encoding{Format: format, SampleRate: rate})
}

func (osDisk) SyncDir(path string) error {
	dir, err := os.Open(path)
	if err != nil {
		return err
	}
	_ = dir.Sync() // not every system can
	return dir.Close()
}

// diskError is a failure of the folder or its disk. It is no item's fault: others would
// fail in the same way, so it ends the job.
type diskError struct {
	path string
	err  error
}

func (e *diskError) Error() string { return e.path + ": " + osfile.Cause(e.err).Error() }
func (e *diskError) Unwrap() error { return e.err }

// onDisk marks an error as the disk's.
func onDisk(path string, err error) error {
	if err == nil {
		return nil
	}
	return &diskError{path, err}
}

// writeWhole writes a small file so that it is there in full or not at all. aside is a
// name in the folder of work for the time until then.
func writeWhole(disk Disk, aside, path string, content []byte) error {
	f, err := disk.Open(aside, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return onDisk(path, err)
	}
	_, err = f.Write(content)
	if err == nil {
		err = f.Sync()
	}
	if e := f.Close(); err == nil {
		err = e
	}
	if err == nil {
		err = disk.Rename(aside, path)
	}
	if err != nil {
		_ = os.Remove(aside) // the first error is the one to report
		return onDisk(path, err)
	}
	return onDisk(path, disk.SyncDir(filepath.Dir(path)))
}
