package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"log"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/nats-io/nats.go/jetstream"
	"go.uber.org/goleak"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/internal/batch"
	"github.com/mynah-tts/mynah/internal/text"
	"github.com/mynah-tts/mynah/synth"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // the FLAC decoder's notes
	goleak.VerifyTestMain(m)
}

const testRate = 24000

// engine speaks every text as tones that seed and text decide, a segment for each sentence.
type engine struct {
	calls atomic.Int64
	spoke atomic.Int64  // calls that came to their end
	delay time.Duration // of each segment
	on    func(text string) error
}

func (e *engine) Speak(ctx context.Context, r synth.Request) (batch.Stream, error) {
	e.calls.Add(1)
	if strings.Contains(r.Text, "REFUSE") {
		return nil, &synth.RequestError{Param: "voice", Message: "there is no such voice"}
	}
	return &stream{engine: e, ctx: ctx, text: r.Text, left: script(r)}, nil
}

type stream struct {
	engine *engine
	ctx    context.Context
	text   string
	left   []synth.Event
}

func (s *stream) Close() error { return nil }

func (s *stream) Next() (synth.Event, error) {
	e := s.left[0]
	s.left = s.left[1:]
	if _, ok := e.(synth.Segment); ok {
		rest(s.ctx, s.engine.delay)
		if s.engine.on != nil {
			if err := s.engine.on(s.text); err != nil {
				return nil, err
			}
		}
	}
	if s.ctx.Err() != nil {
		return synth.Done{FinishReason: synth.FinishCancelled}, nil
	}
	if _, ok := e.(synth.Done); ok {
		s.engine.spoke.Add(1)
	}
	return e, nil
}

func script(r synth.Request) []synth.Event {
	h := fnv.New64a()
	fmt.Fprint(h, r.Text, r.Voice)
	noise := rand.New(rand.NewPCG(uint64(*r.Seed), h.Sum64()))
	events := []synth.Event{synth.Start{Seed: *r.Seed, Voice: "fake", SampleRate: testRate}}
	done := synth.Done{FinishReason: synth.FinishStop, Seed: *r.Seed, Elapsed: time.Millisecond}
	if strings.Contains(r.Text, "CUT") && *r.Seed%3 != 0 {
		done.FinishReason = synth.FinishLength
	}
	for i, sentence := range text.Sentences(r.Text) {
		sentence = strings.TrimSpace(sentence)
		events = append(events, synth.Segment{Index: i, Text: sentence, Frame: done.Frames})
		n := 2 + noise.IntN(3)
		for range n {
			pcm := make([]float32, 1920)
			hz, level := 100+400*noise.Float64(), 0.1+0.4*noise.Float64()
			for i := range pcm {
				pcm[i] = float32(level * math.Sin(2*math.Pi*hz*float64(i)/testRate))
			}
			events = append(events, synth.Audio{Frame: done.Frames, PCM: pcm, Codes: []int32{1}})
			done.Frames++
		}
		events = append(events, synth.SegmentDone{Index: i, Text: sentence, Frames: n, FinishReason: synth.FinishStop})
	}
	return append(events, done)
}

var testIdentity = batch.Identity{
	Model: "0123456789abcdef", Precision: synth.Float32Precision, Level: "generic", Version: "test",
}

// story is lines of text.
func story(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "Line number %d is here.\n", i+1)
	}
	return b.String()
}

func read(t *testing.T, form batch.Form, content string) *batch.Input {
	t.Helper()
	in, err := batch.Read(strings.NewReader(content), form)
	if err != nil {
		t.Fatal(err)
	}
	if form == batch.Markdown {
		in.Book = "Book"
	}
	return in
}

func jobOptions(t *testing.T) batch.Options {
	return batch.Options{Dir: filepath.Join(t.TempDir(), "out"), SourceRate: testRate, Format: audio.WAV, Jobs: 4, Identity: testIdentity, Disk: quickDisk{}}
}

// quickDisk is the operating system's without waiting for the platters.
type quickDisk struct{}

type quickFile struct{ *os.File }

func (quickFile) Sync() error { return nil }

func (quickDisk) Open(path string, flag int) (batch.File, error) {
	f, err := os.OpenFile(path, flag, 0o666)
	return quickFile{f}, err
}
func (quickDisk) Rename(from, to string) error { return os.Rename(from, to) }
func (quickDisk) SyncDir(string) error         { return nil }
func (quickDisk) Sink(path string, rate int, format audio.Format) (audio.Sink, error) {
	return audio.CreateEncoder(path, rate, audio.Encoding{Format: format, SampleRate: rate})
}

// local is what a run without a fleet makes.
func local(t *testing.T, in *batch.Input, o batch.Options) map[string]string {
	t.Helper()
	o.Dir, o.Done = filepath.Join(t.TempDir(), "local"), nil
	j, err := batch.NewJob(in, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Run(context.Background(), &engine{}); err != nil {
		t.Fatal(err)
	}
	return contents(t, o.Dir)
}

// contents are the files of a folder; of the manifest what differs from run to run is left
// out.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		if name == batch.ManifestName {
			var lines []string
			for line := range strings.Lines(string(data)) {
				var r batch.Record
				if err := json.Unmarshal([]byte(line), &r); err != nil {
					return err
				}
				r.RTF = 0
				plain, err := json.Marshal(r)
				if err != nil {
					return err
				}
				lines = append(lines, string(plain))
			}
			data = []byte(strings.Join(lines, "\n"))
		}
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func equal(t *testing.T, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if there, ok := got[name]; !ok {
			t.Errorf("%s is missing", name)
		} else if there != want[name] {
			t.Errorf("%s differs:\n%.1500s\nwant\n%.1500s", name, there, want[name])
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s should not be there", name)
		}
	}
}

