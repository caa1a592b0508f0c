package fleet

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"
)

const (
	// helloEvery is how often the queue asks for workers, noWorker how often it asks while it
	// knows of none.
	helloEvery = 5 * time.Second
	noWorker   = time.Second

	// inspectEvery is how often the queue looks at the server for what got lost.
	inspectEvery = 15 * time.Second
)

// watch looks after workers, connection and what is on the server, until the queue ends.
func (q *Queue) watch() {
	now := time.Now()
	seen, connected, inspected := now, now, now
	for q.ctx.Err() == nil {
		next := min(noWorker, q.helloEvery)
		if !q.link.conn.IsConnected() {
			q.tell(0, "no connection to the NATS server")
			if time.Since(connected) > q.link.patience {
				q.cancel(fmt.Errorf("no connection to the NATS server %s for %v", q.link.where, q.link.patience))
				return
			}
			seen = seen.Add(time.Since(connected)) // nobody can answer meanwhile
			connected = time.Now()
			q.lull(reconnectWait)
			continue
		}
		connected = time.Now()
		ours, others := q.roll()
		switch {
		case ours > 0:
			seen, next = time.Now(), q.helloEvery
		case time.Since(seen) > q.link.patience:
			q.cancel(fmt.Errorf("no worker has %s: %s", describe(q.opts.Identity), differences(q.opts.Identity, others)))
			return
		}
		if time.Since(inspected) > q.inspectEvery {
			q.inspect()
			inspected = time.Now()
		}
		if q.lull(next) {
			q.inspect() // the server was away: results may have come meanwhile
			inspected = time.Now()
		}
	}
}

// lull waits, and reports whether the connection was made again meanwhile.
func (q *Queue) lull(d time.Duration) bool {
	select {
	case <-time.After(d):
	case <-q.ctx.Done():
	case <-q.link.back:
		return true
	}
	return false
}

// tell sets what State says.
func (q *Queue) tell(live int, state string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.live, q.state = live, state
}

// roll counts the workers that take the job's orders, and lists the others.
func (q *Queue) roll() (ours int, others []presence) {
	all, err := q.link.workers(q.ctx)
	if err != nil {
		return 0, nil
	}
	live := 0
	for _, p := range all {
		if p.Identity == q.opts.Identity {
			ours++
			live += p.Busy[q.job]
		} else {
			others = append(others, p)
		}
	}
	switch {
	case ours == 0 && len(others) > 0:
		q.tell(0, fmt.Sprintf("no worker has %s: %s", describe(q.opts.Identity), differences(q.opts.Identity, others)))
	case ours == 0:
		q.tell(0, "no worker yet")
	case ours == 1:
		q.tell(live, "1 worker")
	default:
		q.tell(live, strconv.Itoa(ours)+" workers")
	}
	return ours, others
}

// inspect compares what is waited for with what the server has. A result that was not
// told is taken; an order that is gone without a result is put on the queue again.
func (q *Queue) inspect() {
	q.mu.Lock()
	var sent []*wait
	for _, w := range q.waiting {
		if w.sent {
			sent = append(sent, w)
		}
	}
	q.mu.Unlock()
	if len(sent) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(q.ctx, mostCallTime)
	defer cancel()
	// In this order: an order that is gone from here has its result there.
	queued, _, err := q.indexes(ctx, q.link.work, workSubject+"."+q.model+"."+q.job+".*")
	var done map[int]bool
	var made time.Time
	if err == nil {
		done, made, err = q.indexes(ctx, q.link.done, doneSubject+"."+q.job+".*")
	}
	if err != nil {
		return // the next inspection sees
	}
	// The consumer goes on behind the last result of the stream that was there before.
	if !made.Equal(q.heard) && q.listen(ctx) == nil {
		if done, _, err = q.indexes(ctx, q.link.done, doneSubject+"."+q.job+".*"); err != nil {
			return
		}
	}
	for _, w := range sent {
		switch index := w.order.Index; {
		case done[index]:
			if r, _, err := q.link.result(ctx, q.job, index); err == nil && r != nil {
				w.give(r)
			}
		case !queued[index] && q.awaited(w):
			_ = q.publish(ctx, w) // the next inspection sees that it is not there
		}
	}
}

// indexes lists the orders that have a message in a stream, and tells when the stream was made.
func (q *Queue) indexes(ctx context.Context, s jetstream.Stream, filter string) (all map[int]bool, made time.Time, err error) {
	all = map[int]bool{}
	err = q.link.persist(ctx, func(ctx context.Context) error {
		info, err := s.Info(ctx, jetstream.WithSubjectFilter(filter))
		if err != nil {
			return err
		}
		made = info.Created
		for subject := range info.State.Subjects {
			if _, index, err := place(subject); err == nil {
				all[index] = true
			}
		}
		return nil
	})
	return all, made, err
}

// cutName splits the name of a file in the object store.
func cutName(name string) (job string, index int, ok bool) {
	parts := strings.Split(name, ".")
	if len(parts) < 3 {
		return "", 0, false
	}
	index, err := strconv.Atoi(parts[1])
	return parts[0], index, err == nil
}
