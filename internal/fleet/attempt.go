package fleet

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/mynah-tts/mynah/internal/batch"
	"github.com/mynah-tts/mynah/internal/osfile"
)

const (
	// A server that was killed may not know that it has delivered an order, and then does
	// not answer: it delivers it again.
	ackTries = 2
	ackTime  = 2 * time.Second
)

// attempt is one delivery of an order to a worker.
type attempt struct {
	*shift
	message jetstream.Msg
	number  int // of the station
	job     string
	index   int
	order   *batch.Order
	before  int    // how often it was begun
	mark    uint64 // sequence of the mark that says that it is begun now
	tries   int    // allowed beginnings
	begun   time.Time

	alive          atomic.Int64 // ns since 1970: when the engine last gave a sample
	samples, runes int
}

// keep says that the order is being worked on until it is stopped.
func (a *attempt) keep() (stop func()) {
	a.alive.Store(time.Now().UnixNano())
	ends, over := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(over)
		tick := time.NewTicker(signTime(a.Lease))
		defer tick.Stop()
		for {
			select {
			case <-ends:
				return
			case <-tick.C:
				_ = a.message.InProgress() // without a connection the lease runs out, and that is no harm
			}
		}
	}()
	return func() {
		close(ends)
		<-over
	}
}

// signTime is how often a worker says that it is at work. The lease that holds may be
// another's: whoever asks for a longer one says so no less often than by default.
func signTime(lease time.Duration) time.Duration { return min(lease, DefaultLease) / 4 }

// known reports whether the order has a result already: the worker that made it did not
// get so far as to acknowledge it.
func (a *attempt) known() (bool, error) {
	there := false
	err := a.link.persist(a.hurry, func(ctx context.Context) error {
		r, _, err := a.link.result(ctx, a.job, a.index)
		there = r != nil
		return err
	})
	switch {
	case a.hurry.Err() != nil:
		_ = a.message.Nak()
		return true, nil
	case err != nil:
		return false, a.undone(err)
	case there:
		return true, a.acknowledge()
	}
	return false, nil
}

// result reads the result of an order and where it stands in the stream; nil if there is
// none.
func (l *Link) result(ctx context.Context, job string, index int) (*resultMessage, uint64, error) {
	m, err := l.done.GetLastMsgForSubject(ctx, doneOf(job, index))
	if errors.Is(err, jetstream.ErrMsgNotFound) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, err
	}
	r := &resultMessage{}
	if err := unpack(m.Header, m.Data, r); err != nil {
		return &resultMessage{Error: err.Error()}, m.Sequence, nil
	}
	return r, m.Sequence, nil
}

// make speaks the order and hands its files in.
func (a *attempt) make(station *batch.Station) error {
	name := filepath.Join(a.Dir, fmt.Sprintf("new-%d", a.number))
	to := batch.Files{Audio: name, Part: name + "-part", Name: a.Dir}
	defer os.Remove(to.Audio)
	defer os.Remove(to.Part)
	if err := a.begin(); err != nil {
		return a.undone(err)
	}
	record, err := a.speak(station, to)
	switch {
	case err == nil && record == nil && a.hurry.Err() != nil:
		return a.undo(0, "")
	case err == nil && record == nil:
		return a.giveBack(0, fmt.Sprintf("no sample for %v", stallTime))
	case err != nil && batch.EndsJob(err):
		_ = a.undo(time.Second, batch.Problem(err))
		return err
	case err != nil && passes(err) && a.before+1 < a.tries:
		return a.giveBack(min(time.Duration(a.before+1)*time.Second, 10*time.Second), batch.Problem(err))
	case err != nil && passes(err) && a.tries > 1:
		return a.fail(a.order.Digest, fmt.Sprintf("%s (in each of %d tries)", batch.Problem(err), a.tries))
	case err != nil:
		return a.fail(a.order.Digest, batch.Problem(err))
	}
	return a.handIn(record, to)
}

// begin leaves a mark on the server that the order is begun: whoever gets it if this worker
// is lost counts them.
func (a *attempt) begin() error {
	id := rand.Text() // one beginning is one mark, also if an answer is lost
	err := a.link.persist(a.hurry, func(ctx context.Context) error {
		ack, err := a.link.js.Publish(ctx, begunOf(a.job, a.index), []byte(a.Name), jetstream.WithMsgID(id), jetstream.WithRetryAttempts(0))
		if err == nil {
			a.mark = ack.Sequence
		}
		return err
	})
	if a.hurry.Err() != nil {
		return nil // the engine will not begin
	}
	return err
}

