package batch

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

// Result is what came of a job.
type Result struct {
	Progress
	Failures []*Record // items that have no file, in the order of the input
	CutItems []*Record // items that were cut at their bound, those of earlier runs included
	Stale    []string  // files of earlier runs that belong to no item any more
	Edited   []string  // captions that somebody has changed: they are left alone
	Joined   *Record   // of a book; nil if it could not be joined
	Nothing  bool      // there was nothing to do
}

// errStopped ends a job at its first failure.
var errStopped = errors.New("stopped at the first failure")

// Run makes what is missing with an engine: RunBy with a Maker of Options.Jobs streams.
func (j *Job) Run(ctx context.Context, engine Engine) (*Result, error) {
	return j.RunBy(ctx, &local{engine: engine, disk: j.opts.Disk, jobs: j.opts.Jobs, run: &j.progress})
}

// RunBy makes what is missing. It returns an error if the job could not go on: the context
// ended, the folder cannot be written, another run is at work in it. What was finished
// until then stays, and the next run goes on from there. An item that fails is no error.
func (j *Job) RunBy(ctx context.Context, maker Maker) (*Result, error) {
	if err := os.MkdirAll(j.opts.Dir, 0o777); err != nil {
		return nil, onDisk(j.opts.Dir, err)
	}
	if err := os.MkdirAll(j.work(), 0o777); err != nil {
		return nil, onDisk(j.work(), err)
	}
	l, err := takeLock(j.work("lock"))
	if err != nil {
		return nil, err
	}
	defer func() {
		l.release()
		_ = os.Remove(j.work()) // unless there is something in it for the next run
	}()
	j.forgetStrangers()
	if err := j.plan(); err != nil { // another run may have ended since the job was made
		return nil, err
	}
	j.began.Store(time.Now().UnixNano())
	r := &run{Job: j}
	if err := r.prepare(); err != nil {
		return nil, err
	}
	defer r.manifest.close()
	err = r.items(ctx, maker)
	if err == nil || errors.Is(err, errStopped) || ctx.Err() != nil {
		if e := r.end(ctx.Err() == nil && err == nil); e != nil {
			err = e
		}
	}
	if errors.Is(err, errStopped) {
		err = nil
	}
	return r.result(), err
}

// forgetStrangers takes back what an earlier plan found in the way: it may be gone.
func (j *Job) forgetStrangers() {
	for _, t := range j.tasks {
		if t.inTheWay {
			t.item.Problem, t.inTheWay = "", false
		}
	}
}

// run is a job under way.
type run struct {
	*Job
	maker    Maker
	manifest *manifest
	joined   *Record
	stale    []string // files that belong to no item
	edited   []string // captions that somebody has changed

	mu      sync.Mutex // of all below, and of manifest and names in the folder
	changed bool       // the folder
}

// prepare removes what a killed run left, moves what has another name now, and opens the
// manifest.
func (r *run) prepare() error {
	entries, err := os.ReadDir(r.work())
	if err != nil {
		return onDisk(r.work(), err)
	}
	for _, e := range entries {
		name := e.Name()
		ofMaker := name == queueName || name == tokenName
		if name != "lock" && name != "keep" && name != "parts" && !(ofMaker && r.makesAny()) {
			if err := os.RemoveAll(r.work(name)); err != nil {
				return onDisk(r.work(name), err)
			}
		}
	}
	for _, name := range []string{"keep", "parts"} {
		if err := os.MkdirAll(r.work(name), 0o777); err != nil {
			return onDisk(r.work(name), err)
		}
	}
	if r.manifest, err = openManifest(r.opts.Disk, r.opts.Dir, r.folder.good); err != nil {
		return err
	}
	if err := r.moves(); err != nil {
		r.manifest.close()
		return err
	}
	for _, t := range r.tasks {
		switch t.action {
		case Keep:
			record := *t.before
			r.describe(&record, t) // its place in the input may be another
			t.result = &record
		case Fail:
			r.report(t, r.failure(t, t.item.Problem))
		}
	}
	return nil
}

