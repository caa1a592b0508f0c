package batch

import (
	"encoding/binary"
	"math"
	"os"
	"path/filepath"

	"github.com/mynah-tts/mynah/internal/audio"
)

const (
	// spoolBlock is how many samples are written and read at a time.
	spoolBlock = 16 << 10

	// trimLevel is the size of samples that --trim never cuts: -50 dBFS.
	trimLevel = 0.00316

	// trimLead and trimTail are what --trim leaves before the first such sample and behind
	// the last, in seconds: consonants begin and voices end below it.
	trimLead, trimTail = 0.05, 0.1
)

// spool is a file of the raw samples of one item, float32, which is read as often as
// needed. It is used again for the next item.
type spool struct {
	path  string
	where string // the job's folder, for messages
	file  File
	buf   []byte    // of one block
	block []float32 // of one block

	pending     int   // bytes in buf that are not in the file
	count       int64 // samples
	first, last int64 // above trimLevel; first is -1 without one
}

// openSpool makes a spool of a file that shall not outlive the job.
func openSpool(disk Disk, path string) (*spool, error) {
	where := filepath.Dir(filepath.Dir(path))
	f, err := disk.Open(path, os.O_RDWR|os.O_CREATE|os.O_TRUNC)
	if err != nil {
		return nil, onDisk(where, err)
	}
	s := &spool{path: path, where: where, file: f, buf: make([]byte, 4*spoolBlock), block: make([]float32, spoolBlock)}
	s.reset()
	return s, nil
}

// reset forgets the samples.
func (s *spool) reset() {
	_ = s.file.Truncate(0) // gives room back; what is there is written over in any case
	s.pending, s.count, s.first, s.last = 0, 0, -1, -1
}

// write takes samples. NaN and infinities are an *audio.SampleError.
func (s *spool) write(samples []float32) error {
	for _, x := range samples {
		if x-x != 0 {
			return &audio.SampleError{Index: s.count, Value: x}
		}
		if x >= trimLevel || x <= -trimLevel {
			if s.first < 0 {
				s.first = s.count
			}
			s.last = s.count
		}
		binary.LittleEndian.PutUint32(s.buf[s.pending:], math.Float32bits(x))
		s.pending += 4
		s.count++
		if s.pending == len(s.buf) {
			if err := s.flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (s *spool) flush() error {
	_, err := s.file.WriteAt(s.buf[:s.pending], 4*s.count-int64(s.pending))
	s.pending = 0
	return onDisk(s.where, err)
}

// trimmed returns the samples that are left without the silence at both ends: all of them
// if nothing is above the level.
func (s *spool) trimmed(rate int) (from, to int64) {
	if s.first < 0 {
		return 0, s.count
	}
	return max(0, s.first-int64(trimLead*float64(rate))), min(s.count, s.last+1+int64(trimTail*float64(rate)))
}

// read calls f with the samples from one place to another, a block at a time.
func (s *spool) read(from, to int64, f func([]float32) error) error {
	if s.pending > 0 {
		if err := s.flush(); err != nil {
			return err
		}
	}
	for from < to {
		n := min(int64(spoolBlock), to-from)
		buf := s.buf[:4*n]
		if _, err := s.file.ReadAt(buf, 4*from); err != nil {
			return onDisk(s.where, err)
		}
		for i := range n {
			s.block[i] = math.Float32frombits(binary.LittleEndian.Uint32(buf[4*i:]))
		}
		if err := f(s.block[:n]); err != nil {
			return err
		}
		from += n
	}
	return nil
}

// close closes the file and removes it.
func (s *spool) close() {
	s.file.Close()
	_ = os.Remove(s.path) // the next run would
}
