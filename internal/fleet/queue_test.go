package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/internal/batch"
)

// Workers make the files that a local run makes, whatever is asked of the files, and
// nothing stays on the server.
func TestSameFilesAsLocal(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	e := &engine{}
	for range 3 {
		employ(t, at(server.Addr()), e, nil)
	}
	goal := -20.0
	for _, c := range []struct {
		name   string
		form   batch.Form
		input  string
		change func(*batch.Options)
	}{
		{"plain", batch.Text, story(20), func(*batch.Options) {}},
		{"failures", batch.Text, "One.\nREFUSE this.\n***\nTwo.\n", func(*batch.Options) {}},
		{"cut", batch.Text, "CUT one.\nCUT two.\nCUT three.\n", func(o *batch.Options) { o.RetryCut = 4 }},
		{"everything", batch.Text, story(5) + "One. Two. Three.\n", func(o *batch.Options) {
			o.Loudness, o.Trim, o.Captions, o.SampleRate, o.Speed, o.Format = &goal, true, batch.SRT, 16000, 1.2, audio.FLAC
		}},
		{"book", batch.Markdown, "# A\n\nOne. Two.\n\n# B\n\nThree.\n\n# C\n\nFour.\n", func(o *batch.Options) { o.Captions = batch.VTT }},
		{"book of MP3", batch.Markdown, "# A\n\nOne. Two.\n\n# B\n\nThree.\n", func(o *batch.Options) { o.Format = audio.MP3 }},
		{"long texts", batch.Text, strings.Repeat("A long line that goes on, ", 700) + "\nShort.\n", func(*batch.Options) {}},
	} {
		t.Run(c.name, func(t *testing.T) {
			o := jobOptions(t)
			c.change(&o)
			want := local(t, read(t, c.form, c.input), o)
			r := run(t, read(t, c.form, c.input), o, queueFor(at(server.Addr()), nil))
			equal(t, contents(t, o.Dir), want)
			calls := e.calls.Load()
			if again := run(t, read(t, c.form, c.input), o, queueFor(at(server.Addr()), nil)); r.Failed == 0 && (!again.Nothing || e.calls.Load() != calls) {
				t.Errorf("a second run did something: %+v", again.Progress)
			}
			empty(t, at(server.Addr()))
		})
	}
}

// Two jobs share a server and its workers at a time, also two of the same items: neither
// gets or removes what is the other's.
func TestTwoJobs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name  string
		seeds [2]int64
	}{{"other items", [2]int64{0, 1}}, {"the same items", [2]int64{0, 0}}} {
		t.Run(c.name, func(t *testing.T) {
			server := natsServer(t)
			e := &engine{}
			employ(t, at(server.Addr()), e, nil)
			var all sync.WaitGroup
			for n, captions := range []batch.Captions{batch.NoCaptions, batch.SRT} {
				o := jobOptions(t)
				o.Seed, o.Captions = c.seeds[n], captions
				want := local(t, read(t, batch.Text, story(15)), o)
				all.Go(func() {
					if _, err := try(t.Context(), read(t, batch.Text, story(15)), o, queueFor(at(server.Addr()), nil)); err != nil {
						t.Error(err)
						return
					}
					equal(t, contents(t, o.Dir), want)
				})
			}
			all.Wait()
			if n := e.spoke.Load(); n < 30 {
				t.Errorf("%d items were spoken, want 15 for each", n)
			}
			empty(t, at(server.Addr()))
		})
	}
}

// Workers die in the midst of their items, without a word.
func TestKilledWorkers(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	e := &engine{delay: 20 * time.Millisecond}
	var hands []*hand
	for range 3 {
		hands = append(hands, employ(t, at(server.Addr()), e, nil))
	}
	o := jobOptions(t)
	made := 0
	o.Done = func(*batch.Record) {
		if made++; made == 5 || made == 12 {
			hands[0].kill()
			hands = hands[1:]
		}
	}
	want := local(t, read(t, batch.Text, story(30)), o)
	r := run(t, read(t, batch.Text, story(30)), o, queueFor(at(server.Addr()), nil))
	if r.Made != 30 {
		t.Errorf("%+v", r.Progress)
	}
	equal(t, contents(t, o.Dir), want)
	leaves(t, at(server.Addr()), 2)
}

