package team

import (
	"fmt"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Job is work that can be cut into parts by number.
type Job interface {
	// Part does part worker of workers, as many as Run was told. Parts run at the same time and must not write to the same memory. Part must not
	// call Run of the same team.
	Part(worker, workers int)
}

// Split returns the part [lo, hi) of [0, n) that worker of workers gets. Inner boundaries are multiples of grain, so that
// parts begin on whole tiles; parts differ by at most one grain, and some are empty if there are fewer grains than workers.
func Split(n, grain, worker, workers int) (lo, hi int) {
	grains := (n + grain - 1) / grain
	return min(n, grains*worker/workers*grain), min(n, grains*(worker+1)/workers*grain)
}

// Team is a fixed number of workers: the goroutine that calls Run, and helpers that live until Close. A nil *Team is a team
// of one. Its methods may be called by several goroutines.
type Team struct {
	workers int
	patience

	mu      sync.Mutex // held during Run and Close
	closed  bool
	job     Job
	failure *PanicError // of a helper, the first one; guarded by failed
	failed  sync.Mutex

	_       [64]byte
	started atomic.Uint64 // ticket of the last job that was begun; helpers wait for it to change
	_       [56]byte
	pending atomic.Int32 // helpers that have not finished the job
	_       [60]byte
	ended   atomic.Uint64 // ticket of the last job that all its helpers have finished; the caller waits for it to change
	caller  gate
	helpers []gate
	exits   sync.WaitGroup
}

// PanicError is what Run panics with when a helper's part has panicked: the value and the stack are the helper's.
type PanicError struct {
	Worker int
	Value  any
	Stack  []byte
}

// Error returns the value and the stack of the helper.
func (e *PanicError) Error() string {
	return fmt.Sprintf("team: worker %d: panic: %v\n\n%s", e.Worker, e.Value, e.Stack)
}

// Unwrap returns the value if it is an error.
func (e *PanicError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// maxWorkers is what a ticket can tell.
const maxWorkers = 1<<partsBits - 1

// New starts a team of the given number of workers, at least one. It must be closed after use.
func New(workers int) *Team {
	t := &Team{workers: min(max(1, workers), maxWorkers)}
	t.patience = newPatience(t.workers)
	t.caller = newGate()
	t.helpers = make([]gate, t.workers-1)
	for i := range t.helpers {
		t.helpers[i] = newGate()
		t.exits.Add(1)
		go t.help(i+1, 0)
	}
	return t
}

// Workers returns the number of workers, into whose parts Run cuts a job.
func (t *Team) Workers() int {
	if t == nil {
		return 1
	}
	return t.workers
}

// Run calls j.Part once for every worker and returns when all parts are done; the caller is worker 0. It allocates nothing.
// Calls by several goroutines run one after the other. A panic in a part is raised again here when all other parts have
// ended, as a *PanicError if it was not the caller's own. Run panics if the team is closed.
func (t *Team) Run(j Job) { t.RunParts(j, t.Workers()) }

// RunParts is Run with so many parts, at least one and at most one for each worker. Workers without a part are not woken, and
// sleep if there is none for them for long.
func (t *Team) RunParts(j Job, parts int) {
	if t == nil {
		j.Part(0, 1)
		return
	}
	parts = min(max(1, parts), t.workers)
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		panic("team: Run after Close")
	}
	if parts == 1 {
		j.Part(0, 1)
		return
	}
	before := ticket(t.ended.Load())
	t.start(j, parts)
	defer t.finish(before)
	j.Part(0, parts)
}

// start hands job j to the helpers that have a part in it. A nil job makes them leave.
func (t *Team) start(j Job, parts int) {
	t.job = j
	t.pending.Store(int32(parts - 1))
	t.started.Store(uint64(ticket(t.started.Load()).next(parts)))
	for i := range t.helpers[:parts-1] {
		t.helpers[i].open()
	}
}

// finish waits for the helpers, and passes on their panic. before is the last job that had ended when this one began.
func (t *Team) finish(before ticket) {
	t.caller.await(&t.ended, before, 0, t.patience)
	t.job = nil
	if e := t.failure; e != nil {
		t.failure = nil
		panic(e)
	}
}

// Close ends the helpers and waits until they have left. Closing again, or closing a nil team, does nothing.
func (t *Team) Close() {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return
	}
	t.closed = true
	t.start(nil, t.workers)
	t.exits.Wait()
}

// help is the life of a helper: worker w, which has seen all jobs up to a ticket.
func (t *Team) help(w int, seen ticket) {
	for {
		seen = t.helpers[w-1].await(&t.started, seen, w, t.patience)
		if t.job == nil {
			t.exits.Done()
			return
		}
		t.part(w, seen)
	}
}

// part does a helper's part of the current job, and reports its end whatever way it ends.
func (t *Team) part(w int, now ticket) {
	returned := false
	defer func() {
		if !returned {
			value := recover()
			if value == nil {
				// Part has called runtime.Goexit, as t.FailNow in a test does: this goroutine ends, another takes its place.
				value = "runtime.Goexit"
				go t.help(w, now)
			}
			t.fail(&PanicError{Worker: w, Value: value, Stack: debug.Stack()})
		}
		if t.pending.Add(-1) == 0 {
			t.ended.Store(uint64(now))
			t.caller.open()
		}
	}()
	t.job.Part(w, now.parts())
	returned = true
}

// fail keeps the first failure of a job for its Run.
func (t *Team) fail(e *PanicError) {
	t.failed.Lock()
	defer t.failed.Unlock()
	if t.failure == nil {
		t.failure = e
	}
}
