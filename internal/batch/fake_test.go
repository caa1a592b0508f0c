package batch

import (
	"context"
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
	"sync/atomic"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/internal/text"
	"github.com/mynah-tts/mynah/synth"
)

func TestMain(m *testing.M) {
	log.SetOutput(io.Discard) // see readFLAC
	os.Exit(m.Run())
}

const (
	fakeRate  = 24000
	fakeFrame = 1920
)

// fakeEngine speaks every text as a tone that seed and text decide, a segment for each
// sentence. Words in capitals make it misbehave.
type fakeEngine struct {
	calls atomic.Int64
	delay time.Duration // of each stream
	hold  chan struct{} // if not nil, nothing is spoken before it is closed
}

func (e *fakeEngine) Speak(ctx context.Context, r synth.Request) (Stream, error) {
	e.calls.Add(1)
	if e.hold != nil {
		select {
		case <-e.hold:
		case <-ctx.Done():
		}
	}
	switch {
	case strings.Contains(r.Text, "REFUSE"):
		return nil, &synth.RequestError{Param: "voice", Message: "there is no such voice"}
	case strings.Contains(r.Text, "CLOSED"):
		return nil, synth.ErrClosed
	}
	return &fakeStream{engine: e, ctx: ctx, request: r, left: script(r), began: time.Now()}, nil
}

type fakeStream struct {
	engine  *fakeEngine
	ctx     context.Context
	request synth.Request
	left    []synth.Event
	began   time.Time
}

func (s *fakeStream) Close() error { return nil }

func (s *fakeStream) Next() (synth.Event, error) {
	if s.ctx.Err() != nil {
		return synth.Done{FinishReason: synth.FinishCancelled}, nil
	}
	time.Sleep(s.engine.delay)
	if len(s.left) == 0 {
		return nil, io.EOF
	}
	e := s.left[0]
	s.left = s.left[1:]
	if done, ok := e.(synth.Done); ok && strings.Contains(s.request.Text, "BREAK") {
		return nil, fmt.Errorf("synth: codec: broken behind %d frames", done.Frames)
	}
	return e, nil
}

// script is all that a stream says.
func script(r synth.Request) []synth.Event {
	h := fnv.New64a()
	fmt.Fprint(h, r.Text, r.Voice)
	noise := rand.New(rand.NewPCG(uint64(*r.Seed), h.Sum64()))
	events := []synth.Event{synth.Start{Seed: *r.Seed, Voice: "fake", SampleRate: fakeRate}}
	done := synth.Done{FinishReason: synth.FinishStop, Seed: *r.Seed, Elapsed: time.Millisecond}
	if strings.Contains(r.Text, "CUT") && (*r.Seed%3 != 0 || strings.Contains(r.Text, "ALWAYS")) {
		done.FinishReason = synth.FinishLength
	}
	audioOf := func(n int, level float64, codes []int32) {
		pcm := make([]float32, n)
		hz := 100 + 400*noise.Float64()
		for i := range pcm {
			pcm[i] = float32(level * math.Sin(2*math.Pi*hz*float64(i)/fakeRate))
		}
		if strings.Contains(r.Text, "NAN") {
			pcm[n/2] = float32(math.NaN())
		}
		events = append(events, synth.Audio{Frame: done.Frames, PCM: pcm, Codes: codes})
		done.Samples += n
	}
	for i, sentence := range text.Sentences(r.Text) {
		if gap := int(math.Round(r.Gap.Seconds() * fakeRate)); i > 0 && gap > 0 {
			audioOf(gap, 0, nil)
		}
		sentence = strings.TrimSpace(sentence)
		events = append(events, synth.Segment{Index: i, Text: sentence, Frame: done.Frames})
		n := 2 + noise.IntN(4)
		for f := range n {
			level := 0.1 + 0.4*noise.Float64()
			if f == n-1 {
				level = 0.001 // a tail of murmur
			}
			audioOf(fakeFrame, level, []int32{1})
			done.Frames++
		}
		events = append(events, synth.SegmentDone{Index: i, Text: sentence, Frames: n, FinishReason: synth.FinishStop})
		done.Segments++
	}
	done.Audio = time.Duration(done.Samples) * time.Second / fakeRate
	return append(events, done)
}

// options are those of a test's job.
func options(dir string) Options {
	return Options{Dir: dir, SourceRate: fakeRate, Format: audio.WAV, Jobs: 4, Identity: Identity{Model: "fake"}, Disk: quickDisk{}}
}

// read is Read of a text.
func read(t *testing.T, form Form, content string) *Input {
	t.Helper()
	in, err := Read(strings.NewReader(content), form)
	if err != nil {
		t.Fatal(err)
	}
	return in
}