// proxy stands between a worker and its server, and can hold everything back.
type proxy struct {
	net.Listener
	to     string
	frozen atomic.Bool
	all    sync.WaitGroup
}

func newProxy(t *testing.T, to string) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{Listener: l, to: to}
	p.all.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s, err := net.Dial("tcp", to)
			if err != nil {
				c.Close()
				continue
			}
			p.all.Go(func() { p.pass(c, s) })
			p.all.Go(func() { p.pass(s, c) })
		}
	})
	t.Cleanup(func() {
		p.frozen.Store(false)
		l.Close()
		p.all.Wait()
	})
	return p
}

func (p *proxy) pass(from, to net.Conn) {
	defer from.Close()
	defer to.Close()
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		for p.frozen.Load() {
			time.Sleep(5 * time.Millisecond)
		}
		if _, e := to.Write(buf[:n]); err != nil || e != nil {
			return
		}
	}
}

// A worker that is cut off goes on, and hands in what another has made in its place.
func TestDuplicates(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	p := newProxy(t, strings.TrimPrefix(server.Addr(), "nats://"))
	frozen := make(chan struct{})
	slow := &engine{}
	var once sync.Once
	slow.on = func(string) error {
		once.Do(func() {
			p.frozen.Store(true)
			close(frozen)
		})
		return nil
	}
	cut := employ(t, at("nats://"+p.Addr().String()), slow, func(w *Worker) { w.Jobs = 1 })
	o := jobOptions(t)
	want := local(t, read(t, batch.Text, story(8)), o)
	done := make(chan error, 1)
	q := queueFor(at(server.Addr()), nil)
	other := &engine{delay: 50 * time.Millisecond}
	collected := make(chan struct{}, 8)
	o.Done = func(*batch.Record) { collected <- struct{}{} }
	go func() {
		_, err := try(t.Context(), read(t, batch.Text, story(8)), o, q)
		done <- err
	}()
	<-frozen
	employ(t, at(server.Addr()), other, nil)
	for range 8 {
		<-collected // the one that the frozen worker has is made by the other, too
	}
	p.frozen.Store(false)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := other.spoke.Load(); n != 8 {
		t.Errorf("the other worker has made %d, want 8", n)
	}
	equal(t, contents(t, o.Dir), want)
	if err := cut.stop(); err != nil {
		t.Error(err)
	}
	// What came after the job's end is on the server until its age ends it, and does no harm
	// to the next job.
	o.Dir += "2"
	run(t, read(t, batch.Text, story(8)), o, queueFor(at(server.Addr()), nil))
	equal(t, contents(t, o.Dir), want)
	leaves(t, at(server.Addr()), 1)
}

// The server goes away and comes back, several times.
func TestServerRestarts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	server := serverIn(t, "127.0.0.1:0", dir)
	address := strings.TrimPrefix(server.Addr(), "nats://")
	e := &engine{delay: 20 * time.Millisecond}
	for range 2 {
		employ(t, at(server.Addr()), e, nil)
	}
	o := jobOptions(t)
	want := local(t, read(t, batch.Text, story(40)), o)
	restart := make(chan struct{}, 40)
	made := 0
	o.Done = func(*batch.Record) {
		if made++; made == 4 || made == 20 {
			restart <- struct{}{}
		}
	}
	var restarts sync.WaitGroup
	restarts.Go(func() {
		for range 2 {
			<-restart
			server.Stop()
			time.Sleep(100 * time.Millisecond)
			server = serverIn(t, address, dir)
		}
	})
	r := run(t, read(t, batch.Text, story(40)), o, queueFor(at(server.Addr()), nil))
	restarts.Wait()
	if r.Made != 40 {
		t.Errorf("%+v", r.Progress)
	}
	equal(t, contents(t, o.Dir), want)
	empty(t, at("nats://"+address))
}

