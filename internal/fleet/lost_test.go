package fleet

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/mynah-tts/mynah/internal/batch"
)

// early is a queue before whose beginning something happens on the server.
type early struct {
	*Queue
	before func(job string) error
}

func (e early) Begin(ctx context.Context, b batch.Brief) error {
	job, err := b.ID()
	if err == nil {
		err = e.before(job)
	}
	if err != nil {
		return err
	}
	return e.Queue.Begin(ctx, b)
}

// Orders and results that the server lost, and results that cannot be used, are ordered
// again.
func TestLostOnTheServer(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	o := jobOptions(t)
	in := func() *batch.Input { return read(t, batch.Text, story(6)) }
	want := local(t, in(), o)
	j, err := batch.NewJob(in(), o)
	if err != nil {
		t.Fatal(err)
	}
	digests := digestsOf(t, want)
	link, err := (&Server{URL: server.Addr(), Patience: time.Second}).Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	void := func(job string) error {
		for index, r := range map[int]any{
			1: resultMessage{Digest: "another"}, 2: "no result at all", 3: resultMessage{Digest: digests[2], Record: &batch.Record{SampleRate: testRate}, Audio: object{Name: "gone"}},
		} {
			m, err := pack(doneOf(job, index), r)
			if err != nil {
				return err
			}
			if _, err := link.js.PublishMsg(t.Context(), m); err != nil {
				return err
			}
		}
		return nil
	}
	done := make(chan error, 1)
	q := early{queueFor(at(server.Addr()), nil), void} // as if they were an earlier run's
	go func() {
		_, err := j.RunBy(t.Context(), q)
		done <- err
	}()
	ordered := orders(t, at(server.Addr()))
	until(t, "6 orders", func() bool { return ordered() == 6 })
	if err := link.work.Purge(t.Context()); err != nil {
		t.Fatal(err)
	}
	e := &engine{}
	employ(t, at(server.Addr()), e, nil)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := e.spoke.Load(); n != 6 {
		t.Errorf("%d were spoken, want 6", n)
	}
	equal(t, contents(t, o.Dir), want)
	empty(t, at(server.Addr()))
}

