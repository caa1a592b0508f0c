package hub

import (
	"cmp"
	"context"
	"fmt"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
)

// Pull is a plan that is being carried out.
type Pull struct {
	hub   *Hub
	plan  *Plan
	store *store
	twins map[int64][]twin // files of other snapshots
	right map[string]bool  // paths of files that were read and are right
	wrong string           // a file that was read and is not, and why
	need  int64            // bytes that are to be written

	filesDone      atomic.Int64
	have, received atomic.Int64
}

// Progress is how far a pull is.
type Progress struct {
	Files, FilesDone int
	Size, Have       int64 // bytes of all files, and of these what is there
	Received         int64 // bytes that came over the network, those that were of no use included
}

// Start returns a pull that Run carries out.
func (h *Hub) Start(p *Plan) *Pull {
	pull := &Pull{hub: h, plan: p, store: h.store(p.Name.Repo), right: map[string]bool{}}
	pull.have.Store(p.Have)
	return pull
}

// Progress may be called while Run runs.
func (p *Pull) Progress() Progress {
	return Progress{
		Files: len(p.plan.Files), FilesDone: int(p.filesDone.Load()), Size: p.plan.Size, Have: p.have.Load(), Received: p.received.Load(),
	}
}

// Run fetches what is missing. When it returns nil, all files are in the snapshot's folder,
// are on the disk, and have their sizes and digests. Whatever ends it before, the next run
// goes on from there.
func (p *Pull) Run(ctx context.Context) error {
	if ready, err := p.nothingToDo(ctx); ready || err != nil {
		return err
	}
	lock, err := p.lock(ctx)
	if err != nil {
		return err
	}
	defer lock.release()
	p.refresh()
	if err := p.store.checkRef(p.plan.Name, p.plan.Commit); err != nil {
		return err
	}
	if err := p.checkSpace(); err != nil {
		return err
	}
	// Both before the first file: what an interrupted pull leaves is listed, and knows what it lacks.
	if err := os.MkdirAll(p.store.snapshot(p.plan.Commit), 0o777); err != nil {
		return onDisk(err)
	}
	if err := p.store.remember(p.plan.Commit, p.plan.Files); err != nil {
		return err
	}
	if err := p.files(ctx); err != nil {
		return err
	}
	if err := p.checkWhole(); err != nil {
		return err
	}
	if err := p.store.writeRef(p.plan.Name.revision(), p.plan.Commit); err != nil {
		return err
	}
	p.sweep()
	return nil
}

// lock makes the folders and takes the lock of pulls.
func (p *Pull) lock(ctx context.Context) (*fileLock, error) {
	err := p.store.prepare()
	if err == nil {
		var l *fileLock
		if l, err = p.hub.client.lockRepo(ctx, p.store, p.plan.Name.Repo, !p.hub.options.NoWait); err == nil {
			return l, nil
		}
	}
	if p.wrong != "" && ctx.Err() == nil {
		err = fmt.Errorf("%s: %s; it is not fetched anew: %w", p.plan.Name, p.wrong, err)
	}
	return nil, err
}

// nothingToDo reports whether all is as it should be, which also a cache that cannot be
// written to may be.
func (p *Pull) nothingToDo(ctx context.Context) (bool, error) {
	there := !slices.ContainsFunc(p.plan.Files, func(f File) bool { return !f.There })
	revision := p.plan.Name.revision()
	if !there || revision != p.plan.Commit && p.store.readRef(revision) != p.plan.Commit {
		return false, nil
	}
	if err := cmp.Or(p.checkConfig(), p.checkWhole()); err != nil {
		return false, err
	}
	if p.hub.options.Verify {
		if right, err := p.verify(ctx); !right {
			return false, err
		}
	}
	p.filesDone.Store(int64(len(p.plan.Files)))
	_ = p.store.remember(p.plan.Commit, p.plan.Files) // of a snapshot that huggingface_hub made, if it can be
	return true, nil
}

