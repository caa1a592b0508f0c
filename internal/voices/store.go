package voices

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

// Store is a folder of voices. All of its methods may be called at once.
type Store struct {
	dir  string
	max  int
	disk disk

	writing sync.Mutex // held with the folder's lock

	mu     sync.Mutex
	known  map[string]*entry // by the name of the file, as far as it was looked at
	clock  int64             // of uses
	forget func(*synth.Reference)
	fits   func(*synth.Reference) error
}

// entry is a file that was read.
type entry struct {
	stat    fs.FileInfo
	profile Profile          // without its reference
	mode    string           // as Profile.Mode
	problem string           // instead of a profile
	unfit   string           // as Voice.Unfit
	ref     *synth.Reference // nil unless it was used lately
	used    int64
}

// Open makes a store of a folder, which need not be there before a voice is added, and
// keeps up to max voices in it; 0 is DefaultMax.
func Open(dir string, max int) *Store {
	if max <= 0 {
		max = DefaultMax
	}
	return &Store{dir: dir, max: max, disk: osDisk{}, known: map[string]*entry{}}
}

// Dir is the store's folder.
func (s *Store) Dir() string { return s.dir }

// OnForget has f told of each reference that Use gave and will not give again, since its
// voice was removed or replaced, or others were used. It may be called before any other
// method.
func (s *Store) OnForget(f func(*synth.Reference)) { s.forget = f }

// CheckWith has f tell of each voice whether a checkpoint takes its reference: files may be
// edited by hand. It may be called before any other method.
func (s *Store) CheckWith(f func(*synth.Reference) error) { s.fits = f }

// Voice is a voice that is kept, without its reference.
type Voice struct {
	Profile
	Mode  string // as Profile.Mode
	Bytes int64  // of its file
	Unfit string // what the checkpoint of CheckWith has against its reference, or ""
}

func (e *entry) voice() Voice {
	return Voice{Profile: e.profile, Mode: e.mode, Bytes: e.stat.Size(), Unfit: e.unfit}
}

// List returns the voices, sorted by name, and a line for each file that is none.
func (s *Store) List() (all []Voice, problems []string, err error) {
	files, err := os.ReadDir(s.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, onDisk(s.dir, err)
	}
	there := map[string]bool{}
	for _, f := range files {
		if !isVoiceFile(f.Name()) {
			continue
		}
		there[f.Name()] = true
		e, _, err := s.look(f.Name(), false)
		switch {
		case errors.Is(err, fs.ErrNotExist): // removed in between
		case err != nil:
			problems = append(problems, onDisk(filepath.Join(s.dir, f.Name()), err).(*Error).Message)
		case e.problem != "":
			problems = append(problems, filepath.Join(s.dir, f.Name())+": "+e.problem)
		default:
			all = append(all, e.voice())
		}
	}
	s.prune(there)
	slices.SortFunc(all, func(a, b Voice) int { return strings.Compare(Fold(a.Name), Fold(b.Name)) })
	return all, problems, nil
}

// Get returns a voice by its name in any case.
func (s *Store) Get(name string) (Voice, error) {
	e, _, err := s.find(name, false)
	if err != nil {
		return Voice{}, err
	}
	return e.voice(), nil
}

// find looks for a voice, with its reference if that is wanted.
func (s *Store) find(name string, load bool) (entry, *synth.Reference, error) {
	clean, err := CheckName(name)
	if err != nil { // no voice could have it
		return entry{}, nil, notFound(name)
	}
	file := fileName(clean)
	e, ref, err := s.look(file, load)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return entry{}, nil, notFound(name)
	case err != nil:
		return entry{}, nil, onDisk(filepath.Join(s.dir, file), err)
	case e.problem != "":
		return entry{}, nil, damaged(clean, e.problem)
	}
	return e, ref, nil
}

func damaged(name, problem string) error {
	return errorf(Damaged, "the file of the voice %s is damaged: %s", quoted(name), problem)
}

func notFound(name string) error { return errorf(NotFound, "there is no voice %s", quoted(name)) }

