package fleet

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/mynah-tts/mynah/internal/batch"
)

// DefaultTries is how often an order is begun before it is given up.
const (
	DefaultTries = 5
	MaxTries     = 100
)

// window is how many orders of a job are on the queue at once: enough for many workers, and
// no more than another job waits behind.
const window = 256

// Options say how a queue is used.
type Options struct {
	Server   Server
	Identity batch.Identity // of the workers that are wanted
	Tries    int            // 0 is DefaultTries

	// Embed starts a server in this process; Listen is its address, "" for a free port of
	// the loopback interface.
	Embed  bool
	Listen string

	// Own, if set, is a worker in this process. Its Dir is not used.
	Own *Worker

	// Note is told what the user should know, a line at a time.
	Note func(line string)
}

// Queue is a batch.Maker whose items are made by workers.
type Queue struct {
	opts     Options
	brief    batch.Brief
	job      string // names the job on the server
	model    string // key of the identity
	embedded *Embedded
	link     *Link
	run      string // tells the messages of this run from those of others

	helloEvery, inspectEvery time.Duration

	cancel context.CancelCauseFunc
	ctx    context.Context // ends when the queue cannot go on
	tasks  sync.WaitGroup

	mu      sync.Mutex
	results jetstream.ConsumeContext
	heard   time.Time     // when the stream that results come from was made
	waiting map[int]*wait // orders that are on the queue, by index
	ordered map[int]int   // how often each was put there, by index
	held    map[int]*resultMessage
	settled map[int]bool
	live    int
	state   string
}

// wait is for the result of an order.
type wait struct {
	order *batch.Order
	sent  bool
	ready chan *resultMessage
}

// NewQueue makes a queue. Nothing is connected before a job begins.
func NewQueue(o Options) *Queue {
	if o.Tries == 0 {
		o.Tries = DefaultTries
	}
	if o.Note == nil {
		o.Note = func(string) {}
	}
	return &Queue{opts: o, model: modelKey(o.Identity), helloEvery: helloEvery, inspectEvery: inspectEvery, waiting: map[int]*wait{}, ordered: map[int]int{}, held: map[int]*resultMessage{}, settled: map[int]bool{}}
}

// Begin connects to the server, or starts one, and begins to listen for results.
func (q *Queue) Begin(ctx context.Context, b batch.Brief) (err error) {
	q.brief, q.run = b, rand.Text()
	if q.job, err = b.ID(); err != nil {
		return err
	}
	if err := q.connect(ctx); err != nil {
		q.stop()
		return err
	}
	q.ctx, q.cancel = context.WithCancelCause(context.WithoutCancel(ctx))
	if err := q.listen(ctx); err != nil {
		q.End(false)
		return err
	}
	q.tasks.Go(q.watch)
	if q.opts.Own != nil {
		q.tasks.Go(q.work)
	}
	return nil
}

func (q *Queue) connect(ctx context.Context) (err error) {
	if q.opts.Embed {
		q.forgetOthers()
		if q.embedded, err = StartServer(q.opts.Listen, filepath.Join(q.brief.Keep, q.job), q.opts.Server.Token); err != nil {
			return err
		}
		q.opts.Server.embedded = q.embedded
		q.opts.Note(fmt.Sprintf("workers connect to %s", q.embedded.Addr()))
	}
	q.link, err = q.opts.Server.Connect(ctx, "mynah batch "+q.job[:8])
	if err != nil || !q.opts.Embed {
		return err
	}
	// Whoever had an order when the server ended has lost it: no lease needs to run out.
	err = q.link.persist(ctx, func(ctx context.Context) error { return q.link.js.DeleteConsumer(ctx, workStream, consumerOf(q.model)) })
	if errors.Is(err, jetstream.ErrConsumerNotFound) {
		err = nil
	}
	return err
}

// forgetOthers removes what an embedded server kept of jobs that the folder had before its
// input was changed.
func (q *Queue) forgetOthers() {
	entries, _ := os.ReadDir(q.brief.Keep) // it need not be there
	for _, e := range entries {
		if e.Name() != q.job {
			_ = os.RemoveAll(filepath.Join(q.brief.Keep, e.Name())) // what stays harms nobody
		}
	}
}

