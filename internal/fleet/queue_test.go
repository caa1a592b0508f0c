package fleet

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

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

// Two jobs share a server and its workers at a time.
func TestTwoJobs(t *testing.T) {
	t.Parallel()
	server := natsServer(t)
	employ(t, at(server.Addr()), &engine{}, nil)
	var all sync.WaitGroup
	for n := range 2 {
		o := jobOptions(t)
		o.Seed = int64(n)
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
	empty(t, at(server.Addr()))
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
	// to the next run.
	o.Dir += "2"
	run(t, read(t, batch.Text, story(8)), o, queueFor(at(server.Addr()), nil))
	equal(t, contents(t, o.Dir), want)
	empty(t, at(server.Addr()))
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
	id, err := j.ID()
	if err != nil {
		t.Fatal(err)
	}
	link, err := (&Server{URL: server.Addr(), Patience: time.Second}).Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	for index, r := range map[int]any{
		1: resultMessage{Digest: "another"}, 2: "no result at all", 3: resultMessage{Digest: digests[2], Record: &batch.Record{SampleRate: testRate}, Audio: object{Name: "gone"}},
	} {
		m, err := pack(doneOf(id, index), r)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := link.js.PublishMsg(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	q := queueFor(at(server.Addr()), nil)
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