// look returns what a file holds, read again only if it has changed: a change is another
// file under the same name.
func (s *Store) look(file string, load bool) (entry, *synth.Reference, error) {
	path := filepath.Join(s.dir, file)
	stat, err := os.Lstat(path)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			s.drop(file)
		}
		return entry{}, nil, err
	}
	s.mu.Lock()
	e := s.known[file]
	if e != nil && same(e.stat, stat) && (!load || e.ref != nil || e.problem != "") {
		defer s.mu.Unlock()
		s.clock++
		e.used = s.clock
		return *e, e.ref, nil
	}
	s.mu.Unlock()
	fresh, err := read(path, file)
	if err != nil {
		return entry{}, nil, err
	}
	if s.fits != nil && fresh.ref != nil {
		if err := s.fits(fresh.ref); err != nil {
			fresh.unfit = printable(err)
		}
	}
	return s.keep(file, fresh, load)
}

// same reports whether a file is the one that was read. Voices are never written in
// place; size and time are for those who edit one by hand.
func same(a, b fs.FileInfo) bool {
	return os.SameFile(a, b) && a.Size() == b.Size() && a.ModTime().Equal(b.ModTime())
}

// read reads a file. What is wrong with its contents is the entry's problem.
func read(path, name string) (*entry, error) {
	if stat, err := os.Lstat(path); err != nil {
		return nil, err
	} else if !stat.Mode().IsRegular() { // a pipe would wait for ever, a link may lead anywhere
		return &entry{stat: stat, problem: "it is no regular file"}, nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	stat, err := f.Stat()
	if err != nil {
		return nil, err
	}
	data, err := io.ReadAll(io.LimitReader(f, maxFileBytes+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxFileBytes {
		return &entry{stat: stat, problem: "it is larger than a voice can be"}, nil
	}
	p, err := decode(data)
	switch {
	case err != nil:
		return &entry{stat: stat, problem: err.Error()}, nil
	case fileName(p.Name) != name:
		return &entry{stat: stat, problem: "it holds the voice " + quoted(p.Name) + ", whose file would be " + fileName(p.Name)}, nil
	}
	ref := p.Reference
	e := &entry{stat: stat, mode: p.Mode(), ref: &ref}
	p.Reference = synth.Reference{Text: ref.Text}
	e.profile = *p
	return e, nil
}

// keep remembers a file that was read, unless somebody else has in the meantime: all who
// use a voice share one reference. What is wrong with it now counts, also if it was right
// when it was read before: who edits a file in place may leave its size and time.
func (s *Store) keep(file string, fresh *entry, load bool) (entry, *synth.Reference, error) {
	var dropped []*synth.Reference
	s.mu.Lock()
	e := s.known[file]
	if e == nil || !same(e.stat, fresh.stat) || fresh.problem != "" {
		if e != nil && e.ref != nil {
			dropped = append(dropped, e.ref)
		}
		e = &entry{stat: fresh.stat, profile: fresh.profile, mode: fresh.mode, problem: fresh.problem, unfit: fresh.unfit}
		s.known[file] = e
	}
	if load && e.ref == nil {
		e.ref = fresh.ref
	}
	s.clock++
	e.used = s.clock
	dropped = append(dropped, s.shed(e)...)
	result, ref := *e, e.ref
	s.mu.Unlock()
	s.tell(dropped)
	return result, ref, nil
}

// shed gives up references that were not used lately, but for one. mu is held.
func (s *Store) shed(but *entry) (dropped []*synth.Reference) {
	var loaded []*entry
	for _, e := range s.known {
		if e.ref != nil && e != but {
			loaded = append(loaded, e)
		}
	}
	if len(loaded) < maxLoaded {
		return nil
	}
	slices.SortFunc(loaded, func(a, b *entry) int { return int(a.used - b.used) })
	for _, e := range loaded[:len(loaded)-maxLoaded+1] {
		dropped, e.ref = append(dropped, e.ref), nil
	}
	return dropped
}

// drop forgets a file that is gone, or another now.
func (s *Store) drop(file string) {
	s.mu.Lock()
	e := s.known[file]
	delete(s.known, file)
	s.mu.Unlock()
	if e != nil && e.ref != nil {
		s.tell([]*synth.Reference{e.ref})
	}
}

// prune forgets the files that are gone.
func (s *Store) prune(there map[string]bool) {
	s.mu.Lock()
	var gone []string
	for file := range s.known {
		if !there[file] {
			gone = append(gone, file)
		}
	}
	s.mu.Unlock()
	for _, file := range gone { // one of them may have come back: then it is read again
		s.drop(file)
	}
}

func (s *Store) tell(dropped []*synth.Reference) {
	if s.forget == nil {
		return
	}
	for _, ref := range dropped {
		s.forget(ref)
	}
}

// now is when a voice is made, to the second.
func now() time.Time { return time.Now().UTC().Truncate(time.Second) }