// count reads how often the order was begun before.
func (a *attempt) count() error {
	return a.link.persist(a.hurry, func(ctx context.Context) error {
		info, err := a.link.done.Info(ctx, jetstream.WithSubjectFilter(begunOf(a.job, a.index)))
		if err == nil {
			a.before = int(info.State.Subjects[begunOf(a.job, a.index)])
		}
		return err
	})
}

// speak makes the files. The result is nil without an error if the worker is hurried, or if
// the engine gives no sample for too long.
func (a *attempt) speak(station *batch.Station, to batch.Files) (*batch.Record, error) {
	ctx, cancel := context.WithCancel(a.hurry)
	defer cancel()
	var stalled func()
	timer := time.AfterFunc(stallTime, func() { stalled() })
	stalled = func() {
		if silent := time.Since(time.Unix(0, a.alive.Load())); silent < stallTime {
			timer.Reset(stallTime - silent)
			return
		}
		cancel()
	}
	defer timer.Stop()
	return station.Make(ctx, a.order, to, func(samples, runes int) {
		a.alive.Store(time.Now().UnixNano())
		a.samples += samples
		a.runes += runes
	})
}

// handIn puts the files into the object store, then the result where the queue finds it,
// and acknowledges after that.
func (a *attempt) handIn(record *batch.Record, to batch.Files) error {
	r := &resultMessage{Digest: a.order.Digest, Worker: a.Name, Record: record, Samples: a.samples, Runes: a.runes}
	var err error
	if r.Audio, err = a.measure(to.Audio, ""); err == nil && a.order.Part {
		r.Part, err = a.measure(to.Part, ".part")
	}
	if err == nil {
		err = a.fits(r.Audio.Bytes + r.Part.Bytes)
	}
	if err == nil {
		err = a.upload(to.Audio, r.Audio)
	}
	if err == nil && a.order.Part {
		err = a.upload(to.Part, r.Part)
	}
	if err == nil {
		if err = a.publish(r); errors.Is(err, nats.ErrMaxPayload) {
			if err = a.setAside(r); err == nil {
				err = a.publish(r)
			}
		}
	}
	if err != nil {
		a.link.drop(a.hurry, r)
	}
	var large *largeError
	if errors.As(err, &large) {
		return a.fail(a.order.Digest, large.Error())
	}
	if err != nil {
		return a.undone(err)
	}
	a.tell(Finished{Job: a.job, Index: a.index, Duration: record.Duration, Took: time.Since(a.begun)})
	return a.acknowledge()
}

// measure describes a file, under a name that no other attempt has.
func (a *attempt) measure(path, suffix string) (object, error) {
	f, err := os.Open(path)
	if err != nil {
		return object{}, batch.JobError(fmt.Errorf("%s: %w", path, osfile.Cause(err)))
	}
	defer f.Close()
	h := sha256.New()
	size, err := io.Copy(h, f)
	if err != nil {
		return object{}, batch.JobError(fmt.Errorf("%s: %w", path, osfile.Cause(err)))
	}
	return object{Name: a.objectName(suffix), Bytes: size, SHA256: hex.EncodeToString(h.Sum(nil))}, nil
}

func (a *attempt) objectName(suffix string) string {
	return fmt.Sprintf("%s.%d.%s%s", a.job, a.index, rand.Text(), suffix)
}

