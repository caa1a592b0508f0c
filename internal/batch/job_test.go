package batch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/internal/batch/loudness"
)

const story = "One fish. Two fish.\nRed fish is here and there.\n9\nBlue fish, old fish. New fish! Who?\nOne fish. Two fish.\n"

// clip reads a WAV.
func clip(t *testing.T, path string) *audio.Clip {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	c, err := audio.ReadWAV(f, audio.Limits{Bytes: 1 << 30, Seconds: 1e5})
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// Files hold what the manifest says, to the sample, and as many jobs as one likes make the
// same.
func TestFilesDoNotDependOnJobs(t *testing.T) {
	goal := -20.0
	for _, c := range []struct {
		name   string
		change func(*Options)
	}{
		{"plain", func(*Options) {}},
		{"flac at 16 kHz", func(o *Options) { o.Format, o.SampleRate = audio.FLAC, 16000 }},
		{"mp3", func(o *Options) { o.Format = audio.MP3 }},
		{"pcm at another speed", func(o *Options) { o.Format, o.Speed = audio.PCM, 1.5 }},
		{"everything", func(o *Options) {
			o.Loudness, o.Trim, o.Captions, o.SampleRate, o.Speed, o.Request.Gap = &goal, true, SRT, 48000, 0.8, 250*time.Millisecond
		}},
	} {
		var want map[string]string
		for _, jobs := range []int{1, 4} {
			o := options(filepath.Join(t.TempDir(), "out"))
			c.change(&o)
			o.Jobs = jobs
			r := do(t, read(t, Text, story), o, &fakeEngine{})
			if r.Made != 5 || r.Failed != 0 {
				t.Fatalf("%s: %+v", c.name, r.Progress)
			}
			got := contents(t, o.Dir)
			if jobs == 1 {
				want = got
				checkManifest(t, o)
				continue
			}
			equal(t, c.name, got, want)
		}
	}
}

// checkManifest compares the manifest with the files.
func checkManifest(t *testing.T, o Options) {
	t.Helper()
	records, _, err := readManifest(o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range records {
		info, err := os.Stat(filepath.Join(o.Dir, r.File))
		if err != nil || info.Size() != r.Bytes {
			t.Errorf("%s: %v, the manifest says %d bytes", r.File, err, r.Bytes)
			continue
		}
		if o.Format == audio.WAV || o.Format == "" {
			c := clip(t, filepath.Join(o.Dir, r.File))
			if int64(len(c.Samples)) != r.Samples || c.Rate != r.SampleRate || r.Bytes != 44+2*r.Samples {
				t.Errorf("%s: %d samples of %d Hz, the manifest says %d of %d", r.File, len(c.Samples), c.Rate, r.Samples, r.SampleRate)
			}
		}
		last := 0.0
		for _, s := range r.Segments {
			if s.Start < last || s.End < s.Start || s.End > r.Duration {
				t.Errorf("%s: segment from %v to %v behind %v of %v", r.File, s.Start, s.End, last, r.Duration)
			}
			last = s.End
		}
	}
}

// Segments lie where their samples are.
func TestSegmentTimes(t *testing.T) {
	o := options(t.TempDir())
	o.Request.Gap, o.Captions = 100*time.Millisecond, VTT
	do(t, read(t, Text, "One <fish> & water. Two fish."), o, &fakeEngine{})
	records, _, err := readManifest(o.Dir)
	if err != nil || len(records) != 1 || len(records[0].Segments) != 2 {
		t.Fatalf("%+v, %v", records, err)
	}
	c := clip(t, filepath.Join(o.Dir, "0001.wav"))
	s := records[0].Segments
	from, to := int(math.Round(s[0].End*fakeRate)), int(math.Round(s[1].Start*fakeRate))
	if to-from != 2400 || from%fakeFrame != 0 {
		t.Errorf("the gap is from sample %d to %d", from, to)
	}
	for i := from; i < to; i++ {
		if c.Samples[i] != 0 {
			t.Fatalf("sample %d is in the gap and not 0", i)
		}
	}
	data, _ := os.ReadFile(filepath.Join(o.Dir, "0001.vtt"))
	if !strings.HasPrefix(string(data), "WEBVTT\n\n1\n00:00:00.000 --> ") || !strings.Contains(string(data), "One &lt;fish&gt; &amp; water.") {
		t.Errorf("captions are\n%s", data)
	}
}

func TestStamp(t *testing.T) {
	for seconds, want := range map[float64]string{0: "00:00:00,000", 0.0004: "00:00:00,000", 59.9996: "00:01:00,000", 3661.5: "01:01:01,500", 360000: "100:00:00,000"} {
		if got := stamp(seconds, ','); got != want {
			t.Errorf("%v s is %s, want %s", seconds, got, want)
		}
	}
}

func TestLoudnessReached(t *testing.T) {
	for _, goal := range []float64{-30, -16, -8} {
		o := options(t.TempDir())
		o.Loudness = &goal
		do(t, read(t, Text, strings.Repeat("One fish and more. ", 20)), o, &fakeEngine{})
		records, _, _ := readManifest(o.Dir)
		l := records[0].Loudness
		c := clip(t, filepath.Join(o.Dir, "0001.wav"))
		m, p := loudness.NewMeter(c.Rate), loudness.Peak{}
		m.Write(c.Samples)
		p.Write(c.Samples)
		got, peak := m.Integrated(), loudness.Decibels(p.Value())
		if math.Abs(got-l.After) > 0.02 || peak > peakCeiling+0.02 || !l.Limited && math.Abs(got-goal) > 0.02 {
			t.Errorf("goal %g: %.2f LUFS, true peak %.2f dB, the manifest says %+v", goal, got, peak, *l)
		}
	}
}

func TestTrimKeepsSound(t *testing.T) {
	for _, c := range []struct {
		name                string
		lead, loud, tail    int
		level               float32
		wantLead, wantAfter int
	}{
		{"both ends", 24000, 24000, 24000, 0.5, 24000 - 1200, 24000 - 1200 + 1200 + 24000 + 2400},
		{"no silence", 0, 24000, 0, 0.5, 0, 24000},
		{"little silence", 100, 24000, 100, -1, 0, 24200},
		{"silence alone", 24000, 0, 0, 0, 0, 24000},
		{"one sample", 5000, 1, 5000, -1, 5000 - 1200, 5001 + 2400},
		{"murmur", 24000, 24000, 0, 0.002, 0, 48000},
	} {
		s, err := openSpool(quickDisk{}, filepath.Join(t.TempDir(), "spool"))
		if err != nil {
			t.Fatal(err)
		}
		samples := make([]float32, c.lead+c.loud+c.tail)
		for i := range c.loud {
			samples[c.lead+i] = c.level
		}
		for rest := samples; len(rest) > 0; rest = rest[min(777, len(rest)):] {
			if err := s.write(rest[:min(777, len(rest))]); err != nil {
				t.Fatal(err)
			}
		}
		from, to := s.trimmed(24000)
		if from != int64(c.wantLead) || to != int64(c.wantAfter) {
			t.Errorf("%s: %d to %d, want %d to %d", c.name, from, to, c.wantLead, c.wantAfter)
		}
		at := from
		err = s.read(from, to, func(block []float32) error {
			for _, x := range block {
				if x != samples[at] {
					return fmt.Errorf("sample %d is %g, was %g", at, x, samples[at])
				}
				at++
			}
			return nil
		})
		if err != nil || at != to {
			t.Errorf("%s: read to %d: %v", c.name, at, err)
		}
		s.close()
	}
}

func TestLock(t *testing.T) {
	o := options(t.TempDir())
	slow := &fakeEngine{hold: make(chan struct{})}
	in, done := read(t, Text, story), make(chan error, 1)
	go func() {
		_, err := try(in, o, slow)
		done <- err
	}()
	for begun := time.Now(); slow.calls.Load() == 0; time.Sleep(time.Millisecond) {
		if len(done) > 0 {
			t.Fatalf("the first run has spoken nothing: %v", <-done)
		}
		if time.Since(begun) > 30*time.Second {
			t.Fatal("the first run does not speak")
		}
	}
	_, err := try(read(t, Text, story), o, &fakeEngine{})
	close(slow.hold)
	if err == nil || !strings.Contains(err.Error(), "another run is at work in "+o.Dir) {
		t.Errorf("a second run: %v", err)
	}
	if err := <-done; err != nil {
		t.Error(err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, workName)); err == nil {
		t.Error("the folder of work is still there")
	}
}

func TestInterrupted(t *testing.T) {
	o := options(t.TempDir())
	ctx, cancel := context.WithCancel(context.Background())
	o.Done = func(*Record) { cancel() }
	o.Jobs = 1
	j, err := NewJob(read(t, Text, story), o)
	if err != nil {
		t.Fatal(err)
	}
	r, err := j.Run(ctx, &fakeEngine{})
	if !errors.Is(err, context.Canceled) || r.Made != 1 {
		t.Fatalf("%v %+v", err, r)
	}
	if r := do(t, read(t, Text, story), o, &fakeEngine{}); r.Made != 4 || r.Kept != 1 {
		t.Errorf("%+v", r.Progress)
	}
}

const bookText = "# Book\n\nIntro.\n\n## One\n\nFirst. Second.\n\n## Two\n\nThird.\n"

// The joined file is the chapters with silence between, to the bit.
func TestJoined(t *testing.T) {
	o := options(t.TempDir())
	o.ChapterGap, o.Captions = time.Second/3, VTT
	in := func(s string) *Input {
		in := read(t, Markdown, s)
		in.Book = "The Book"
		return in
	}
	e := &fakeEngine{}
	r := do(t, in(bookText), o, e)
	if r.Joined == nil || r.Joined.Error != "" || len(r.Joined.Chapters) != 3 {
		t.Fatalf("%+v", r)
	}
	joined := clip(t, filepath.Join(o.Dir, "The_Book.wav")).Samples
	var want []float32
	for i, name := range []string{"01-book.wav", "02-one.wav", "03-two.wav"} {
		if i > 0 {
			want = append(want, make([]float32, 8000)...)
		}
		want = append(want, clip(t, filepath.Join(o.Dir, name)).Samples...)
	}
	if len(joined) != len(want) {
		t.Fatalf("%d samples, want %d", len(joined), len(want))
	}
	for i := range want {
		if joined[i] != want[i] {
			t.Fatalf("sample %d is %g, want %g", i, joined[i], want[i])
		}
	}
	if r := do(t, in(bookText), o, e); !r.Nothing || r.Joined == nil {
		t.Errorf("a second run did something: %+v", r)
	}
	for _, format := range []audio.Format{audio.MP3, audio.FLAC, audio.PCM} { // only the changed chapter is made again
		o.Dir, o.Format = t.TempDir(), format
		do(t, in(bookText), o, e)
		before := e.calls.Load()
		r := do(t, in(bookText+"More.\n"), o, e)
		if n := e.calls.Load() - before; n != 1 || r.Joined == nil || r.Nothing {
			t.Errorf("%s: %d chapters were made, joined %+v", format, n, r.Joined)
		}
		fresh := o
		fresh.Dir = t.TempDir()
		do(t, in(bookText+"More.\n"), fresh, e)
		equal(t, string(format), contents(t, o.Dir), contents(t, fresh.Dir))
	}
	o.Dir = t.TempDir()
	if r := do(t, in(bookText+"\nNAN\n"), o, e); r.Joined != nil || len(r.Failures) != 1 {
		t.Errorf("a book with a bad chapter: %+v", r)
	}
}

// Wherever a disk is full or a machine is switched off: the error is the job's, and the
// next run with a good disk leaves the folder as an undisturbed one does. The job here
// has moves, replacements, captions and a joined file.
func TestEveryFailureIsRepaired(t *testing.T) {
	const before, after = bookText, "# Book\n\nIntro.\n\n## New\n\nNew. Text.\n\n## One\n\nFirst. Second.\n\n## Two\n\nChanged.\n"
	in := func(s string) *Input {
		in := read(t, Markdown, s)
		in.Book = "b"
		return in
	}
	set := func(dir string) Options {
		o := options(dir)
		o.Captions, o.Jobs, o.Disk = SRT, 2, plainDisk{}
		return o
	}
	clean := set(t.TempDir())
	do(t, in(before), clean, &fakeEngine{})
	do(t, in(after), clean, &fakeEngine{})
	want := contents(t, clean.Dir)
	for _, torn := range []bool{false, true} {
		failures := 0
		for n := int64(0); ; n += 1 + n/25 {
			o := set(t.TempDir())
			do(t, in(before), o, &fakeEngine{})
			bad := o
			left := &atomic.Int64{}
			left.Store(n)
			bad.Disk = failingDisk{left: left, torn: torn}
			_, err := try(in(after), bad, &fakeEngine{})
			if err == nil {
				break
			}
			var disk *diskError
			if !errors.As(err, &disk) || !strings.Contains(err.Error(), "no space left") {
				t.Fatalf("after %d operations: %v", n, err)
			}
			failures++
			do(t, in(after), o, &fakeEngine{})
			equal(t, fmt.Sprintf("after %d operations (torn %v)", n, torn), contents(t, o.Dir), want)
			if t.Failed() {
				return
			}
		}
		if failures < 20 {
			t.Errorf("only %d failures", failures)
		}
	}
}

// Ten thousand items take no more memory than their texts and lines.
func TestManyItems(t *testing.T) {
	n := 10_000
	if testing.Short() {
		n = 1000
	}
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "%d\n", i)
	}
	o := options(t.TempDir())
	o.Jobs, o.Format, o.Disk = 8, audio.PCM, plainDisk{}
	heap := func() int64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	done, early := 0, int64(0)
	o.Done = func(*Record) {
		if done++; done == n/10 {
			early = heap()
		}
	}
	r := do(t, read(t, Text, b.String()), o, &fakeEngine{})
	if r.Made != n {
		t.Fatalf("%+v", r.Progress)
	}
	late := heap()
	if late-early > int64(n)*4096 {
		t.Errorf("%d items more took %d bytes", n-n/10, late-early)
	}
	begun := time.Now()
	if r := do(t, read(t, Text, b.String()), o, &fakeEngine{}); !r.Nothing {
		t.Errorf("a second run did something: %+v", r.Progress)
	}
	t.Logf("%d items: heap of %d KiB after a tenth, %d KiB at the end; the second run took %v", n, early>>10, late>>10, time.Since(begun))
}

