package hub

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
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
	pull := &Pull{hub: h, plan: p, store: h.store(p.Name.Repo)}
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
	if p.nothingToDo() {
		return nil
	}
	if err := p.store.prepare(); err != nil {
		return err
	}
	lock, err := p.hub.client.lockRepo(ctx, p.store, p.plan.Name.Repo, !p.hub.options.NoWait)
	if err != nil {
		return err
	}
	defer lock.release()
	p.refresh()
	if err := p.checkSpace(); err != nil {
		return err
	}
	if err := p.files(ctx); err != nil {
		return err
	}
	if err := p.store.writeRef(p.plan.Name.revision(), p.plan.Commit); err != nil {
		return err
	}
	p.sweep()
	return nil
}

// nothingToDo reports whether all is as it should be, which also a cache that cannot be
// written to may be.
func (p *Pull) nothingToDo() bool {
	there := !slices.ContainsFunc(p.plan.Files, func(f File) bool { return !f.There })
	revision := p.plan.Name.revision()
	if !there || p.hub.options.Verify || revision != p.plan.Commit && p.store.readRef(revision) != p.plan.Commit {
		return false
	}
	p.filesDone.Store(int64(len(p.plan.Files)))
	return true
}

// refresh looks again at what is there: another pull may have ended in between.
func (p *Pull) refresh() {
	p.plan.Have = 0
	for i := range p.plan.Files {
		p.store.state(p.plan.Commit, &p.plan.Files[i])
		p.plan.Have += p.plan.Files[i].Have
	}
	p.have.Store(p.plan.Have)
}

// checkSpace refuses what cannot end well.
func (p *Pull) checkSpace() error {
	need, free := p.plan.Size-p.plan.Have, p.hub.free(p.store.dir)
	if free >= 0 && free < need {
		return fmt.Errorf("%s: %d MiB are to be fetched, the disk of %s has %d MiB free", p.plan.Name, (need+1<<20-1)>>20, p.store.cache, free>>20)
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
	for _, f := range order[large:] {
		if err := p.file(ctx, f, p.hub.options.Connections); err != nil {
			return err
		}
	}
	return nil
}

// checkConfig refuses another kind of model before its weights are fetched.
func (p *Pull) checkConfig() error {
	if len(p.hub.options.Include) > 0 || len(p.hub.options.Exclude) > 0 {
		return nil
	}
	k, err := readKind(p.store.pointer(p.plan.Commit, configFile))
	if err != nil {
		return fmt.Errorf("%s: %w", p.plan.Name, cause(err))
	}
	if k.Type != runs {
		return fmt.Errorf("%s: %s says model_type %.60q, Mynah runs %s; --include fetches all the same", p.plan.Name, configFile, k.Type, runs)
	}
	return nil
}

// together fetches small files, each by one request.
func (p *Pull) together(ctx context.Context, files []File) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var workers sync.WaitGroup
	var at atomic.Int64
	for range min(p.hub.options.Connections, len(files)) {
		workers.Go(func() {
			for ctx.Err() == nil {
				i := int(at.Add(1)) - 1
				if i >= len(files) {
					return
				}
				if err := p.file(ctx, files[i], 1); err != nil {
					cancel(err)
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
	if p.hub.options.Verify && f.Have == f.Size {
		if err := p.recheck(ctx, &f); err != nil {
			return err
		}
	}
	isNew := false
	if !f.There && sizeOf(p.store.blob(f.Digest)) != f.Size {
		if err := p.fetch(ctx, f, connections); err != nil {
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

// sweep removes what was left of files that are there now, or that the commit no longer has.
func (p *Pull) sweep() {
	keep := maps.Clone(p.plan.listed)
	for _, f := range p.plan.Files {
		delete(keep, f.Digest)
	}
	p.store.sweep(keep)
}