// moves gives files the names that their items have now. First all go where their digests
// name them, as one may have the name that another shall get, and then each to its name,
// like a file that was just made.
func (r *run) moves() error {
	for _, t := range r.tasks {
		if t.action != Move || t.inKeep {
			continue
		}
		if name := t.before.Captions; name != "" && r.stranger(r.movedCaptions(t)) == "" {
			// First, and with the audio: somebody may have corrected them.
			if err := r.opts.Disk.Rename(r.path(name), r.keptCaptions(t)); err != nil && !errors.Is(err, os.ErrNotExist) {
				return onDisk(r.path(name), err)
			}
		}
		from := r.path(t.before.File)
		if err := r.opts.Disk.Rename(from, r.keep(t.digest)); err != nil {
			return onDisk(from, err)
		}
	}
	kept, err := os.ReadDir(r.work("keep"))
	if err != nil {
		return onDisk(r.work("keep"), err)
	}
	captions := map[string]bool{} // by their names there; also of audio that a killed run has moved
	for _, e := range kept {
		captions[e.Name()] = true
	}
	for _, t := range r.tasks {
		if t.before == nil {
			continue
		}
		name := ""
		if t.before.Captions != "" && captions[filepath.Base(r.keptCaptions(t))] {
			name = r.movedCaptions(t)
		}
		if t.action == Move {
			record := *t.before
			r.describe(&record, t)
			record.Captions = name
			if err := r.commit(&record, r.keep(t.digest)); err != nil {
				return err
			}
			t.result = &record
		}
		if name != "" {
			if err := r.opts.Disk.Rename(r.keptCaptions(t), r.path(name)); err != nil {
				return onDisk(r.path(name), err)
			}
		}
	}
	return nil
}

// movedCaptions is the name of the captions beside audio that is moved; keptCaptions is where
// they lie on the way.
func (r *run) movedCaptions(t *task) string { return t.stem + filepath.Ext(t.before.Captions) }
func (r *run) keptCaptions(t *task) string {
	return r.work("keep", t.digest+filepath.Ext(t.before.Captions))
}

// path is that of a file in the folder.
func (j *Job) path(name string) string { return filepath.Join(j.opts.Dir, name) }

// describe fills in what a record says of the item itself.
func (r *run) describe(to *Record, t *task) {
	it := t.item
	to.Index, to.Line, to.ID, to.Title, to.Text, to.Digest = it.Index, it.Line, it.ID, it.Title, it.Text, t.digest
	to.Voice = cmp.Or(to.Voice, t.voice)
	to.Language, to.File, to.Stale = synth.LanguageName(t.request.Language), t.file, false
}

// commit gives a finished file its name. The manifest says so first: a file that has its
// name without a line would be a stranger's at the next start, a line without a file is
// nothing. What had the name before is gone by then, or it could be taken for the new.
func (r *run) commit(record *Record, from string) error {
	to := r.path(record.File)
	old := r.folder.names[foldName(record.File)]
	if name := r.folder.captions[record.File]; name != "" { // they say what the old file said
		old = append(slices.Clip(old), name)
	}
	for _, name := range old {
		if err := os.Remove(r.path(name)); err != nil && !errors.Is(err, os.ErrNotExist) {
			return onDisk(r.path(name), err)
		}
	}
	if err := r.manifest.add(record); err != nil {
		return err
	}
	r.changed = true
	if err := r.opts.Disk.Rename(from, to); err != nil {
		return onDisk(to, err)
	}
	return onDisk(to, r.opts.Disk.SyncDir(r.opts.Dir))
}

// failure is the record of an item without a file.
func (r *run) failure(t *task, problem string) *Record {
	record := &Record{Voice: t.voice, Seed: *t.request.Seed, Error: problem}
	r.describe(record, t)
	record.File, record.Digest = "", ""
	return record
}

// report notes what came of an item.
func (r *run) report(t *task, record *Record) {
	t.result = record
	if r.opts.Done != nil {
		r.opts.Done(record)
	}
}

// makesAny reports whether there is an item to make.
func (r *run) makesAny() bool {
	return slices.ContainsFunc(r.tasks, func(t *task) bool { return t.action == Make })
}

// items has what is to be made made. The Maker is not troubled if there is nothing.
func (r *run) items(ctx context.Context, maker Maker) error {
	if r.opts.FailFast && slices.ContainsFunc(r.tasks, func(t *task) bool { return t.action == Fail }) {
		return errStopped
	}
	if !r.makesAny() {
		return nil
	}
	if err := maker.Begin(ctx, Brief{ID: r.id, Work: r.work(), Disk: r.opts.Disk, Keep: r.work(queueName)}); err != nil {
		return err
	}
	r.maker = maker
	r.watch.Store(&maker)
	err := r.makeAll(ctx)
	r.watch.Store(nil)
	over := err == nil || errors.Is(err, errStopped)
	maker.End(over)
	if over {
		_ = os.Remove(r.work(tokenName)) // what stays does no harm
	}
	return err
}