// An order whose result cannot be used is there again at once, as often as need be, and
// though its worker has not acknowledged it.
func TestVoidResults(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	o := jobOptions(t)
	want := local(t, read(t, batch.Text, story(1)), o)
	done := make(chan error, 1)
	q := queueFor(at(server.Addr()), nil)
	q.inspectEvery = time.Hour // it would find in the end what is missing
	go func() {
		_, err := try(t.Context(), read(t, batch.Text, story(1)), o, q)
		done <- err
	}()
	s := at(server.Addr())
	link, err := s.Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	bad := &shift{Worker: &Worker{Identity: testIdentity, Lease: DefaultLease}, link: link}
	if bad.consumer, err = bad.consume(t.Context()); err != nil {
		t.Fatal(err)
	}
	var had jetstream.Msg
	for n := range 3 {
		got, err := bad.consumer.Fetch(1, jetstream.FetchMaxWait(10*time.Second))
		if err != nil {
			t.Fatal(err)
		}
		order, there := <-got.Messages()
		if !there {
			t.Fatalf("after %d results that cannot be used it is not on the queue", n)
		}
		if had != nil {
			_ = had.Ack() // it is gone
		}
		had = order
		job, index, err := place(order.Subject())
		if err != nil {
			t.Fatal(err)
		}
		m, err := pack(doneOf(job, index), resultMessage{Digest: "another"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := link.js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	employ(t, at(server.Addr()), &engine{}, nil)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	equal(t, contents(t, o.Dir), want)
	empty(t, at(server.Addr()))
}

// slow is a queue whose first order is on its way for as long as a worker takes to get it,
// and then comes again.
type slow struct {
	*Queue
	deaf      bool // the answer to its publication is lost
	meanwhile func()
}

type slowStream struct {
	jetstream.JetStream
	deaf  bool
	first func(context.Context, *nats.Msg)
}

func (s slow) Begin(ctx context.Context, b batch.Brief) error {
	err := s.Queue.Begin(ctx, b)
	js := s.link.js
	var once sync.Once
	s.link.js = &slowStream{js, s.deaf, func(ctx context.Context, m *nats.Msg) {
		once.Do(func() {
			_, _ = js.PublishMsg(ctx, m)
			s.meanwhile()
		})
	}}
	return err
}

func (s *slowStream) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	s.first(ctx, m)
	ack, err := s.JetStream.PublishMsg(context.WithoutCancel(ctx), m, opts...)
	if s.deaf {
		s.deaf = false
		return nil, nats.ErrTimeout
	}
	return ack, err
}

// An order that another worker finishes between the look at its result and its publication
// does not stay on the queue, to be spoken again.
func TestFinishedMeanwhile(t *testing.T) {
	t.Parallel()
	for _, deaf := range []bool{false, true} {
		t.Run(fmt.Sprintf("answer lost %t", deaf), func(t *testing.T) {
			server := natsServer(t)
			o := jobOptions(t)
			want := local(t, read(t, batch.Text, story(1)), o)
			link, err := (&Server{URL: server.Addr(), Patience: time.Second}).Connect(t.Context(), "test")
			if err != nil {
				t.Fatal(err)
			}
			defer link.Close()
			queued := func() uint64 {
				info, err := link.work.Info(t.Context())
				if err != nil {
					t.Error(err)
					return 0
				}
				return info.State.Msgs
			}
			e := &engine{}
			q := slow{queueFor(at(server.Addr()), nil), deaf, func() {
				h := employ(t, at(server.Addr()), e, nil)
				until(t, "an order that is done", func() bool { return queued() == 0 })
				if err := h.stop(); err != nil {
					t.Error(err)
				}
			}}
			o.Done = func(*batch.Record) {
				if n := queued(); n > 0 {
					t.Errorf("%d orders are on the queue that have a result", n)
				}
			}
			j, err := batch.NewJob(read(t, batch.Text, story(1)), o)
			if err == nil {
				_, err = j.RunBy(t.Context(), q)
			}
			if err != nil {
				t.Fatal(err)
			}
			equal(t, contents(t, o.Dir), want)
			empty(t, at(server.Addr()))
		})
	}
}

// What somebody removes in the midst of a job is made again, and nobody ends.
func TestStreamsRemoved(t *testing.T) {
	t.Parallel()
	for _, gone := range [][]string{{workStream}, {doneStream}, {"OBJ_" + bucket}, {workStream, doneStream, "OBJ_" + bucket}} {
		t.Run(strings.Join(gone, ", "), func(t *testing.T) {
			t.Parallel()
			server := natsServer(t)
			link := connected(t, at(server.Addr()))
			s := at(server.Addr())
			s.Patience = time.Minute
			h := employ(t, s, &engine{}, nil)
			o := jobOptions(t)
			want := local(t, read(t, batch.Text, story(20)), o)
			made := 0
			o.Done = func(*batch.Record) {
				if made++; made == 5 {
					for _, stream := range gone {
						if err := link.js.DeleteStream(t.Context(), stream); err != nil {
							t.Error(err)
						}
					}
				}
			}
			if r := run(t, read(t, batch.Text, story(20)), o, queueFor(s, nil)); r.Made != 20 {
				t.Errorf("%+v", r.Progress)
			}
			if err := h.stop(); err != nil {
				t.Errorf("the worker: %v", err)
			}
			equal(t, contents(t, o.Dir), want)
		})
	}
}

// Results of a stream that was made anew are told as they come, though its numbers begin again.
func TestResultsAnew(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	link := connected(t, at(server.Addr()))
	for range 50 { // of another job
		if _, err := link.js.Publish(t.Context(), begunOf("another", 1), nil); err != nil {
			t.Fatal(err)
		}
	}
	o := jobOptions(t)
	want := local(t, read(t, batch.Text, story(2)), o)
	q := queueFor(at(server.Addr()), nil)
	q.inspectEvery = time.Hour // it would find what is not told
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() {
		_, err := try(ctx, read(t, batch.Text, story(2)), o, q)
		done <- err
	}()
	ordered := orders(t, at(server.Addr()))
	until(t, "2 orders", func() bool { return ordered() == 2 })
	if err := link.js.DeleteStream(t.Context(), doneStream); err != nil {
		t.Fatal(err)
	}
	if err := link.heal(t.Context()); err != nil {
		t.Fatal(err)
	}
	until(t, "both to be sent", func() bool {
		q.mu.Lock()
		defer q.mu.Unlock()
		sent := 0
		for _, w := range q.waiting {
			if w.sent {
				sent++
			}
		}
		return sent == 2
	})
	q.inspect()
	employ(t, at(server.Addr()), &engine{}, nil)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	equal(t, contents(t, o.Dir), want)
	empty(t, at(server.Addr()))
}

// A server comes back with nothing of what it had.
func TestServerForgets(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	address := strings.TrimPrefix(server.Addr(), "nats://")
	h := employ(t, at(server.Addr()), &engine{}, nil)
	o := jobOptions(t)
	want := local(t, read(t, batch.Text, story(20)), o)
	made := 0
	o.Done = func(*batch.Record) {
		if made++; made == 5 {
			server.Stop()
			again, err := StartServer(address, t.TempDir(), "")
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(again.Stop)
		}
	}
	if r := run(t, read(t, batch.Text, story(20)), o, queueFor(at("nats://"+address), nil)); r.Made != 20 {
		t.Errorf("%+v", r.Progress)
	}
	if err := h.stop(); err != nil {
		t.Errorf("the worker: %v", err)
	}
	equal(t, contents(t, o.Dir), want)
}