func TestManifestIsChecked(t *testing.T) {
	o := options(t.TempDir())
	do(t, read(t, Text, story), o, &fakeEngine{})
	path := filepath.Join(o.Dir, ManifestName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, content, problem string }{
		{"a torn line", string(whole) + `{"index":6,"fi`, ""},
		{"a broken line at the end", string(whole) + "\x01\x02\n", ""},
		{"a broken line before others", "x\n" + string(whole), "line 1: no line of a manifest"},
		{"a path", `{"index":1,"file":"../x.wav"}` + "\n", `line 1: "../x.wav" is no file of the folder`},
		{"captions elsewhere", `{"index":1,"file":"0001.wav","captions":"../x.srt"}` + "\n", `line 1: "../x.srt" is no file of the folder`},
		{"hidden captions", `{"index":1,"file":"0001.wav","captions":"..","digest":""}` + "\n", "is no file of the folder"},
		{"a hidden file", `{"index":1,"file":".mynah-batch"}` + "\n", "is no file of the folder"},
	} {
		if err := os.WriteFile(path, []byte(c.content), 0o666); err != nil {
			t.Fatal(err)
		}
		r, err := try(read(t, Text, story), o, &fakeEngine{})
		if c.problem == "" && (err != nil || !r.Nothing) || c.problem != "" && (err == nil || !strings.Contains(err.Error(), c.problem)) {
			t.Errorf("%s: %v, want %q", c.name, err, c.problem)
		}
	}
}

func TestOptionsAreChecked(t *testing.T) {
	low, nan := -41.0, math.NaN()
	for want, change := range map[string]func(*Options){
		"loudness is -41 LUFS, allowed are -40 to -5": func(o *Options) { o.Loudness = &low },
		"loudness is NaN LUFS":                        func(o *Options) { o.Loudness = &nan },
		"jobs are 0, allowed are 1 to 64":             func(o *Options) { o.Jobs = 0 },
		"jobs are 65":                                 func(o *Options) { o.Jobs = 65 },
		"retries are -1, allowed are 0 to 20":         func(o *Options) { o.RetryCut = -1 },
		"chapter gap is -1s, allowed are 0 to 1m0s":   func(o *Options) { o.ChapterGap = -time.Second },
		"seed is -1":                                  func(o *Options) { o.Seed = -1 },
		"captions are \"ass\"":                        func(o *Options) { o.Captions = "ass" },
		"audio: mp3 at 44000 Hz":                      func(o *Options) { o.Format, o.SampleRate = audio.MP3, 44000 },
	} {
		o := options(t.TempDir())
		change(&o)
		if _, err := NewJob(read(t, Text, "One."), o); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
}
