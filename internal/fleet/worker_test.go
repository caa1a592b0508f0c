package fleet

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/mynah-tts/mynah/internal/batch"
)

// A worker that is told to end finishes what it has; one that is hurried gives it back, and
// that does not count against the order.
func TestDrain(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	o := jobOptions(t)
	want := local(t, read(t, batch.Text, story(3)), o)
	done := make(chan error, 1)
	go func() {
		_, err := try(t.Context(), read(t, batch.Text, story(3)), o, queueFor(at(server.Addr()), func(o *Options) { o.Tries = 2 }))
		done <- err
	}()
	one := func(w *Worker) { w.Jobs = 1 }
	for range 4 { // more often than it may be begun
		e := &engine{delay: time.Hour}
		h := employ(t, at(server.Addr()), e, one)
		until(t, "an order that is begun", func() bool { return e.calls.Load() > 0 || len(done) > 0 })
		if len(done) > 0 {
			t.Fatalf("the job has ended: %v", <-done)
		}
		h.hurry()
		if err := h.stop(); err != nil {
			t.Error(err)
		}
	}
	taken := make(chan struct{}, 10)
	var told <-chan struct{}
	hired := make(chan struct{})
	last := &engine{on: func(string) error {
		taken <- struct{}{}
		<-hired
		<-told
		return nil
	}}
	h := employ(t, at(server.Addr()), last, one)
	told = h.told
	close(hired)
	<-taken
	if err := h.stop(); err != nil {
		t.Error(err)
	}
	if n := last.spoke.Load(); n != 1 {
		t.Errorf("it has finished %d items, want 1", n)
	}
	employ(t, at(server.Addr()), &engine{}, one)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	equal(t, contents(t, o.Dir), want)
	empty(t, at(server.Addr()))
}

// What a worker asks of a server that has gone ends when the worker has been idle for as long
// as it may, and not while it has something to do.
func TestUntilIdle(t *testing.T) {
	s := &shift{Worker: &Worker{Idle: time.Millisecond}, busy: map[string]map[int]bool{}, latest: time.Now()}
	s.start("a job", 1)
	ctx, stop := s.untilIdle(t.Context())
	defer stop()
	time.Sleep(20 * time.Millisecond)
	if ctx.Err() != nil {
		t.Error("it ended while the worker was busy")
	}
	s.end("a job", 1)
	<-ctx.Done()
}

// A worker whose server has gone ends when it has waited for it for long enough, though it
// has nothing to do.
func TestWorkerWithoutServer(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	p := newProxy(t, strings.TrimPrefix(server.Addr(), "nats://"))
	s := at("nats://" + p.Addr().String())
	s.Patience = time.Second
	link := connected(t, at(server.Addr()))
	h := employ(t, s, &engine{}, nil)
	until(t, "stations that wait", func() bool { return waiting(t, link) == 2 })
	p.cut()
	if err := h.wait(); err == nil || !strings.Contains(err.Error(), "no answer of the NATS server") {
		t.Errorf("it ends with: %v", err)
	}
}

// waiting is how many stations wait for an order.
func waiting(t *testing.T, link *Link) int {
	t.Helper()
	c, err := link.js.Consumer(t.Context(), workStream, consumerOf(modelKey(testIdentity)))
	switch {
	case errors.Is(err, jetstream.ErrConsumerNotFound):
		return 0
	case err != nil:
		t.Error(err)
		return 0
	}
	return c.CachedInfo().NumWaiting
}

// held are texts that are spoken when their channels are closed, or when the test is over.
type held map[string]chan struct{}

func (h held) engine(t *testing.T) *engine {
	return &engine{on: func(text string) error {
		for each, now := range h {
			if strings.Contains(text, each) {
				select {
				case <-now:
				case <-t.Context().Done():
				}
			}
		}
		return nil
	}}
}

// alone runs a job of one item.
func alone(t *testing.T, server *Embedded, line string) <-chan error {
	o := jobOptions(t)
	done := make(chan error, 1)
	in := read(t, batch.Text, line)
	go func() {
		_, err := try(t.Context(), in, o, queueFor(at(server.Addr()), nil))
		done <- err
	}()
	return done
}

