package fleet

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/mynah-tts/mynah/internal/batch"
	"github.com/mynah-tts/mynah/internal/osfile"
	"github.com/mynah-tts/mynah/synth"
)

// Bounds of a worker's lease: how long it may be silent before its orders go to others.
const (
	DefaultLease = 30 * time.Second
	MinLease     = time.Second
	MaxLease     = 10 * time.Minute
)

const (
	// fetchTime is how long a request for an order waits at the server. It bounds how long
	// a worker that shall end waits for the answer.
	fetchTime = time.Second

	// stallTime is how long an engine may go without a sample before its order is given
	// back.
	stallTime = 10 * time.Minute

	// consumerTime is how long the server keeps a consumer that nobody asks.
	consumerTime = keepFor

	// maxAhead is how many orders all workers of a model may have at once, and how many
	// stations may wait for one.
	maxAhead = 10_000
)

// Worker says what a worker is and does.
type Worker struct {
	Name       string // tells it from others
	Model      string // tells a user which checkpoint it has
	Engine     batch.Engine
	Identity   batch.Identity
	SourceRate int           // Hz
	Jobs       int           // orders at once
	Lease      time.Duration // 0 is DefaultLease
	Idle       time.Duration // without an order, after which it ends; 0 is never
	Dir        string        // folder for what is not finished; it is the worker's alone

	// Done, if set, is told of each order that came to an end, one at a time.
	Done func(Finished)

	fetchTime time.Duration // of tests
}

// Finished is an order that a worker is done with.
type Finished struct {
	Job      string
	Index    int
	Duration float64 // seconds of audio
	Took     time.Duration
	Problem  string // why there is no audio, "" if there is
	Again    bool   // it went back to the queue
}

// shift is a worker at work.
type shift struct {
	*Worker
	link     *Link
	consumer jetstream.Consumer
	hurry    context.Context // when it ends, orders are given back at once

	// alone is held for writing by an order that may have been the end of another worker:
	// those beside it shall not be taken for its like.
	alone sync.RWMutex

	restoring sync.Mutex

	mu     sync.Mutex
	busy   map[string]map[int]bool // orders being spoken, by job and index
	latest time.Time               // when the last order ended
}

// Work takes orders until the context ends, finishes those that it has then, or gives them
// back if hurry ends as well. An error means that the worker cannot go on: the server has
// been gone for too long, the disk is full, the engine was closed.
func (l *Link) Work(ctx, hurry context.Context, w Worker) error {
	w.Lease, w.fetchTime = cmp.Or(w.Lease, DefaultLease), cmp.Or(w.fetchTime, fetchTime)
	s := &shift{Worker: &w, link: l, hurry: hurry, busy: map[string]map[int]bool{}, latest: time.Now()}
	if err := os.MkdirAll(w.Dir, 0o700); err != nil {
		return fmt.Errorf("%s: %w", w.Dir, osfile.Cause(err))
	}
	defer os.RemoveAll(w.Dir)
	var err error
	if s.consumer, err = s.consume(ctx); err != nil {
		return err
	}
	hello, err := l.conn.Subscribe(helloSubject, s.hello)
	if err != nil {
		return fmt.Errorf("NATS server %s: %w", l.where, err)
	}
	defer hello.Unsubscribe()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var failed atomic.Pointer[error]
	var all sync.WaitGroup
	for n := range w.Jobs {
		all.Go(func() {
			station := batch.NewStation(w.Engine, nil, filepath.Join(w.Dir, fmt.Sprintf("samples-%d", n)))
			defer station.Close()
			err := s.serve(ctx, station, n)
			if err != nil {
				failed.CompareAndSwap(nil, &err)
			}
			stop(err) // the others finish what they have
		})
	}
	all.Wait()
	_ = l.conn.FlushTimeout(ackTime) // what was given back; or the lease runs out
	if err := failed.Load(); err != nil {
		return *err
	}
	return nil
}

// consume makes the consumer that all workers of the model share. Of those that ask for
// different leases the longest holds.
func (s *shift) consume(ctx context.Context) (consumer jetstream.Consumer, err error) {
	key := modelKey(s.Identity)
	c := jetstream.ConsumerConfig{
		Durable: consumerOf(key), FilterSubject: workSubject + "." + key + ".>", AckPolicy: jetstream.AckExplicitPolicy, AckWait: s.Lease,
		MaxDeliver: -1, MaxAckPending: maxAhead, MaxWaiting: maxAhead, InactiveThreshold: consumerTime,
		Description: fmt.Sprintf("%.12s %v %s %s", s.Identity.Model, s.Identity.Precision, s.Identity.Level, s.Identity.Version),
	}
	err = s.link.persist(ctx, func(ctx context.Context) error {
		there, err := s.link.js.Consumer(ctx, workStream, c.Durable)
		if err == nil {
			has := there.CachedInfo().Config
			c.AckWait, c.MaxWaiting = max(s.Lease, has.AckWait), has.MaxWaiting // which cannot be changed
		} else if !errors.Is(err, jetstream.ErrConsumerNotFound) {
			return err
		}
		consumer, err = s.link.js.CreateOrUpdateConsumer(ctx, workStream, c)
		return err
	})
	if err != nil && ctx.Err() == nil {
		return nil, fmt.Errorf("NATS server %s: consumer of %s: %w", s.link.where, workStream, err)
	}
	return consumer, err
}