// setAside puts a result's record into the object store: it has the times of each segment, so that
// it may not fit into a message where its order did.
func (a *attempt) setAside(r *resultMessage) error {
	data, err := json.Marshal(r.Record)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(data)
	r.Record, r.Aside = nil, object{Name: a.objectName(".record"), Bytes: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
	return a.link.persistFor(a.hurry, transferTime(r.Aside.Bytes), func(ctx context.Context) error {
		return a.link.put(ctx, r.Aside.Name, bytes.NewReader(data))
	})
}

// largeError says that files do not fit into the bucket, also when nothing else is there.
type largeError struct{ bytes, most int64 }

func (e *largeError) Error() string {
	return fmt.Sprintf("its file of %.1f MiB does not fit into the NATS server's bucket %s (%.1f MiB)", float64(e.bytes)/(1<<20), bucket, float64(e.most)/(1<<20))
}

// fits refuses files that would be tried again for ever.
func (a *attempt) fits(bytes int64) error {
	return a.link.persist(a.hurry, func(ctx context.Context) error {
		info, err := a.link.audio.Info(ctx)
		if err != nil {
			return err
		}
		// A chunk takes some 130 bytes more, the message that describes the file some 500.
		if most := info.Config.MaxBytes; most > 0 && bytes+bytes/a.link.chunk()*130+2000 > most {
			return &largeError{bytes, most}
		}
		return nil
	})
}

// upload puts a file into the object store.
func (a *attempt) upload(path string, o object) error {
	f, err := os.Open(path)
	if err != nil {
		return batch.JobError(fmt.Errorf("%s: %w", path, osfile.Cause(err)))
	}
	defer f.Close()
	return a.link.persistFor(a.hurry, transferTime(o.Bytes), func(ctx context.Context) error {
		if _, err := f.Seek(0, io.SeekStart); err != nil {
			return err
		}
		return a.link.put(ctx, o.Name, f)
	})
}

// transferTime is how long a file of a size may be on its way.
func transferTime(size int64) time.Duration {
	return 2*callTime + time.Duration(size)*time.Second/transferRate
}

// publish says what came of the order, unless somebody else has said it: then what this
// attempt has made is removed.
func (a *attempt) publish(r *resultMessage) error {
	m, err := pack(doneOf(a.job, a.index), r)
	if err != nil {
		return err
	}
	return a.link.persist(a.hurry, func(ctx context.Context) error {
		_, err := a.link.js.PublishMsg(ctx, m, jetstream.WithExpectLastSequencePerSubject(0), jetstream.WithRetryAttempts(0))
		if !taken(err) {
			return err
		}
		// The subject may hold this very result: the answer to an earlier call was lost.
		there, _, err := a.link.result(ctx, a.job, a.index)
		if err == nil && (there == nil || there.Audio.Name != r.Audio.Name) {
			a.link.drop(a.hurry, r)
		}
		return err
	})
}

// taken reports whether a message was refused because its subject has one.
func taken(err error) bool {
	var api *jetstream.APIError
	return errors.As(err, &api) && (api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequence || api.ErrorCode == jetstream.JSErrCodeStreamWrongLastSequenceConstant)
}

// fail says that there is no audio and why, and acknowledges.
func (a *attempt) fail(digest, problem string) error {
	if err := a.publish(&resultMessage{Digest: digest, Worker: a.Name, Error: problem}); err != nil {
		return a.undone(err)
	}
	a.tell(Finished{Job: a.job, Index: a.index, Took: time.Since(a.begun), Problem: problem})
	return a.acknowledge()
}

// undone gives back an order that the server or the disk kept from its end. The error is the
// worker's, unless it was hurried.
func (a *attempt) undone(err error) error {
	hurried := a.hurry.Err() != nil
	_ = a.undo(0, "")
	if hurried {
		return nil
	}
	return fmt.Errorf("order %d of job %.8s: %w", a.index, a.job, err)
}

// undo gives back an order whose end says nothing against it: it counts as not begun. The
// mark stays of what was spoken without success, and of whatever ended its worker.
func (a *attempt) undo(delay time.Duration, problem string) error {
	ctx, cancel := context.WithTimeout(context.Background(), ackTime)
	defer cancel()
	if a.mark > 0 && a.link.conn.IsConnected() {
		_ = a.link.done.DeleteMsg(ctx, a.mark) // it only counts for more than it is
	}
	return a.giveBack(delay, problem)
}

// giveBack returns the order to the queue, for others at once or after a while.
func (a *attempt) giveBack(delay time.Duration, problem string) error {
	if delay > 0 {
		_ = a.message.NakWithDelay(delay) // or the lease runs out
	} else {
		_ = a.message.Nak()
	}
	a.tell(Finished{Job: a.job, Index: a.index, Took: time.Since(a.begun), Problem: problem, Again: true})
	return nil
}

// drop takes a message off the queue that is no order.
func (a *attempt) drop(err error) error {
	_ = a.message.TermWithReason(err.Error())
	return nil
}

// acknowledge takes the order off the queue and waits until the server says that it has.
// If it does not say so the order may come back: whoever gets it finds the result.
func (a *attempt) acknowledge() error {
	for range ackTries {
		err := a.link.once(a.hurry, ackTime, a.message.DoubleAck)
		if err == nil || !passing(err) || a.hurry.Err() != nil {
			break
		}
		rest(a.hurry, reconnectWait)
	}
	return nil
}