// natsServer is a server for a test, in this process.
func natsServer(t *testing.T) *Embedded {
	t.Helper()
	return serverIn(t, "127.0.0.1:0", t.TempDir())
}

func serverIn(t *testing.T, listen, dir string) *Embedded {
	t.Helper()
	s, err := StartServer(listen, dir, "")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Stop)
	return s
}

func at(url string) Server { return Server{URL: url, Patience: 20 * time.Second} }

// hand is a worker of a test.
type hand struct {
	link  *Link
	stop  func() error // lets it finish what it has
	wait  func() error // until it ends by itself
	hurry func()       // has it give back what it has
	kill  func()       // as SIGKILL would: the server hears nothing any more

	told <-chan struct{} // closed when it is told to end
}

// briefly has a worker that is lost be missed soon. A slow machine may take one for lost that
// is not.
func briefly(w *Worker) { w.Lease = MinLease }

// until waits for something, and says what has not come.
func until(t *testing.T, what string, there func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !there(); time.Sleep(2 * time.Millisecond) {
		if time.Now().After(end) {
			t.Errorf("a minute was not enough for %s", what)
			return
		}
	}
}

// orders counts how many orders a server has had.
func orders(t *testing.T, s Server) func() int {
	t.Helper()
	link := connected(t, s)
	return func() int {
		info, err := link.work.Info(t.Context())
		if err != nil {
			t.Error(err)
			return 0
		}
		return int(info.State.LastSeq)
	}
}

// connected is a connection for as long as a test lasts.
func connected(t *testing.T, s Server) *Link {
	t.Helper()
	link, err := s.Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(link.Close)
	return link
}

// employ starts a worker.
func employ(t *testing.T, s Server, e *engine, change func(*Worker)) *hand {
	t.Helper()
	w := Worker{
		Name: fmt.Sprintf("worker-%d", workers.Add(1)), Model: "fake", Engine: e, Identity: testIdentity, SourceRate: testRate, Jobs: 2,
		Dir: filepath.Join(t.TempDir(), "worker"), fetchTime: 100 * time.Millisecond,
	}
	if change != nil {
		change(&w)
	}
	link, err := s.Connect(t.Context(), w.Name)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	hurry, hurryUp := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- link.Work(ctx, hurry, w) }()
	end := sync.OnceValue(func() error {
		cancel()
		err := <-done
		link.Close()
		return err
	})
	h := &hand{link: link, stop: end, told: ctx.Done(), hurry: hurryUp, wait: func() error {
		select {
		case err := <-done:
			done <- err
			return err
		case <-time.After(time.Minute):
			return errors.New("it has not ended after a minute")
		}
	}, kill: func() {
		link.Close() // before anything can be said
		hurryUp()
		cancel()
	}}
	t.Cleanup(func() {
		hurryUp()
		if err := end(); err != nil { // a test that wants to know has asked
			t.Logf("%s: %v", w.Name, err)
		}
	})
	return h
}

var workers atomic.Int64

// queueFor is a queue of a test, which looks at everything more often.
func queueFor(s Server, change func(*Options)) *Queue {
	o := Options{Server: s, Identity: testIdentity}
	if change != nil {
		change(&o)
	}
	q := NewQueue(o)
	q.inspectEvery, q.helloEvery = 300*time.Millisecond, 200*time.Millisecond
	return q
}

// run runs a job over a queue.
func run(t *testing.T, in *batch.Input, o batch.Options, q *Queue) *batch.Result {
	t.Helper()
	r, err := try(t.Context(), in, o, q)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func try(ctx context.Context, in *batch.Input, o batch.Options, q *Queue) (*batch.Result, error) {
	j, err := batch.NewJob(in, o)
	if err != nil {
		return nil, err
	}
	return j.RunBy(ctx, q)
}

// empty checks that nothing is left on a server, but for pieces of files that were on their
// way when it went: those end with their age.
func empty(t *testing.T, s Server) {
	t.Helper()
	leaves(t, s, 0)
}

// leaves wants of no more than so many orders anything left on the server. A worker that is
// killed while it tells its last result may be heard after the job has cleared up; that stays
// until it is too old.
func leaves(t *testing.T, s Server, orders int) {
	t.Helper()
	link, err := s.Connect(t.Context(), "test")
	if err != nil {
		t.Fatal(err)
	}
	defer link.Close()
	for begun := time.Now(); ; time.Sleep(20 * time.Millisecond) { // the last acknowledgement may be on its way
		left := ""
		for _, each := range []struct {
			stream jetstream.Stream
			filter string
		}{{link.work, ">"}, {link.done, ">"}, {link.audio, "$O." + bucket + ".M.>"}} {
			info, err := each.stream.Info(t.Context(), jetstream.WithSubjectFilter(each.filter))
			if err != nil {
				t.Fatal(err)
			}
			const each = 2 // what was begun, and what came of it
			if n := len(info.State.Subjects); n > each*orders {
				left += fmt.Sprintf(" %s has %d subjects", info.Config.Name, n)
			}
		}
		if left == "" {
			return
		}
		if time.Since(begun) > 5*time.Second {
			t.Errorf("left on the server:%s", left)
			return
		}
	}
}

// digestsOf reads the digests of all items from a folder's manifest.
func digestsOf(t *testing.T, folder map[string]string) []string {
	t.Helper()
	var all []string
	for line := range strings.Lines(folder[batch.ManifestName]) {
		var r batch.Record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		all = append(all, r.Digest)
	}
	return all
}
