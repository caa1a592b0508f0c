package fleet

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime"
	"strings"
	"sync"
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
		hands = append(hands, employ(t, at(server.Addr()), e, briefly))
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
	cut := employ(t, at("nats://"+p.Addr().String()), slow, func(w *Worker) { w.Jobs, w.Lease = 1, MinLease })
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
	employ(t, at(server.Addr()), other, briefly)
	for range 8 { // the one that the frozen worker has is made by the other, too
		select {
		case <-collected:
		case err := <-done:
			t.Fatalf("the job has ended: %v", err)
		}
	}
	p.frozen.Store(false)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if n := other.spoke.Load(); n < 8 {
		t.Errorf("the other worker has made %d, want 8 at least", n)
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
	for range 2 { // an order may be on its way when the server goes
		employ(t, at(server.Addr()), e, briefly)
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
			again, err := StartServer(address, dir, "")
			if err != nil {
				t.Error(err)
				return
			}
			t.Cleanup(again.Stop)
			server = again
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
		me = employ(t, at(server.Addr()), e, briefly)
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
	// On a machine that is slow enough the short lease runs out while a worker is at work, and
	// then it is another beginning that was lost.
	const givenUp = "it was given up: it was begun 3 times, and never came to an end"
	want := []string{"2: codec: broken (in each of 3 tries)", "3: " + givenUp, "5: voice: there is no such voice"}
	if len(problems) > 0 && problems[0] == "2: "+givenUp {
		want[0] = problems[0]
	}
	if strings.Join(problems, "\n") != strings.Join(want, "\n") || r.Made != 2 {
		t.Errorf("%d made, problems are\n%s\nwant\n%s", r.Made, strings.Join(problems, "\n"), strings.Join(want, "\n"))
	}
	mu.Lock()
	defer mu.Unlock()
	if deaths == 0 {
		t.Error("no worker died")
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
	ordered, made := orders(t, at(server.Addr())), 0
	o.Done = func(*batch.Record) {
		if made++; made == 3 { // when all are ordered
			until(t, "20 orders", func() bool { return ordered() == 20 })
			cancel()
		}
	}
	r, err := try(ctx, read(t, batch.Text, story(20)), o, queueFor(at(server.Addr()), nil))
	if !errors.Is(err, context.Canceled) || r.Made < 3 || r.Made == 20 {
		t.Fatalf("%v %+v", err, r)
	}
	until(t, "20 items that are spoken", func() bool { return e.spoke.Load() == 20 })
	o.Done = nil
	if r := run(t, read(t, batch.Text, story(20)), o, queueFor(at(server.Addr()), nil)); r.Made+r.Kept != 20 {
		t.Errorf("%+v", r.Progress)
	}
	if n := e.spoke.Load(); n != 20 {
		t.Errorf("%d items were spoken, want 20", n)
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