// The consumer that somebody has removed is made again by whichever station is free.
func TestConsumerRemoved(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	link := connected(t, at(server.Addr()))
	hold := held{"One": make(chan struct{}), "Two": make(chan struct{}), "Three": make(chan struct{})}
	e := hold.engine(t)
	employ(t, at(server.Addr()), e, nil) // two stations
	var last <-chan error
	for n, line := range []string{"One.", "Two.", "Three."} { // each of the two is alone once
		this := alone(t, server, line)
		until(t, line+" to be begun", func() bool { return int(e.calls.Load()) > n })
		if t.Failed() {
			break
		}
		if err := link.js.DeleteConsumer(t.Context(), workStream, consumerOf(modelKey(testIdentity))); err != nil {
			t.Error(err)
		}
		if last != nil {
			close(hold[[]string{"One", "Two"}[n-1]])
			if err := <-last; err != nil {
				t.Error(err)
			}
		}
		last = this
	}
	if t.Failed() {
		t.FailNow()
	}
	close(hold["Three"])
	if err := <-last; err != nil {
		t.Error(err)
	}
	empty(t, at(server.Addr()))
}

// Of workers that ask for different leases the longest holds, and all say often enough for
// the default that they are at work; what cannot be changed of a consumer stays.
func TestLeases(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	link := connected(t, at(server.Addr()))
	lease := func(d time.Duration) jetstream.ConsumerConfig {
		t.Helper()
		c, err := (&shift{Worker: &Worker{Identity: testIdentity, Lease: d}, link: link}).consume(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		return c.CachedInfo().Config
	}
	if c := lease(DefaultLease); c.AckWait != DefaultLease || c.MaxWaiting != maxAhead {
		t.Errorf("the first: %v, %d may wait", c.AckWait, c.MaxWaiting)
	}
	for _, d := range []time.Duration{5 * time.Minute, DefaultLease, MinLease} {
		if c := lease(d); c.AckWait != 5*time.Minute {
			t.Errorf("after one of %v: %v", d, c.AckWait)
		}
	}
	for d, want := range map[time.Duration]time.Duration{MinLease: MinLease / 4, DefaultLease: DefaultLease / 4, MaxLease: DefaultLease / 4} {
		if got := signTime(d); got != want {
			t.Errorf("with a lease of %v a sign comes each %v, want %v", d, got, want)
		}
	}
	older := jetstream.ConsumerConfig{
		Durable: consumerOf(modelKey(batch.Identity{})), FilterSubject: workSubject + "." + modelKey(batch.Identity{}) + ".>", AckPolicy: jetstream.AckExplicitPolicy, MaxWaiting: 7,
	}
	if _, err := link.js.CreateConsumer(t.Context(), workStream, older); err != nil {
		t.Fatal(err)
	}
	if c, err := (&shift{Worker: &Worker{Lease: MinLease}, link: link}).consume(t.Context()); err != nil || c.CachedInfo().Config.MaxWaiting != 7 {
		t.Errorf("over a consumer for which 7 may wait: %v", err)
	}
}

// A worker that is idle ends with all its stations, also if an order comes when some have
// found that and others have not.
func TestIdle(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	link := connected(t, at(server.Addr()))
	hold := held{"One": make(chan struct{}), "Two": make(chan struct{})}
	e := hold.engine(t)
	first := alone(t, server, "One.")
	ordered := orders(t, at(server.Addr()))
	until(t, "an order", func() bool { return ordered() == 1 })
	h := employ(t, at(server.Addr()), e, func(w *Worker) { w.Idle, w.fetchTime = 2*time.Second, 4*time.Second })
	until(t, "an order that is begun", func() bool { return e.calls.Load() == 1 })
	time.Sleep(1500 * time.Millisecond) // one station asks anew later than the other
	close(hold["One"])
	if err := <-first; err != nil {
		t.Error(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- h.wait() }()
	until(t, "both stations to wait", func() bool { return waiting(t, link) == 2 || len(ended) > 0 })
	until(t, "one station to have waited", func() bool { return waiting(t, link) < 2 || len(ended) > 0 })
	second := alone(t, server, "Two.")
	until(t, "the worker to begin an order or to end", func() bool { return e.calls.Load() == 2 || len(ended) > 0 })
	if len(ended) == 0 { // it was not idle for long enough yet: then the other station is there as well
		until(t, "the other station to wait", func() bool { return waiting(t, link) == 1 })
	}
	close(hold["Two"])
	if err := <-ended; err != nil {
		t.Errorf("it ends with: %v", err)
	}
	employ(t, at(server.Addr()), &engine{}, nil)
	if err := <-second; err != nil {
		t.Error(err)
	}
}
