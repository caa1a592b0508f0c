package batch

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"unicode/utf8"

	"github.com/mynah-tts/mynah/synth"
)

// Maker makes the files of orders: with an engine of this process, or elsewhere.
type Maker interface {
	// Begin is called when the folder is the job's alone, and Width and Make behind it.
	Begin(ctx context.Context, b Brief) error

	// Width is how many orders shall be given to Make at once.
	Width() int

	// Make writes an order's files and returns what of its record they decide. The error
	// is the item's, unless EndsJob says otherwise. Record and error are nil if the context
	// ended. Several goroutines call it.
	Make(ctx context.Context, o *Order, to Files, tell Tell) (*Record, error)

	// State is how many orders are being spoken, and what is waited for, "" for nothing
	// worth telling. It may be called at any time.
	State() (live int, waiting string)

	// Settle is called when what was made of an order has its name in the folder, or its
	// failure is reported.
	Settle(o *Order)

	// End is called when Make has returned for the last time. over says that the job does
	// not go on: it is complete, or a failure has stopped it.
	End(over bool)
}

// Brief tells a Maker of the job that begins.
type Brief struct {
	// ID names the job among all that share a server. An interrupted job has the same at
	// its next run; for that, a file of the folder is written.
	ID func() (string, error)

	Work string // folder for files of this run
	Disk Disk   // that files are written through
	Keep string // folder that a Maker may make for what the job's next run shall find
}

// jobError ends a job: it is no item's fault.
type jobError struct{ error }

func (e jobError) Unwrap() error { return e.error }

// JobError marks an error that is no item's fault and ends the job.
func JobError(err error) error { return jobError{err} }

// EndsJob reports whether an error is no item's fault: the disk's, the engine's that was
// closed, or one that JobError marked.
func EndsJob(err error) bool {
	var disk *diskError
	var job jobError
	return errors.As(err, &disk) || errors.As(err, &job) || errors.Is(err, synth.ErrClosed) || errors.Is(err, synth.ErrDraining)
}

// Problem words an item's error as its record does.
func Problem(err error) string { return strings.TrimPrefix(err.Error(), "synth: ") }

// local is the Maker with an engine of this process.
type local struct {
	engine Engine
	disk   Disk
	jobs   int
	free   chan *Station
	run    *progress
}

func (l *local) Begin(_ context.Context, b Brief) error {
	l.free = make(chan *Station, l.jobs)
	for n := range l.jobs {
		l.free <- NewStation(l.engine, l.disk, filepath.Join(b.Work, fmt.Sprintf("samples-%d", n)))
	}
	return nil
}

func (l *local) Width() int { return l.jobs }

func (l *local) Make(ctx context.Context, o *Order, to Files, tell Tell) (*Record, error) {
	s := <-l.free
	defer func() { l.free <- s }()
	return s.Make(ctx, o, to, tell)
}

func (l *local) State() (int, string) { return int(l.run.live.Load()), "" }

func (l *local) Settle(*Order) {}

func (l *local) End(bool) {
	for range l.jobs {
		(<-l.free).Close()
	}
}

// item makes an item. An error ends the job; what is wrong with the item alone is its
// result.
func (r *run) item(ctx context.Context, t *task) error {
	if ctx.Err() != nil {
		return nil
	}
	r.live.Add(1)
	defer r.live.Add(-1)
	order := r.order(t)
	to := Files{Audio: r.unfinished(t), Part: r.part(t.digest), Name: r.path(t.file)}
	record, err := r.maker.Make(ctx, order, to, func(samples, runes int) {
		r.samples.Add(int64(samples))
		r.spoken.Add(int64(runes))
	})
	switch {
	case ctx.Err() != nil && (err != nil || record == nil):
		return nil
	case err != nil && EndsJob(err):
		return err
	case err != nil:
		record = r.failure(t, Problem(err))
		r.spoken.Add(int64(utf8.RuneCountInString(t.request.Text)))
	default:
		r.describe(record, t)
	}
	if err := r.settled(t, record); err != nil {
		return err
	}
	r.maker.Settle(order)
	if record.File == "" && r.opts.FailFast {
		return errStopped
	}
	return nil
}

// settled gives what was made its name, and reports it.
func (r *run) settled(t *task, record *Record) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if record.File != "" {
		if err := r.commit(record, r.unfinished(t)); err != nil {
			return err
		}
		r.made.Add(1)
		if record.FinishReason == cutReason {
			r.cut.Add(1)
		}
	} else {
		r.failed.Add(1)
	}
	r.report(t, record)
	return nil
}

// unfinished is where an item's file lies until it gets its name.
func (r *run) unfinished(t *task) string {
	return r.work(fmt.Sprintf("new-%d%s", t.item.Index, r.extension()))
}