// An item that fails on every worker, and one that ends every worker, are reported; the
// others are made.
func TestPoisoned(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	hands := make(chan *hand, 100)
	var mu sync.Mutex
	deaths := 0
	hire := func() {
		e := &engine{}
		var me *hand
		started := make(chan struct{})
		e.on = func(text string) error {
			switch {
			case strings.Contains(text, "BREAK"):
				return fmt.Errorf("synth: codec: broken")
			case strings.Contains(text, "KILL"):
				<-started
				me.kill()
				mu.Lock()
				deaths++
				mu.Unlock()
				hands <- me
			}
			return nil
		}
		me = employ(t, at(server.Addr()), e, nil)
		close(started)
	}
	hire()
	all.Go(func() { // who dies is replaced
		for {
			select {
			case <-hands:
				hire()
			case <-ctx.Done():
				return
			}
		}
	})
	o := jobOptions(t)
	r := run(t, read(t, batch.Text, "One.\nThis must BREAK.\nThis must KILL.\nTwo.\nREFUSE it.\n"), o, queueFor(at(server.Addr()), func(o *Options) { o.Tries = 3 }))
	var problems []string
	for _, f := range r.Failures {
		problems = append(problems, fmt.Sprintf("%d: %s", f.Line, f.Error))
	}
	want := []string{
		"2: codec: broken (in each of 3 tries)", "3: it was given up: it was begun 3 times, and never came to an end", "5: voice: there is no such voice",
	}
	if strings.Join(problems, "\n") != strings.Join(want, "\n") || r.Made != 2 {
		t.Errorf("%d made, problems are\n%s\nwant\n%s", r.Made, strings.Join(problems, "\n"), strings.Join(want, "\n"))
	}
	mu.Lock()
	defer mu.Unlock()
	if deaths != 3 {
		t.Errorf("%d workers died, want 3", deaths)
	}
	empty(t, at(server.Addr()))
}

// Workers of another model, precision, level or version take nothing, and are named.
func TestMismatch(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	other := &engine{}
	employ(t, at(server.Addr()), other, func(w *Worker) { w.Name, w.Identity.Level = "a", "avx512" })
	employ(t, at(server.Addr()), other, func(w *Worker) { w.Name, w.Identity.Precision.Codec = "b", "int8" })
	employ(t, at(server.Addr()), other, func(w *Worker) { w.Name, w.Identity.Model, w.Model = "c", "fedcba9876543210", "big" })
	s := at(server.Addr())
	s.Patience = time.Second
	o := jobOptions(t)
	_, err := try(t.Context(), read(t, batch.Text, story(3)), o, queueFor(s, nil))
	for _, want := range []string{
		"no worker has checkpoint 0123456789ab at precision f32/f32/f32, instruction level generic, version test: there are ",
		"a: instruction level avx512", "b: precision f32/f32/int8", "c: checkpoint fedcba987654 (big)",
	} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if other.calls.Load() != 0 {
		t.Errorf("they spoke %d items", other.calls.Load())
	}
	// The job goes on when one comes.
	right := &engine{}
	employ(t, at(server.Addr()), right, nil)
	if r := run(t, read(t, batch.Text, story(3)), o, queueFor(at(server.Addr()), nil)); r.Made != 3 || right.spoke.Load() != 3 {
		t.Errorf("%+v, %d spoken", r.Progress, right.spoke.Load())
	}
	empty(t, at(server.Addr()))
}