// makeAll makes what is to be made, several at a time.
func (r *run) makeAll(ctx context.Context) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	queue := make(chan *task)
	var workers sync.WaitGroup
	for range min(r.maker.Width(), len(r.tasks)) {
		workers.Go(func() {
			for t := range queue {
				if err := r.item(ctx, t); err != nil {
					cancel(err)
				}
			}
		})
	}
	for _, t := range r.tasks {
		if t.action != Make {
			continue
		}
		select {
		case queue <- t:
			continue
		case <-ctx.Done():
		}
		break
	}
	close(queue)
	workers.Wait()
	return context.Cause(ctx)
}

// end completes the folder: captions, the joined file, the manifest in order.
func (r *run) end(complete bool) error {
	for _, t := range r.tasks {
		if t.result != nil && t.result.File != "" {
			if err := r.captions(t.result, t.stem); err != nil {
				return err
			}
		}
	}
	whole := complete && !slices.ContainsFunc(r.tasks, func(t *task) bool { return t.result == nil || t.result.File == "" })
	if r.book != "" && whole {
		if err := r.join(); err != nil {
			return err
		}
	}
	_ = os.Remove(r.work("keep")) // it is empty
	r.forgetParts()
	return r.settle()
}

// forgetParts removes the parts of chapters that are no longer in the book.
func (r *run) forgetParts() {
	wanted := map[string]bool{}
	for _, t := range r.tasks {
		wanted[filepath.Base(r.part(t.digest))] = r.book != "" && !r.direct()
	}
	entries, _ := os.ReadDir(r.work("parts")) // what cannot be listed stays
	for _, e := range entries {
		if !wanted[e.Name()] {
			_ = os.Remove(r.work("parts", e.Name()))
		}
	}
	_ = os.Remove(r.work("parts")) // if it is empty
}

// captions writes the captions of a file if they are asked for and not there.
func (r *run) captions(record *Record, stem string) error {
	form := r.opts.Captions
	if form == NoCaptions {
		return nil
	}
	name := stem + "." + string(form)
	want := form.content(record.Segments)
	if there, err := os.ReadFile(r.path(name)); err == nil && record.Captions == name {
		if !bytes.Equal(there, want) { // captions are what people correct
			r.edited = append(r.edited, name)
		}
		return nil
	}
	if before := record.Captions; before != name {
		record.Captions = name
		if err := r.manifest.add(record); err != nil {
			return err
		}
		r.forgetCaptions(before, record)
	}
	r.changed = true
	return writeWhole(r.opts.Disk, r.work("captions"), r.path(name), want)
}

// forgetCaptions removes captions that are there in another form now, for no line accounts
// for them any more. Those that somebody has corrected stay.
func (r *run) forgetCaptions(name string, record *Record) {
	there, err := os.ReadFile(r.path(name))
	switch form := Captions(strings.TrimPrefix(filepath.Ext(name), ".")); {
	case name == "" || err != nil:
	case bytes.Equal(there, form.content(record.Segments)):
		_ = os.Remove(r.path(name))
	default:
		r.edited = append(r.edited, name)
	}
}

// settle writes the manifest in the order of the input, if it is not so already. Lines of
// files that are there and belong to no item stay behind the others.
func (r *run) settle() error {
	var all []*Record
	named := map[string]bool{}
	for _, t := range r.tasks {
		named[t.file] = true
		if t.result != nil {
			all = append(all, t.result)
		}
	}
	if r.joined != nil {
		all = append(all, r.joined)
	}
	listed := map[string]bool{}
	for _, record := range all {
		listed[record.File] = true
	}
	for _, record := range r.folder.sorted {
		if listed[record.File] {
			continue
		}
		if _, err := os.Stat(r.path(record.File)); err != nil {
			continue // it was moved or replaced
		}
		if record.Stale = !named[record.File] && (r.book == "" || record.File != r.book+r.extension()); record.Stale {
			r.stale = append(r.stale, record.File)
		}
		all = append(all, record)
	}
	want, err := content(all)
	if err != nil {
		return err
	}
	path := r.path(ManifestName)
	if there, err := os.ReadFile(path); err == nil && bytes.Equal(there, want) {
		return nil
	}
	if err := r.manifest.close(); err != nil {
		return onDisk(path, err)
	}
	return writeWhole(r.opts.Disk, r.work(ManifestName), path, want)
}

// result sums up.
func (r *run) result() *Result {
	s := &Result{Progress: r.Progress(), Joined: r.joined, Stale: r.stale, Edited: r.edited, Nothing: !r.changed}
	for _, t := range r.tasks {
		switch {
		case t.result == nil:
		case t.result.Error != "":
			s.Failures = append(s.Failures, t.result)
		case t.result.FinishReason == cutReason:
			s.CutItems = append(s.CutItems, t.result)
		}
	}
	return s
}
