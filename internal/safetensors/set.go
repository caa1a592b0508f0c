package safetensors

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"
)

const (
	modelFile   = "model.safetensors"
	indexSuffix = ".safetensors.index.json"
)

// Info describes one tensor.
type Info struct {
	Name  string
	DType DType
	Shape []int  // empty for a scalar
	File  string // the file that holds it, named as in the file system
}

// Set is the tensors of an opened checkpoint. It is read-only and may be used by several goroutines at once; only
// Close must not run beside another call.
type Set struct {
	file    string // the name given to Open
	tensors map[string]*tensor
	names   []string // sorted
	files   []*mapping
	meta    map[string]string
	bytes   int64
	closed  bool
}

// Open opens one .safetensors file, or an index (NAME.safetensors.index.json) together with the shards beside it. A
// file of the operating system is mapped (on Windows read into memory), any other is read into memory. The whole layout is checked here; errors are
// of type *FileError or *TensorError.
func Open(fsys fs.FS, name string) (*Set, error) {
	if strings.HasSuffix(name, indexSuffix) {
		return openIndex(fsys, name)
	}
	s := newSet(name)
	return s.finish(s.add(fsys, name))
}

// OpenModel opens dir/model.safetensors or, when there is none, dir/model.safetensors.index.json with its shards.
func OpenModel(fsys fs.FS, dir string) (*Set, error) {
	single, index := path.Join(dir, modelFile), path.Join(dir, "model"+indexSuffix)
	for _, name := range []string{single, index} {
		_, err := fs.Stat(fsys, name)
		if err == nil {
			return Open(fsys, name)
		}
		if !errors.Is(err, fs.ErrNotExist) {
			return nil, &FileError{File: name, Problem: "cannot stat", Err: cause(err)}
		}
	}
	return nil, &FileError{File: path.Clean(dir), Problem: "no weights", Wanted: single + " or " + index, Err: fs.ErrNotExist}
}

func newSet(file string) *Set {
	return &Set{file: file, tensors: make(map[string]*tensor)}
}

// add opens one file and takes its tensors in; a name that is there already is an error.
func (s *Set) add(fsys fs.FS, name string) error {
	m, err := openFile(fsys, name)
	if err != nil {
		return err
	}
	s.files = append(s.files, m)
	tensors, meta, err := parseHeader(name, m.data)
	if err != nil {
		return err
	}
	s.meta = meta
	for i := range tensors {
		t := &tensors[i]
		if other, ok := s.tensors[t.Name]; ok {
			return &TensorError{s.file, t.Name, "held by two shards,", other.File + " and " + name, "one"}
		}
		s.put(t.Name, t)
	}
	return nil
}

// finish ends an opening that went as err says: the files are given back if it failed.
func (s *Set) finish(err error) (*Set, error) {
	if err != nil {
		_ = s.Close() // what went wrong before is the news
		return nil, err
	}
	slices.Sort(s.names)
	return s, nil
}

// Names returns the names of all tensors, sorted.
func (s *Set) Names() []string { return slices.Clone(s.names) }

// Info describes the tensor of this name; false when there is none.
func (s *Set) Info(name string) (Info, bool) {
	t, ok := s.tensors[name]
	if !ok {
		return Info{}, false
	}
	info := t.Info
	info.Shape = slices.Clone(info.Shape)
	return info, true
}

// Metadata returns the metadata of a set that is one file.
func (s *Set) Metadata() map[string]string { return maps.Clone(s.meta) }

// Under returns the tensors whose names begin with prefix, by what follows it. They
// die with this set's Close.
func (s *Set) Under(prefix string) *Set {
	sub := newSet(s.file)
	for _, name := range s.names {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			sub.put(rest, s.tensors[name])
		}
	}
	return sub
}

// With returns the tensors of two sets; one that is in both is that of over. They die
// with the Close of the set that they are from.
func (s *Set) With(over *Set) *Set {
	both := newSet(s.file)
	for _, set := range []*Set{over, s} {
		for _, name := range set.names {
			if _, ok := both.tensors[name]; !ok {
				both.put(name, set.tensors[name])
			}
		}
	}
	slices.Sort(both.names)
	return both
}

// put takes in a tensor of another set.
func (s *Set) put(name string, t *tensor) {
	s.tensors[name] = t
	s.names = append(s.names, name)
	s.bytes += int64(len(t.data))
}

// Bytes returns the bytes of all tensors together, headers not counted.
func (s *Set) Bytes() int64 { return s.bytes }

// Close unmaps the files. Every view handed out before is dead from then on: touching one ends the program. A second
// Close does nothing.
func (s *Set) Close() error {
	s.closed = true
	var errs []error
	for _, m := range s.files {
		if err := m.close(); err != nil {
			errs = append(errs, fmt.Errorf("safetensors: %s: unmap: %w", s.file, err))
		}
	}
	s.files = nil
	return errors.Join(errs...)
}