// listen begins to take results as they come, in place of those that came from a stream that is
// no more. What is lost on the way is found by inspect.
func (q *Queue) listen(ctx context.Context) error {
	var consumer jetstream.Consumer
	var made time.Time
	err := q.link.persist(ctx, func(ctx context.Context) error {
		info, err := q.link.done.Info(ctx)
		if err != nil {
			return err
		}
		made = info.Created
		consumer, err = q.link.js.OrderedConsumer(ctx, doneStream, jetstream.OrderedConsumerConfig{
			FilterSubjects: []string{doneSubject + "." + q.job + ".*"},
			DeliverPolicy:  jetstream.DeliverByStartSequencePolicy, OptStartSeq: info.State.LastSeq + 1,
		})
		return err
	})
	var results jetstream.ConsumeContext
	if err == nil {
		results, err = consumer.Consume(q.arrived)
	}
	if err != nil {
		return fmt.Errorf("NATS server %s: stream %s: %w", q.link.where, doneStream, err)
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.ctx.Err() != nil { // End has stopped what there was
		results.Stop()
		return nil
	}
	if old := q.results; old != nil {
		q.tasks.Go(old.Stop) // which may wait for a call of its own
	}
	q.results, q.heard = results, made
	return nil
}

// work is the worker in this process.
func (q *Queue) work() {
	w := *q.opts.Own
	w.Dir = filepath.Join(q.brief.Work, "worker")
	link, err := q.opts.Server.Connect(q.ctx, "mynah batch "+q.job[:8]+", worker")
	if err == nil {
		defer link.Close()
		err = link.Work(q.ctx, q.ctx, w)
	}
	if err != nil && q.ctx.Err() == nil {
		q.cancel(err)
	}
}

// Width is how many orders are on the queue at once.
func (q *Queue) Width() int { return window }

// State tells how many orders are being spoken, and what is waited for.
func (q *Queue) State() (int, string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.live, q.state
}

// End stops to listen. If the job is over, nothing of it stays on the server.
func (q *Queue) End(over bool) {
	q.cancel(errEnded)
	q.mu.Lock()
	results := q.results
	q.mu.Unlock()
	if results != nil {
		results.Stop()
		<-results.Closed()
	}
	q.tasks.Wait()
	if over {
		q.clear()
	}
	q.stop()
	if q.embedded != nil && over {
		_ = os.RemoveAll(q.brief.Keep) // what stays is removed at the next run
	}
}

var errEnded = errors.New("the queue has ended")

func (q *Queue) stop() {
	if q.link != nil {
		q.link.Close()
	}
	if q.embedded != nil {
		q.embedded.Stop()
	}
}

// clear removes what is on the server of a job that is over. What cannot be removed ends
// with its age.
func (q *Queue) clear() {
	if !q.link.conn.IsConnected() || q.embedded != nil {
		return // the folder of the embedded server is removed
	}
	ctx, cancel := context.WithTimeout(context.Background(), clearTime)
	defer cancel()
	_ = q.purge(ctx, q.link.work, workSubject+"."+q.model+"."+q.job+".>")
	_ = q.purge(ctx, q.link.done, "mynah.*."+q.job+".>")
	var files []*jetstream.ObjectInfo
	_ = q.link.persist(ctx, func(ctx context.Context) (err error) {
		files, err = q.link.objects.List(ctx)
		if errors.Is(err, jetstream.ErrNoObjectsFound) {
			err = nil
		}
		return err
	})
	for _, f := range files {
		if job, _, _ := cutName(f.Name); job == q.job {
			_ = q.link.remove(ctx, f.Name)
		}
	}
}

func (q *Queue) purge(ctx context.Context, s jetstream.Stream, subject string) error {
	return q.link.persist(ctx, func(ctx context.Context) error { return s.Purge(ctx, jetstream.WithPurgeSubject(subject)) })
}

// Make puts an order on the queue, if it is not there, waits for its result, and fetches
// its files.
func (q *Queue) Make(ctx context.Context, o *batch.Order, to batch.Files, tell batch.Tell) (*batch.Record, error) {
	for try := 1; ; try++ {
		r, err := q.ask(ctx, o)
		if ctx.Err() != nil {
			return nil, nil
		}
		if err == nil {
			err = q.complete(ctx, r)
		}
		if err == nil {
			if err = r.check(o); err == nil && r.Error != "" {
				q.hold(o.Index, r)
				return nil, errors.New(r.Error)
			}
			if err == nil {
				err = q.fetch(ctx, o, r, to)
			} else {
				err = &voidError{err}
			}
		}
		var void *voidError
		switch {
		case err == nil:
			tell(r.Samples, r.Runes)
			q.hold(o.Index, r)
			record := *r.Record
			record.Captions, record.Chapters, record.Stale = "", nil, false // which are not a worker's to say
			return &record, nil
		case ctx.Err() != nil:
			return nil, nil
		case q.ctx.Err() != nil:
			return nil, batch.JobError(context.Cause(q.ctx))
		case !errors.As(err, &void):
			return nil, err
		case try >= q.opts.Tries:
			return nil, fmt.Errorf("%d results of it cannot be used: %w", try, err)
		}
		q.recall(ctx, o.Index)
		q.forget(ctx, o.Index, r)
	}
}

// recall takes an order off the queue that has a result: its worker may not have come to
// acknowledge it yet, and while it is there it cannot be ordered again.
func (q *Queue) recall(ctx context.Context, index int) {
	_ = q.purge(ctx, q.link.work, workOf(q.model, q.job, index)) // or inspect sees that it is gone
}

// voidError says that a result is there and cannot be used.
type voidError struct{ error }

func (e *voidError) Unwrap() error { return e.error }

// hold keeps a result until its file has its name.
func (q *Queue) hold(index int, r *resultMessage) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.held[index] = r
}