// verify reads the files and reports whether all are right. Those that are not read again.
func (p *Pull) verify(ctx context.Context) (bool, error) {
	for _, f := range p.plan.Files {
		switch err := verify(ctx, p.store.pointer(p.plan.Commit, f.Path), f.Size, f.Digest); {
		case err == nil:
			p.right[f.Path] = true
			p.filesDone.Add(1)
		case ctx.Err() != nil:
			return false, err
		case p.wrong == "":
			p.wrong = fmt.Sprintf("%s: %v", f.Path, cause(err))
		}
	}
	if len(p.right) == len(p.plan.Files) {
		return true, nil
	}
	p.filesDone.Store(0)
	return false, nil
}

// refresh looks again at what is there: another pull may have ended in between.
func (p *Pull) refresh() {
	p.plan.Have, p.need, p.twins = 0, 0, p.store.twins(p.plan.Commit)
	for i := range p.plan.Files {
		f := &p.plan.Files[i]
		switch p.store.state(p.plan.Commit, f); {
		case f.There:
		case f.Have < f.Size:
			p.need += f.Size - f.Have
		case p.store.copies:
			p.need += f.Size // a copy of its blob
		}
		if hasTwin(p.twins, f) {
			f.Have = f.Size
		}
		p.plan.Have += f.Have
	}
	p.have.Store(p.plan.Have)
}

// checkSpace refuses what cannot end well.
func (p *Pull) checkSpace() error {
	free := p.hub.free(p.store.dir)
	if free >= 0 && free < p.need {
		return fmt.Errorf("%s: %d MiB are to be fetched or copied, the disk of %s has %d MiB free", p.plan.Name, (p.need+1<<20-1)>>20, p.store.cache, free>>20)
	}
	return nil
}

// files brings all files there: config.json, which tells whether the others are worth it,
// then the small ones, several at a time, then the large ones in several parts at a time.
func (p *Pull) files(ctx context.Context) error {
	order := slices.Clone(p.plan.Files)
	slices.SortStableFunc(order, func(a, b File) int { return cmp.Compare(a.Size, b.Size) })
	if i := slices.IndexFunc(order, func(f File) bool { return f.Path == configFile }); i >= 0 {
		if err := p.file(ctx, order[i], 1); err != nil {
			return err
		}
		if err := p.checkConfig(); err != nil {
			return err
		}
		order = slices.Delete(order, i, i+1)
	}
	large := slices.IndexFunc(order, func(f File) bool { return f.Size > p.hub.part })
	if large < 0 {
		large = len(order)
	}
	if err := p.together(ctx, order[:large]); err != nil {
		return err
	}
	if err := p.checkShards(); err != nil {
		return err
	}
	for _, f := range order[large:] {
		if err := p.file(ctx, f, p.hub.options.Connections); err != nil {
			return err
		}
	}
	return nil
}

// checkConfig refuses another kind of model, and one that lacks a file, before its weights are fetched.
func (p *Pull) checkConfig() error {
	if p.chosen() {
		return nil
	}
	k, err := readKind(p.store.pointer(p.plan.Commit, configFile))
	if err != nil {
		return fmt.Errorf("%s: %w", p.plan.Name, cause(err))
	}
	if k.Type != runs {
		return fmt.Errorf("%s: %s says model_type %.60q, Mynah runs %s; --include fetches all the same", p.plan.Name, configFile, k.Type, runs)
	}
	return p.lacks(cmp.Or(missingSmall(p.has), missingIndex(p.has)))
}

// checkShards refuses a model whose index names weights that the hub has not, before those that
// it has are fetched: the small files are there, and with them the index.
func (p *Pull) checkShards() error {
	if p.chosen() {
		return nil
	}
	for _, sub := range weightsDirs {
		index := filepath.Join(p.store.snapshot(p.plan.Commit), sub, weightsFile+indexEnd)
		if !p.has(path.Join(sub, weightsFile)) && sizeOf(index) >= 0 {
			if err := p.lacks(missingWeights(p.store.snapshot(p.plan.Commit), sub, p.has)); err != nil {
				return err
			}
		}
	}
	return nil
}