// do runs a job of an input.
func do(t *testing.T, in *Input, o Options, e *fakeEngine) *Result {
	t.Helper()
	r, err := try(in, o, e)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func try(in *Input, o Options, e *fakeEngine) (*Result, error) {
	j, err := NewJob(in, o)
	if err != nil {
		return nil, err
	}
	return j.Run(context.Background(), e)
}

// contents are the files of a folder, without what differs from run to run.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		name, _ := filepath.Rel(dir, path)
		all[name] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := all[ManifestName]; ok {
		records, _, err := readManifest(dir)
		if err != nil {
			t.Fatal(err)
		}
		var plain []*Record
		for i := range records {
			records[i].RTF = 0
			plain = append(plain, &records[i])
		}
		data, err := content(plain)
		if err != nil {
			t.Fatal(err)
		}
		all[ManifestName] = string(data)
	}
	return all
}

// equal compares folders.
func equal(t *testing.T, what string, got, want map[string]string) {
	t.Helper()
	for name := range want {
		if _, ok := got[name]; !ok {
			t.Errorf("%s: %s is missing", what, name)
		} else if got[name] != want[name] {
			t.Errorf("%s: %s differs:\n%.2000s\nwant\n%.2000s", what, name, got[name], want[name])
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			t.Errorf("%s: %s should not be there", what, name)
		}
	}
}

// quickDisk is the operating system's without waiting for the platters.
type quickDisk struct{}

type quickFile struct{ *os.File }

func (quickFile) Sync() error { return nil }

func (quickDisk) Open(path string, flag int) (File, error) {
	f, err := os.OpenFile(path, flag, 0o666)
	return quickFile{f}, err
}
func (quickDisk) Rename(from, to string) error { return os.Rename(from, to) }
func (quickDisk) SyncDir(string) error         { return nil }
func (quickDisk) Sink(path string, rate int, format audio.Format) (audio.Sink, error) {
	return audio.CreateEncoder(path, rate, audio.Encoding{Format: format, SampleRate: rate})
}

// plainDisk does not wait for the audio files either.
type plainDisk struct{ quickDisk }

type plainSink struct {
	audio.Sink
	file *os.File
}

func (s plainSink) Close() error { return errors.Join(s.Sink.Close(), s.file.Close()) }
func (s plainSink) Abort() error { return errors.Join(s.Sink.Abort(), s.file.Close()) }

func (plainDisk) Sink(path string, rate int, format audio.Format) (audio.Sink, error) {
	f, err := os.Create(path)
	if err != nil {
		return nil, err
	}
	s, err := audio.NewStream(f, format, rate)
	return plainSink{s, f}, err
}

// failingDisk fails for good from one of its operations on: a full disk, or a machine that
// was switched off there.
type failingDisk struct {
	plainDisk
	left *atomic.Int64 // operations that go well
	torn bool          // the failing one is done by half
}

var errFull = errors.New("no space left on device")

func (d failingDisk) fails() bool { return d.left.Add(-1) < 0 }

func (d failingDisk) Open(path string, flag int) (File, error) {
	if d.fails() {
		return nil, &os.PathError{Op: "open", Path: path, Err: errFull}
	}
	f, err := d.plainDisk.Open(path, flag)
	return failingFile{f, d}, err
}

func (d failingDisk) Rename(from, to string) error {
	if d.fails() {
		return &os.LinkError{Op: "rename", Old: from, New: to, Err: errFull}
	}
	return d.plainDisk.Rename(from, to)
}

func (d failingDisk) Sink(path string, rate int, format audio.Format) (audio.Sink, error) {
	if d.fails() {
		return nil, &os.PathError{Op: "open", Path: path, Err: errFull}
	}
	s, err := d.plainDisk.Sink(path, rate, format)
	return failingSink{s, d}, err
}

type failingFile struct {
	File
	disk failingDisk
}

func (f failingFile) Truncate(size int64) error {
	if f.disk.left.Load() < 0 { // a machine that is off repairs nothing
		return errFull
	}
	return f.File.Truncate(size)
}

func (f failingFile) WriteAt(p []byte, at int64) (int, error) {
	if f.disk.fails() {
		n := 0
		if f.disk.torn {
			n, _ = f.File.WriteAt(p[:len(p)/2], at)
		}
		return n, &os.PathError{Op: "write", Path: "x", Err: errFull}
	}
	return f.File.WriteAt(p, at)
}

func (f failingFile) Write(p []byte) (int, error) {
	if f.disk.fails() {
		return 0, &os.PathError{Op: "write", Path: "x", Err: errFull}
	}
	return f.File.Write(p)
}

type failingSink struct {
	audio.Sink
	disk failingDisk
}

func (s failingSink) Write(samples []float32) error {
	if s.disk.fails() {
		return fmt.Errorf("audio: x: %w", errFull)
	}
	return s.Sink.Write(samples)
}

func (s failingSink) Close() error {
	if s.disk.fails() {
		return fmt.Errorf("audio: x: %w", errFull)
	}
	return s.Sink.Close()
}