// Settle removes from the server what has been collected.
func (q *Queue) Settle(o *batch.Order) {
	q.mu.Lock()
	r := q.held[o.Index]
	delete(q.held, o.Index)
	delete(q.ordered, o.Index)
	q.settled[o.Index] = true
	q.mu.Unlock()
	if r != nil {
		q.forget(q.ctx, o.Index, r)
	}
}

// forget removes a result, its marks and its files from the server. What cannot be removed
// now ends with the job, or with its age.
func (q *Queue) forget(ctx context.Context, index int, r *resultMessage) {
	_ = q.purge(ctx, q.link.done, fmt.Sprintf("mynah.*.%s.%d", q.job, index))
	q.link.drop(ctx, r)
}

// ask puts an order on the queue and waits for its result.
func (q *Queue) ask(ctx context.Context, o *batch.Order) (*resultMessage, error) {
	w := &wait{order: o, ready: make(chan *resultMessage, 1)}
	q.mu.Lock()
	q.waiting[o.Index] = w
	q.mu.Unlock()
	defer func() {
		q.mu.Lock()
		delete(q.waiting, o.Index)
		q.mu.Unlock()
	}()
	calls, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(q.ctx, cancel)()
	var there *resultMessage // of an earlier run
	err := q.link.persist(calls, func(ctx context.Context) (err error) {
		there, _, err = q.link.result(ctx, q.job, o.Index)
		return err
	})
	if err == nil && there != nil {
		return there, nil
	}
	if err == nil {
		err = q.publish(calls, w)
	}
	switch {
	case q.ctx.Err() != nil:
		return nil, batch.JobError(context.Cause(q.ctx))
	case errors.Is(err, nats.ErrMaxPayload):
		return nil, fmt.Errorf("its order is larger than a message of the NATS server (max_payload is %d bytes)", q.link.conn.MaxPayload())
	case err != nil:
		return nil, batch.JobError(err)
	}
	select {
	case r := <-w.ready:
		return r, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-q.ctx.Done():
		return nil, batch.JobError(context.Cause(q.ctx))
	}
}

// publish puts an order on the queue: one that is there already is this one. Each time it has
// an id of its own: the server swallows what it knows by its id, also when that order is gone.
func (q *Queue) publish(ctx context.Context, w *wait) error {
	index := w.order.Index
	m, err := pack(workOf(q.model, q.job, index), orderMessage{w.order, q.opts.Tries})
	if err != nil {
		return err
	}
	q.mu.Lock()
	q.ordered[index]++
	id := fmt.Sprintf("%s.%d.%d", q.run, index, q.ordered[index])
	q.mu.Unlock()
	for {
		err = q.link.persist(ctx, func(ctx context.Context) error {
			_, err := q.link.js.PublishMsg(ctx, m, jetstream.WithMsgID(id), jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithRetryAttempts(0))
			if taken(err) {
				return nil
			}
			return err
		})
		if !isFullStream(err) { // otherwise workers make room, as long as there are some: see watch
			break
		}
	}
	q.mu.Lock()
	w.sent = w.sent || err == nil // what could not be ordered again is still to be inspected
	q.mu.Unlock()
	if err != nil {
		return err
	}
	// A worker, of an earlier run or one that was thought to be lost, may have come to its end
	// meanwhile. What cannot be read now arrives or is inspected.
	if there, _, _ := q.link.result(ctx, q.job, index); there != nil {
		w.give(there)
	}
	if !q.awaited(w) {
		q.recall(ctx, index)
	}
	return nil
}

// awaited reports whether the result of an order is still waited for.
func (q *Queue) awaited(w *wait) bool {
	q.mu.Lock()
	defer q.mu.Unlock()
	return q.waiting[w.order.Index] == w && len(w.ready) == 0
}

// arrived takes a result from the stream.
func (q *Queue) arrived(m jetstream.Msg) {
	_, index, err := place(m.Subject())
	if err != nil {
		return
	}
	r := &resultMessage{}
	if err := unpack(m.Headers(), m.Data(), r); err != nil {
		r.Error = err.Error() // check finds that its digest is not the wanted one
	}
	q.mu.Lock()
	defer q.mu.Unlock()
	if w := q.waiting[index]; w != nil {
		w.give(r)
	} else if q.settled[index] && q.ctx.Err() == nil { // a worker that was thought to be lost has made it too
		q.tasks.Go(func() { q.forget(q.ctx, index, r) })
	}
}

// give hands a result over, unless there is one.
func (w *wait) give(r *resultMessage) {
	select {
	case w.ready <- r:
	default:
	}
}
