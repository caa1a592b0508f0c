package batch

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/mynah-tts/mynah/synth"
)

// A finished job does nothing, and one whose input has changed does no more than it must.
func TestResume(t *testing.T) {
	o := options(t.TempDir())
	e := &fakeEngine{}
	run := func(form Form, s string, calls int64, moved int) *Result {
		t.Helper()
		before := e.calls.Load()
		r := do(t, read(t, form, s), o, e)
		if got := e.calls.Load() - before; got != calls || r.Moved != moved {
			t.Fatalf("%d items were spoken and %d moved, want %d and %d", got, r.Moved, calls, moved)
		}
		checkManifest(t, o)
		return r
	}
	run(Text, story, 5, 0)
	first := contents(t, o.Dir)
	if r := run(Text, story, 0, 0); !r.Nothing || r.Kept != 5 {
		t.Errorf("a second run did something: %+v", r)
	}
	equal(t, "second run", contents(t, o.Dir), first)

	r := run(Text, "New line.\n"+story, 1, 5) // all others get other numbers
	if r.Nothing {
		t.Error("it says that it did nothing")
	}
	fresh := options(t.TempDir())
	do(t, read(t, Text, "New line.\n"+story), fresh, &fakeEngine{})
	equal(t, "a line put in", contents(t, o.Dir), contents(t, fresh.Dir))

	run(Text, story, 0, 5)
	if err := os.Remove(filepath.Join(o.Dir, "0002.wav")); err != nil {
		t.Fatal(err)
	}
	run(Text, story, 1, 0) // one is missing
	if err := os.Truncate(filepath.Join(o.Dir, "0003.wav"), 100); err != nil {
		t.Fatal(err)
	}
	run(Text, story, 1, 0) // one is half
	o.Captions = SRT
	if r := run(Text, story, 0, 0); r.Nothing { // captions need no speech
		t.Error("it says that it wrote no captions")
	}
	o.Identity.Level = "other"
	run(Text, story, 5, 0)
	o.Request.Voice = "other"
	run(Text, story, 5, 0)
	o.Request.Language = "english"
	run(Text, story, 5, 0)
	o.Request.Language = "EN" // another name of it
	run(Text, story, 0, 0)
	r = run(Text, "9\n", 0, 1)
	if got := fmt.Sprint(r.Stale); got != "[0002.wav 0004.wav 0005.wav]" {
		t.Errorf("stale are %s", got)
	}
	if r := run(Text, "9\n", 0, 0); !r.Nothing {
		t.Error("a second run did something")
	}
}

// One bad item stops no other, and is named.
func TestBadItems(t *testing.T) {
	const input = "One.\nREFUSE this.\n***\nThis is NAN.\nThis will BREAK.\nLast.\n"
	o := options(t.TempDir())
	var told atomic.Int64
	o.Done = func(r *Record) { told.Add(1) }
	r := do(t, read(t, Text, input), o, &fakeEngine{})
	var problems []string
	for _, f := range r.Failures {
		problems = append(problems, fmt.Sprintf("%d: %s", f.Line, f.Error))
	}
	want := []string{
		"2: voice: there is no such voice", `3: input: "***" has no letter and no number, nothing to say`,
		"4: audio: sample 960 is NaN", "5: codec: broken behind",
	}
	for i, w := range want {
		if i >= len(problems) || !strings.HasPrefix(problems[i], w) {
			t.Errorf("problems are %q, want %q", problems, want)
			break
		}
	}
	if r.Made != 2 || r.Failed != 4 || told.Load() != 6 {
		t.Errorf("%+v, %d told", r.Progress, told.Load())
	}
	o.FailFast = true
	o.Dir = t.TempDir()
	o.Jobs = 1
	r = do(t, read(t, Text, "One.\nREFUSE this.\nThree.\n"), o, &fakeEngine{})
	if r.Made != 1 || r.Failed != 1 || r.Finished() != 2 {
		t.Errorf("fail fast: %+v", r.Progress)
	}
	if _, err := try(read(t, Text, "One.\nCLOSED.\nThree.\n"), o, &fakeEngine{}); !errors.Is(err, synth.ErrClosed) {
		t.Errorf("closed: %v", err)
	}
}