// A job that is interrupted leaves its items on the queue; the next run takes what was made
// meanwhile.
func TestInterruptedAndRunAgain(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	e := &engine{delay: 5 * time.Millisecond}
	employ(t, at(server.Addr()), e, nil)
	o := jobOptions(t)
	want := local(t, read(t, batch.Text, story(20)), o)
	ctx, cancel := context.WithCancel(t.Context())
	made := 0
	o.Done = func(*batch.Record) {
		if made++; made == 3 {
			cancel()
		}
	}
	r, err := try(ctx, read(t, batch.Text, story(20)), o, queueFor(at(server.Addr()), nil))
	if !errors.Is(err, context.Canceled) || r.Made < 3 || r.Made == 20 {
		t.Fatalf("%v %+v", err, r)
	}
	for e.spoke.Load() < 20 {
		time.Sleep(5 * time.Millisecond)
	}
	o.Done = nil
	if r := run(t, read(t, batch.Text, story(20)), o, queueFor(at(server.Addr()), nil)); r.Made+r.Kept != 20 {
		t.Errorf("%+v", r.Progress)
	}
	// What was collected, and not yet removed, may be spoken again; no more than that.
	if n := e.spoke.Load(); n != 20 {
		t.Errorf("%d items were spoken, want 20", n)
	}
	equal(t, contents(t, o.Dir), want)
	empty(t, at(server.Addr()))
}

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
	queued := func() uint64 {
		info, err := link.work.Info(t.Context())
		if err != nil {
			t.Error(err)
			return 6
		}
		return info.State.Msgs
	}
	for queued() < 6 {
		time.Sleep(5 * time.Millisecond)
	}
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
	if err := bad.consume(t.Context()); err != nil {
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
	meanwhile func()
}

type slowStream struct {
	jetstream.JetStream
	meanwhile func()
}

func (s slow) Begin(ctx context.Context, b batch.Brief) error {
	err := s.Queue.Begin(ctx, b)
	s.link.js = slowStream{s.link.js, sync.OnceFunc(s.meanwhile)}
	return err
}

func (s slowStream) PublishMsg(ctx context.Context, m *nats.Msg, opts ...jetstream.PublishOpt) (*jetstream.PubAck, error) {
	if _, err := s.JetStream.PublishMsg(ctx, m); err != nil {
		return nil, err
	}
	s.meanwhile()
	return s.JetStream.PublishMsg(ctx, m, opts...)
}