// consumerOf names the consumer of a model.
func consumerOf(key string) string { return "mynah-" + key }

// serve takes one order after the other.
func (s *shift) serve(ctx context.Context, station *batch.Station, n int) error {
	var gone time.Time // when the server was first found to be gone
	for ctx.Err() == nil && !s.idle() {
		m, err := s.fetch()
		switch {
		case m != nil:
			gone = time.Time{}
			if err := s.take(ctx, station, m, n); err != nil {
				return err
			}
			continue
		case err == nil:
			gone = time.Time{}
			continue
		case ctx.Err() != nil:
			return nil
		case gone.IsZero():
			gone = time.Now()
		case time.Since(gone) > s.link.patience:
			return fmt.Errorf("no answer of the NATS server %s for %v: %w", s.link.where, s.link.patience, err)
		}
		if s.link.conn.IsConnected() {
			if err := s.restore(ctx); err != nil {
				return err
			}
		}
		rest(ctx, reconnectWait)
	}
	return nil
}

// fetch asks for an order. There is none, and no error, if the server has none.
func (s *shift) fetch() (jetstream.Msg, error) {
	if !s.link.conn.IsConnected() { // the client would keep the question for later
		return nil, nats.ErrDisconnected
	}
	got, err := s.consumer.Fetch(1, jetstream.FetchMaxWait(s.fetchTime))
	if err != nil {
		return nil, err
	}
	if m := <-got.Messages(); m != nil {
		return m, nil
	}
	if err := got.Error(); err != nil {
		return nil, err
	}
	if !s.link.conn.IsConnected() { // nobody has answered
		return nil, nats.ErrDisconnected
	}
	return nil, nil
}

// restore makes the consumer again if somebody has removed it, alone or with its stream. All
// stations go on with the one that they have: it is a name. One of them is enough.
func (s *shift) restore(ctx context.Context) error {
	if !s.restoring.TryLock() {
		return nil
	}
	defer s.restoring.Unlock()
	ctx, stop := s.untilIdle(ctx)
	defer stop()
	if _, err := s.consume(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	return nil
}

// untilIdle is ctx, but ends when the worker has been idle for as long as it may: it waits
// for no server that has gone longer than it would wait for work.
func (s *shift) untilIdle(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, stop := context.WithCancel(ctx)
	if s.Idle > 0 {
		go func() {
			for ctx.Err() == nil && !s.idle() {
				rest(ctx, reconnectWait)
			}
			stop()
		}()
	}
	return ctx, stop
}

func rest(ctx context.Context, d time.Duration) {
	select {
	case <-time.After(d):
	case <-ctx.Done():
	}
}

// idle reports whether the worker has had nothing to do for as long as it may.
func (s *shift) idle() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.Idle > 0 && len(s.busy) == 0 && time.Since(s.latest) > s.Idle
}

// start and end keep account of what is being spoken. There is no start of what another
// station speaks.
func (s *shift) start(job string, index int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.busy[job][index] {
		return false
	}
	if s.busy[job] == nil {
		s.busy[job] = map[int]bool{}
	}
	s.busy[job][index] = true
	return true
}

func (s *shift) end(job string, index int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if delete(s.busy[job], index); len(s.busy[job]) == 0 {
		delete(s.busy, job)
	}
	s.latest = time.Now()
}

func (s *shift) tell(f Finished) {
	if s.Done == nil {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.Done(f)
}

// take sees an order to its end: a result, or back to the queue. An error is the worker's.
func (s *shift) take(ctx context.Context, station *batch.Station, m jetstream.Msg, n int) error {
	if ctx.Err() != nil {
		_ = m.Nak() // or the lease runs out
		return nil
	}
	a := &attempt{shift: s, message: m, number: n, begun: time.Now()}
	var err error
	if a.job, a.index, err = place(m.Subject()); err != nil {
		return a.drop(err)
	}
	if !s.start(a.job, a.index) { // a new consumer does not know that the order is taken
		_ = m.NakWithDelay(signTime(s.Lease))
		return nil
	}
	defer s.end(a.job, a.index)
	stop := a.keep()
	defer stop()
	if there, err := a.known(); there || err != nil {
		return err
	}
	var order orderMessage
	if err := unpack(m.Headers(), m.Data(), &order); err != nil {
		return a.fail("", err.Error())
	}
	if a.order = order.Order; a.order == nil {
		return a.fail("", "the message has no order")
	}
	if err := a.order.Check(s.Identity, s.SourceRate); err != nil {
		return a.fail(a.order.Digest, fmt.Sprintf("worker %s refuses it: %v", s.Name, err))
	}
	a.tries = max(1, order.Tries)
	if err := a.count(); err != nil {
		return a.undone(err)
	}
	if a.before > 0 {
		s.alone.Lock()
		defer s.alone.Unlock()
	} else {
		s.alone.RLock()
		defer s.alone.RUnlock()
	}
	if a.before >= a.tries {
		return a.fail(a.order.Digest, fmt.Sprintf("it was given up: it was begun %d times, and never came to an end", a.before))
	}
	return a.make(station)
}

// passes reports whether another worker, or another time, may do what this error says could
// not be done.
func passes(err error) bool {
	var request *synth.RequestError
	return !errors.As(err, &request)
}