// checkWhole refuses what --model would not open, though all files of the hub are there.
func (p *Pull) checkWhole() error {
	if p.chosen() {
		return nil
	}
	return p.lacks(p.store.missing(p.plan.Commit))
}

// chosen reports whether patterns chose the files: then what they come to is the user's to know.
func (p *Pull) chosen() bool { return len(p.hub.options.Include) > 0 || len(p.hub.options.Exclude) > 0 }

// has reports whether a file is one of the plan's.
func (p *Pull) has(name string) bool {
	return slices.ContainsFunc(p.plan.Files, func(f File) bool { return f.Path == name })
}

// lacks is the error about a file that the repository has not; "" is none.
func (p *Pull) lacks(name string) error {
	if name == "" {
		return nil
	}
	return fmt.Errorf("%s: has no %s, so it is no checkpoint that Mynah runs; --include fetches all the same", p.plan.Name, name)
}

// together fetches small files, each by one request. Those of one content are left to one worker: another
// would find it locked and take this for another program's doing.
func (p *Pull) together(ctx context.Context, files []File) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	var at atomic.Int64
	contents := byContent(files)
	for range min(p.hub.options.Connections, len(contents)) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(at.Add(1)) - 1
				if i >= len(contents) {
					return
				}
				for _, f := range contents[i] {
					if err := p.file(ctx, f, 1); err != nil {
						cancel(err)
						return
					}
				}
			}
		})
	}
	workers.Wait()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return nil
}

// byContent puts files of the same digest together, in the order of the first of each.
func byContent(files []File) (contents [][]File) {
	places := map[string]int{}
	for _, f := range files {
		i, ok := places[f.Digest]
		if !ok {
			i = len(contents)
			places[f.Digest], contents = i, append(contents, nil)
		}
		contents[i] = append(contents[i], f)
	}
	return contents
}

// file brings one file there.
func (p *Pull) file(ctx context.Context, f File, connections int) error {
	lock, err := p.hub.client.lockBlob(ctx, p.store, f)
	if err != nil {
		return err
	}
	defer lock.release()
	before := f.Have
	p.store.state(p.plan.Commit, &f)
	p.have.Add(f.Have - before)
	isThere := f.There || sizeOf(p.store.blob(f.Digest)) == f.Size // and not only all of its bytes: a kill may have come before the name
	if p.hub.options.Verify && isThere && !p.right[f.Path] {
		if err := p.recheck(ctx, &f); err != nil {
			return err
		}
	}
	isNew := false
	if !f.There && sizeOf(p.store.blob(f.Digest)) != f.Size {
		copied, err := p.copyTwin(ctx, f)
		if err == nil && !copied {
			err = p.fetch(ctx, f, connections)
		}
		if err != nil {
			return err
		}
		isNew = true
	}
	if !f.There {
		if err := p.store.point(p.plan.Commit, f, isNew); err != nil {
			return err
		}
		syncDir(filepath.Dir(p.store.pointer(p.plan.Commit, f.Path)))
	}
	p.filesDone.Add(1)
	return nil
}

// recheck removes a file that is there and is not what it should be.
func (p *Pull) recheck(ctx context.Context, f *File) error {
	path := p.store.blob(f.Digest)
	if f.There {
		path = p.store.pointer(p.plan.Commit, f.Path)
	}
	err := verify(ctx, path, f.Size, f.Digest)
	if _, odd := err.(*inconsistentError); !odd {
		return err
	}
	p.hub.client.note(fmt.Sprintf("%s: %v; it is fetched anew", f.Path, err))
	for _, path := range []string{p.store.pointer(p.plan.Commit, f.Path), p.store.blob(f.Digest)} {
		if err := os.Remove(path); err != nil && !os.IsNotExist(err) {
			return onDisk(err)
		}
	}
	p.have.Add(-f.Have)
	f.There, f.Have = false, 0
	return nil
}

// sweep removes what was left of files that are there now, and what no pull can use.
func (p *Pull) sweep() {
	done := map[string]bool{}
	for _, f := range p.plan.Files {
		done[f.Digest] = true
	}
	p.store.sweep(done)
}