func TestRetryCut(t *testing.T) {
	o := options(t.TempDir())
	in := func() *Input { return read(t, Text, "CUT this.\nCUT that.\nCUT ALWAYS.\nNot.\n") }
	r := do(t, in(), o, &fakeEngine{})
	if len(r.CutItems) < 1 || r.Cut != len(r.CutItems) {
		t.Fatalf("%d cut items, %d counted", len(r.CutItems), r.Cut)
	}
	o.RetryCut = 15
	r = do(t, in(), o, &fakeEngine{})
	if len(r.CutItems) != 1 || r.CutItems[0].Index != 3 || r.CutItems[0].Attempts != 16 {
		t.Errorf("cut items are %+v", r.CutItems)
	}
	one := contents(t, o.Dir)
	o.Dir, o.Jobs = t.TempDir(), 1
	do(t, in(), o, &fakeEngine{})
	equal(t, "again", contents(t, o.Dir), one)
	if r := do(t, in(), o, &fakeEngine{}); !r.Nothing || len(r.CutItems) != 1 {
		t.Errorf("a second run: %+v", r)
	}
}

// Files that the job did not make are never written over.
func TestStrangers(t *testing.T) {
	o := options(t.TempDir())
	o.Captions = SRT
	for _, name := range []string{"0002.wav", "0004.srt", "0005.WAV"} {
		if err := os.WriteFile(filepath.Join(o.Dir, name), []byte("mine"), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	r := do(t, read(t, Text, story), o, &fakeEngine{})
	if r.Made != 2 || len(r.Failures) != 3 || !strings.Contains(r.Failures[0].Error, "0002.wav is there and not of this job") {
		t.Fatalf("%+v %+v", r.Progress, r.Failures)
	}
	for name, data := range contents(t, o.Dir) {
		if (data == "mine") != (name == "0002.wav" || name == "0004.srt" || name == "0005.WAV") {
			t.Errorf("%s holds %.20q", name, data)
		}
	}
	if err := os.Remove(filepath.Join(o.Dir, "0002.wav")); err != nil {
		t.Fatal(err)
	}
	if r := do(t, read(t, Text, story), o, &fakeEngine{}); r.Made != 1 || r.Kept != 2 {
		t.Errorf("one out of the way: %+v", r.Progress)
	}
}

// Captions belong to the audio beside them: another form of them takes their place, and
// what a file said before never stands beside what it says now.
func TestCaptionsFollow(t *testing.T) {
	o := options(t.TempDir())
	captions := func() string {
		files, err := filepath.Glob(filepath.Join(o.Dir, "*.[sv]*t"))
		if err != nil {
			t.Fatal(err)
		}
		for i := range files {
			files[i] = filepath.Base(files[i])
		}
		return strings.Join(files, " ")
	}
	for _, c := range []struct {
		form        Form
		text        string
		captions    Captions
		made, there string
	}{
		{Text, "One.\nTwo.\n", SRT, "2", "0001.srt 0002.srt"},
		{Text, "One.\nTwo.\n", VTT, "0", "0001.vtt 0002.vtt"},
		{Text, "One.\nTwo.\n", SRT, "0", "0001.srt 0002.srt"},
		{Text, "One.\nTwo.\n", NoCaptions, "0", "0001.srt 0002.srt"}, // they are still right
		{Text, "One.\nOther.\n", NoCaptions, "1", "0001.srt"},
		{Text, "One.\nOther.\n", VTT, "0", "0001.vtt 0002.vtt"},
	} {
		o.Captions = c.captions
		r := do(t, read(t, c.form, c.text), o, &fakeEngine{})
		if got := captions(); fmt.Sprint(r.Made) != c.made || r.Failed != 0 || got != c.there {
			t.Errorf("%q with captions %q: %d made, %d failed, there are %s; want %s and %s", c.text, c.captions, r.Made, r.Failed, got, c.made, c.there)
		}
		checkManifest(t, o)
	}
}

// Captions that somebody corrected stay, and are told of.
func TestCorrectedCaptionsStay(t *testing.T) {
	o := options(t.TempDir())
	o.Captions = SRT
	do(t, read(t, Text, "One.\nTwo.\n"), o, &fakeEngine{})
	path := filepath.Join(o.Dir, "0002.srt")
	if err := os.WriteFile(path, []byte("corrected"), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		r := do(t, read(t, Text, "One.\nTwo.\n"), o, &fakeEngine{})
		if fmt.Sprint(r.Edited) != "[0002.srt]" || !r.Nothing || r.Failed != 0 {
			t.Errorf("edited are %s: %+v", r.Edited, r)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != "corrected" {
			t.Errorf("it holds %.20q, %v", data, err)
		}
	}
	o.Captions = VTT // in another form
	if r := do(t, read(t, Text, "One.\nTwo.\n"), o, &fakeEngine{}); fmt.Sprint(r.Edited) != "[0002.srt]" {
		t.Errorf("edited are %s: %+v", r.Edited, r)
	}
	if data, err := os.ReadFile(path); err != nil || string(data) != "corrected" {
		t.Errorf("it holds %.20q, %v", data, err)
	}
}

// Captions go with audio that gets another name, corrected or not, asked for or not.
func TestCaptionsMove(t *testing.T) {
	o := options(t.TempDir())
	o.Captions = SRT
	do(t, read(t, Text, "One.\nTwo.\nThree.\n"), o, &fakeEngine{})
	three, err := os.ReadFile(filepath.Join(o.Dir, "0003.srt"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(o.Dir, "0002.srt"), []byte("corrected"), 0o666); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		text     string
		captions Captions
		files    []string // of One, Two and Three
		edited   string
	}{
		{"New.\nOne.\nTwo.\nThree.\n", SRT, []string{"0002", "0003", "0004"}, "[0003.srt]"},
		{"Three.\nTwo.\nOne.\nNew.\n", SRT, []string{"0003", "0002", "0001"}, "[0002.srt]"},
		{"One.\nTwo.\nThree.\n", NoCaptions, []string{"0001", "0002", "0003"}, "[]"},
		{"Two.\nThree.\nOne.\n", VTT, []string{"0003", "0001", "0002"}, "[0001.srt]"},
	} {
		o.Captions = c.captions
		r := do(t, read(t, Text, c.text), o, &fakeEngine{})
		if got := fmt.Sprint(r.Edited); got != c.edited || r.Failed != 0 {
			t.Errorf("%q: edited are %s, want %s: %+v", c.text, got, c.edited, r.Progress)
		}
		if data, err := os.ReadFile(filepath.Join(o.Dir, c.files[1]+".srt")); err != nil || string(data) != "corrected" {
			t.Errorf("%q: those of Two hold %.20q, %v", c.text, data, err)
		}
		if c.captions == VTT {
			continue
		}
		if data, err := os.ReadFile(filepath.Join(o.Dir, c.files[2]+".srt")); err != nil || !bytes.Equal(data, three) {
			t.Errorf("%q: those of Three hold %.20q, %v", c.text, data, err)
		}
		checkManifest(t, o)
	}
}

// The joined file's captions are no more written over than the joined file is.
func TestStrangerBesideBook(t *testing.T) {
	o := options(t.TempDir())
	o.Captions = SRT
	path := filepath.Join(o.Dir, "book.srt")
	if err := os.WriteFile(path, []byte("mine"), 0o666); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		in := read(t, Markdown, bookText)
		in.Book = "book"
		r := do(t, in, o, &fakeEngine{})
		if r.Joined == nil || !strings.Contains(r.Joined.Error, "book.srt is there and not of this job") {
			t.Errorf("joined: %+v", r.Joined)
		}
		if data, err := os.ReadFile(path); err != nil || string(data) != "mine" {
			t.Errorf("%s holds %.20q, %v", path, data, err)
		}
	}
}