// An order that another worker finishes between the look at its result and its publication
// does not stay on the queue, to be spoken again.
func TestFinishedMeanwhile(t *testing.T) {
	t.Parallel()
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
	q := slow{queueFor(at(server.Addr()), nil), func() {
		h := employ(t, at(server.Addr()), e, nil)
		for queued() > 0 {
			time.Sleep(time.Millisecond)
		}
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
}

// tornDisk is full in the midst of files whose path has something in it.
type tornDisk struct {
	quickDisk
	part string
}

type tornFile struct{ batch.File }

func (f tornFile) Write(p []byte) (int, error) {
	n, _ := f.File.Write(p[:len(p)/2])
	return n, &os.PathError{Op: "write", Path: "x", Err: errors.New("no space left on device")}
}

func (d tornDisk) Open(path string, flag int) (batch.File, error) {
	f, err := d.quickDisk.Open(path, flag)
	if err == nil && strings.Contains(path, d.part) {
		f = tornFile{f}
	}
	return f, err
}

// The part of a chapter that was fetched by half is not taken for whole, and what a killed
// run leaves of one does not stay.
func TestHalfParts(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	employ(t, at(server.Addr()), &engine{}, nil)
	o := jobOptions(t)
	o.Format = audio.MP3
	const before, after = "# A\n\nOne. Two.\n\n# B\n\nThree.\n", "# A\n\nOne. Two.\n\n# B\n\nThree. Four.\n"
	want := local(t, read(t, batch.Markdown, after), o)
	run(t, read(t, batch.Markdown, before), o, queueFor(at(server.Addr()), nil))
	parts := filepath.Join(o.Dir, ".mynah-batch", "parts")
	if err := os.RemoveAll(parts); err != nil { // all chapters are to be made, and A's file is there
		t.Fatal(err)
	}
	digest := digestsOf(t, want)[0]
	torn := o
	torn.Disk = tornDisk{part: digest}
	if _, err := try(t.Context(), read(t, batch.Markdown, after), torn, queueFor(at(server.Addr()), nil)); err == nil || !strings.Contains(err.Error(), "no space left") {
		t.Fatalf("with a full disk: %v", err)
	}
	if left, _ := filepath.Glob(filepath.Join(parts, digest+"*")); len(left) > 0 {
		t.Errorf("a full disk leaves %q", left)
	}
	for _, name := range []string{digest, strings.Repeat("0", len(digest))} {
		if err := os.WriteFile(filepath.Join(parts, name+".flac"+half), []byte("fLaC"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if r := run(t, read(t, batch.Markdown, after), o, queueFor(at(server.Addr()), nil)); r.Joined == nil || r.Joined.Error != "" {
		t.Errorf("joined: %+v", r.Joined)
	}
	equal(t, contents(t, o.Dir), want)
	empty(t, at(server.Addr()))
}

// A file has its name when it is there as its result says.
func TestFetchedFilesAreWhole(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	s := at(server.Addr())
	link, err := s.Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	data := []byte(strings.Repeat("samples", 100))
	if _, err := link.objects.PutBytes(t.Context(), "there", data); err != nil {
		t.Fatal(err)
	}
	sum := sha256.Sum256(data)
	right := object{Name: "there", Bytes: int64(len(data)), SHA256: hex.EncodeToString(sum[:])}
	other, short, gone := right, right, right
	other.SHA256, short.Bytes, gone.Name = hex.EncodeToString(make([]byte, 32)), right.Bytes-1, "gone"
	for _, c := range []struct {
		name string
		from object
		disk batch.Disk
		void bool
		want string // of the error
	}{
		{"right", right, quickDisk{}, false, ""},
		{"other content", other, quickDisk{}, true, "its file has 700 bytes"},
		{"other size", short, quickDisk{}, true, "its record says 699"},
		{"gone", gone, quickDisk{}, true, "not on the server any more"},
		{"full disk", right, tornDisk{part: "part"}, false, "no space left on device"},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "part")
		q := &Queue{link: link, brief: batch.Brief{Disk: c.disk}}
		err := q.file(t.Context(), c.from, path)
		var void *voidError
		if (err == nil) != (c.want == "") || errors.As(err, &void) != c.void || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", c.name, err, c.want)
		}
		files := contents(t, dir)
		if c.want == "" && (len(files) != 1 || files["part"] != string(data)) || c.want != "" && len(files) > 0 {
			t.Errorf("%s: there are %.80q", c.name, files)
		}
	}
}

// The process of the batch speaks itself, with a server of its own.
func TestEmbedded(t *testing.T) {
	t.Parallel()
	e := &engine{}
	o := jobOptions(t)
	want := local(t, read(t, batch.Text, story(10)), o)
	var notes []string
	q := queueFor(Server{Patience: 10 * time.Second}, func(x *Options) {
		x.Embed, x.Note = true, func(line string) { notes = append(notes, line) }
		x.Own = &Worker{Name: "own", Model: "fake", Engine: e, Identity: testIdentity, SourceRate: testRate, Jobs: 3}
	})
	r := run(t, read(t, batch.Text, story(10)), o, q)
	if r.Made != 10 || e.spoke.Load() != 10 {
		t.Errorf("%+v, %d spoken", r.Progress, e.spoke.Load())
	}
	equal(t, contents(t, o.Dir), want)
	if len(notes) != 1 || !strings.HasPrefix(notes[0], "workers connect to nats://127.0.0.1:") {
		t.Errorf("notes are %q", notes)
	}
}

// A batch with a server of its own is interrupted: the same batch goes on from there, and
// another in the same folder is not troubled by what was left.
func TestEmbeddedAgain(t *testing.T) {
	t.Parallel()
	o := jobOptions(t)
	e := &engine{delay: 5 * time.Millisecond}
	queue := func() *Queue {
		return queueFor(Server{Patience: 10 * time.Second}, func(x *Options) {
			x.Embed = true
			x.Own = &Worker{Name: "own", Model: "fake", Engine: e, Identity: testIdentity, SourceRate: testRate, Jobs: 2}
		})
	}
	interrupt := func(text string) {
		t.Helper()
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		stopped := o
		stopped.Done = func(*batch.Record) { cancel() }
		if _, err := try(ctx, read(t, batch.Text, text), stopped, queue()); !errors.Is(err, context.Canceled) {
			t.Fatal(err)
		}
	}
	interrupt(story(10))
	if r := run(t, read(t, batch.Text, story(10)), o, queue()); r.Made+r.Kept != 10 {
		t.Errorf("%+v", r.Progress)
	}
	interrupt(strings.ReplaceAll(story(10), "Line", "Row"))
	other := strings.ReplaceAll(story(4), "Line", "Verse")
	before := e.calls.Load()
	o.Dir += "2"
	want := local(t, read(t, batch.Text, other), o)
	run(t, read(t, batch.Text, other), o, queue())
	if n := e.calls.Load() - before; n != 4 {
		t.Errorf("%d items were spoken, want 4", n)
	}
	equal(t, contents(t, o.Dir), want)
}

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
	taken := make(chan struct{}, 10)
	for range 4 { // more often than it may be begun
		e := &engine{delay: time.Hour}
		h := employ(t, at(server.Addr()), e, one)
		for e.calls.Load() == 0 {
			if len(done) > 0 {
				t.Fatalf("the job has ended: %v", <-done)
			}
			time.Sleep(time.Millisecond)
		}
		h.hurry()
		if err := h.stop(); err != nil {
			t.Error(err)
		}
	}
	last := &engine{on: func(string) error { taken <- struct{}{}; return nil }, delay: 50 * time.Millisecond}
	h := employ(t, at(server.Addr()), last, one)
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

// However many items a job has, it holds little more than their texts. MYNAH_SOAK makes it
// ten thousand.
func TestManyItems(t *testing.T) {
	n := 300
	if os.Getenv("MYNAH_SOAK") != "" {
		n = 10_000
	}
	server := natsServer(t)
	for range 2 {
		employ(t, at(server.Addr()), &engine{}, func(w *Worker) { w.Jobs = 8 })
	}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	o := jobOptions(t)
	o.Format = audio.PCM
	done, early := 0, int64(0)
	o.Done = func(*batch.Record) {
		if done++; done == n/3 {
			early = heap()
		}
	}
	begun := time.Now()
	r := run(t, read(t, batch.Text, story(n)), o, queueFor(at(server.Addr()), nil))
	if r.Made != n {
		t.Fatalf("%+v", r.Progress)
	}
	late := heap()
	if late-early > int64(n)*8192 {
		t.Errorf("%d items more took %d bytes", n-n/3, late-early)
	}
	t.Logf("%d items in %v: heap of %d KiB after a third, %d KiB at the end, with server and workers", n, time.Since(begun), early>>10, late>>10)
	empty(t, at(server.Addr()))
}

// What a worker asks of a server that has gone ends when the worker has been idle for as long
// as it may, and not while it has something to do.
func TestUntilIdle(t *testing.T) {
	s := &shift{Worker: &Worker{Idle: time.Millisecond}, busy: map[string]int{}, latest: time.Now()}
	s.start("a job")
	ctx, stop := s.untilIdle(t.Context())
	defer stop()
	time.Sleep(20 * time.Millisecond)
	if ctx.Err() != nil {
		t.Error("it ended while the worker was busy")
	}
	s.end("a job")
	<-ctx.Done()
}
