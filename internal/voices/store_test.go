package voices

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/osfile"
	"github.com/mynah-tts/mynah/synth"
)

func TestAddGetRemove(t *testing.T) {
	s := open(t, 0)
	if got := names(t, s); got != "" {
		t.Errorf("a folder that is not there has %q", got)
	}
	wantKind(t, s.Remove("anna"), NotFound, `"anna"`)
	if _, err := os.Stat(s.Dir()); !os.IsNotExist(err) {
		t.Errorf("looking made the folder: %v", err)
	}
	add(t, s, profile("Anna", 1), false)
	add(t, s, profile("bert", 2), false)
	vector := profile("Zoé", 3)
	vector.Codes, vector.Text, vector.Created = nil, "", time.Time{}
	if v := add(t, s, vector, false); v.Mode != ModeVector || time.Since(v.Created) > time.Minute || v.Bytes == 0 {
		t.Errorf("kept %+v", v)
	}
	if got := names(t, s); got != "Anna, bert, Zoé" {
		t.Errorf("there are %q", got)
	}
	for _, name := range []string{"Anna", "ANNA", "anna"} {
		v, err := s.Get(name)
		want := profile("Anna", 1)
		want.Reference = synth.Reference{Text: want.Text}
		if err != nil || !reflect.DeepEqual(v.Profile, want) || v.Mode != ModeInContext {
			t.Errorf("%s is %+v, error %v", name, v, err)
		}
	}
	_, err := s.Add(profile("aNNa", 9), false)
	wantKind(t, err, Exists, `"Anna"`)
	for _, name := range []string{"", "carl", "../Anna", "voice-anna.json", strings.Repeat("x", 5000), "con", "\xff"} {
		_, err := s.Get(name)
		wantKind(t, err, NotFound, "there is no voice")
		wantKind(t, s.Remove(name), NotFound, "there is no voice")
	}
	if err := s.Remove("ANNA"); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s); got != "bert, Zoé" {
		t.Errorf("there are %q", got)
	}
	info, err := os.Stat(filepath.Join(s.Dir(), fileName("bert")))
	if err != nil || info.Mode().Perm()&0o077 != 0 {
		t.Errorf("others may read %v, error %v", info.Mode(), err)
	}
}

// All who use a voice share one reference, until it is replaced or removed.
func TestReference(t *testing.T) {
	s := open(t, 0)
	var forgotten []*synth.Reference
	s.OnForget(func(r *synth.Reference) { forgotten = append(forgotten, r) })
	add(t, s, profile("Anna", 1), false)
	first, v, err := s.Reference("ANNA", ours)
	if err != nil || v.Language != "german" || !reflect.DeepEqual(*first, profile("Anna", 1).Reference) {
		t.Fatalf("%+v, %+v, error %v", first, v, err)
	}
	names(t, s)
	if again, _, _ := s.Reference("anna", ours); again != first || len(forgotten) != 0 {
		t.Errorf("another reference %p, forgotten %v", again, forgotten)
	}
	add(t, s, profile("anna", 2), true)
	second, v, err := s.Reference("anna", ours)
	if err != nil || second.Codes[0][0] != 2 || v.Name != "anna" || len(forgotten) != 1 || forgotten[0] != first {
		t.Errorf("%+v, %+v, error %v, forgotten %v", second, v, err, forgotten)
	}
	// Another process does the same.
	other := Open(s.Dir(), 0)
	add(t, other, profile("anna", 3), true)
	if third, _, err := s.Reference("anna", ours); err != nil || third.Codes[0][0] != 3 || len(forgotten) != 2 {
		t.Errorf("%+v, error %v", third, err)
	}
	if err := other.Remove("anna"); err != nil {
		t.Fatal(err)
	}
	_, _, err = s.Reference("anna", ours)
	if wantKind(t, err, NotFound, `"anna"`); len(forgotten) != 3 {
		t.Errorf("forgotten %v", forgotten)
	}
	if first.Codes[0][0] != 1 {
		t.Error("a reference that is in use has changed")
	}
}

func TestForeignVoice(t *testing.T) {
	s := open(t, 0)
	add(t, s, profile("Anna", 1), false)
	_, _, err := s.Reference("anna", theirs)
	wantKind(t, err, OtherModel, `the voice "Anna" is of the checkpoint Base-A (a1a1a1a1a1a1…), this is Base-B (b2b2b2b2b2b2…)`)
	if strings.Contains(err.Error(), "secret") {
		t.Errorf("a path is in %q", err)
	}
	if got := names(t, s); got != "Anna" {
		t.Errorf("there are %q", got)
	}
}

// What to do about a voice of another checkpoint depends on what this one is.
func TestForeignVoiceByKind(t *testing.T) {
	s := open(t, 0)
	add(t, s, profile("Anna", 1), false)
	for _, tc := range []struct {
		name string
		of   checkpoint
		end  string
	}{
		{"base", theirs, "(b2b2b2b2b2b2…): add it again with this one"},
		{"no encoders", checkpoint{name: "B", digest: theirs.digest, kind: synth.Base, noEncoders: true}, ", which has no encoders to hear it again"},
		{"presets", checkpoint{name: "C", digest: theirs.digest, kind: synth.CustomVoice}, ", which is custom_voice and speaks in no voices that are kept"},
		{"designed", checkpoint{name: "D", digest: theirs.digest, kind: synth.VoiceDesign}, ", which is voice_design and speaks in no voices that are kept"},
	} {
		if _, _, err := s.Reference("anna", tc.of); !IsKind(err, OtherModel) || !strings.HasSuffix(err.Error(), tc.end) {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

// A file whose reference a checkpoint does not take is listed with what is wrong, and
// refused by the voice's name.
func TestUnfitVoice(t *testing.T) {
	narrow := ours
	narrow.values = 3
	s := open(t, 0)
	s.CheckWith(narrow.CheckReference)
	add(t, s, profile("Anna", 1), false)
	const problem = "x_vector has 4 values, this checkpoint's have 3"
	all, _, err := s.List()
	if err != nil || len(all) != 1 || all[0].Unfit != problem {
		t.Errorf("listed %+v, %v", all, err)
	}
	if err := all[0].Usable(narrow.Info(), narrow.digest); !IsKind(err, Damaged) {
		t.Error(err)
	}
	_, _, err = s.Reference("ANNA", narrow)
	wantKind(t, err, Damaged, `the file of the voice "Anna" is damaged: `+problem)
	_, _, err = open2(s).Reference("anna", narrow)
	wantKind(t, err, Damaged, problem)
	if _, _, err := open2(s).Reference("anna", ours); err != nil {
		t.Error(err)
	}
}

// open2 is another store of the same folder, which was told of no checkpoint.
func open2(s *Store) *Store { return Open(s.Dir(), 0) }

// A name that is taken is told as it was written.
func TestTakenName(t *testing.T) {
	s := open(t, 0)
	add(t, s, profile("Anna", 1), false)
	_, err := s.Add(profile("ANNA", 2), false)
	wantKind(t, err, Exists, `there is a voice "Anna" already`)
}

func TestModelName(t *testing.T) {
	for path, want := range map[string]string{
		"/models/Base-A": "Base-A", `C:\models\Base-A\`: "Base-A", "Base-A": "Base-A", "/cache/models--Qwen--Base-A/snapshots/0123abcd": "Base-A",
		"/x/snapshots/0123": "0123", "": "model", "/": "model", "/a\n\x1bb": "ab", strings.Repeat("x", 300): strings.Repeat("x", 255), "english (built in)": "english (built in)",
	} {
		if got := ModelName(path); got != want {
			t.Errorf("%q is called %q, want %q", path, got, want)
		}
	}
}

func TestReferencesInMemoryAreBounded(t *testing.T) {
	s := open(t, 0)
	forgotten := 0
	s.OnForget(func(*synth.Reference) { forgotten++ })
	for i := range maxLoaded + 5 {
		name := fmt.Sprintf("v%d", i)
		add(t, s, profile(name, int32(i)), false)
		for _, use := range []string{name, "v0"} { // v0 is used all the time
			if _, _, err := s.Reference(use, ours); err != nil {
				t.Fatal(err)
			}
		}
	}
	loaded := 0
	for _, e := range s.known {
		if e.ref != nil {
			loaded++
		}
	}
	if loaded != maxLoaded || forgotten != 5 || s.known[fileName("v0")].ref == nil {
		t.Errorf("%d are loaded, %d were forgotten, want %d and 5", loaded, forgotten, maxLoaded)
	}
	if ref, _, err := s.Reference("v1", ours); err != nil || ref.Codes[0][0] != 1 {
		t.Errorf("v1 is %v, error %v", ref, err)
	}
}

func TestMostVoices(t *testing.T) {
	s := open(t, 2)
	add(t, s, profile("a", 1), false)
	add(t, s, profile("b", 2), false)
	_, err := s.Add(profile("c", 3), false)
	wantKind(t, err, TooMany, "2 voices are kept")
	add(t, s, profile("A", 4), true)
	if err := s.Remove("b"); err != nil {
		t.Fatal(err)
	}
	add(t, s, profile("c", 3), false)
}

// Files of others in the folder are no voices, and are told of in a line each.
func TestFolderOfOthers(t *testing.T) {
	s := open(t, 0)
	add(t, s, profile("anna", 1), false)
	dir := s.Dir()
	good, err := os.ReadFile(filepath.Join(dir, fileName("anna")))
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside.json")
	for path, data := range map[string][]byte{
		filepath.Join(dir, "notes.txt"):       []byte("x"),
		filepath.Join(dir, fileName("other")): good, // renamed
		filepath.Join(dir, fileName("cut")):   good[:50],
		filepath.Join(dir, fileName("huge")):  make([]byte, maxFileBytes+1),
		outside:                               good,
	} {
		if err := os.WriteFile(path, data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, fileName("folder")), 0o700); err != nil {
		t.Fatal(err)
	}
	want := 4
	if os.Symlink(outside, filepath.Join(dir, fileName("link"))) == nil {
		want++
	}
	all, problems, err := s.List()
	if err != nil || len(all) != 1 || len(problems) != want {
		t.Errorf("%d voices, problems\n%s\nerror %v", len(all), strings.Join(problems, "\n"), err)
	}
	for _, name := range []string{"other", "cut", "huge", "folder"} {
		_, err := s.Get(name)
		wantKind(t, err, Damaged, "the file of the voice")
	}
	for _, name := range []string{"other", "cut", "huge"} {
		if err := s.Remove(name); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	add(t, s, profile("cut", 5), false)
}

// A file that was edited in place, to the same size and time, is damaged once its reference
// is wanted, and not a voice without one.
func TestEditedInPlace(t *testing.T) {
	s := open(t, 0)
	add(t, s, profile("Anna", 1), false)
	path := filepath.Join(s.Dir(), fileName("anna"))
	before, err := os.Stat(path)
	if err != nil || names(t, s) != "Anna" {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, make([]byte, before.Size()), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Chtimes(path, time.Time{}, before.ModTime()); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		ref, _, err := s.Reference("anna", ours)
		wantKind(t, err, Damaged, `the file of the voice "anna" is damaged: no valid JSON`)
		if ref != nil {
			t.Errorf("reference %+v", ref)
		}
	}
	_, err = s.Get("anna")
	wantKind(t, err, Damaged, "no valid JSON")
}

// A disk that is full at any moment leaves the folder as it was, and says so.
func TestDiskFull(t *testing.T) {
	for left := 0; ; left++ {
		s := open(t, 0)
		add(t, s, profile("anna", 1), false)
		s.disk = &faultyDisk{left: left}
		_, err := s.Add(profile("anna", 2), true)
		_, err2 := Open(s.Dir(), 0).Get("anna")
		if err2 != nil {
			t.Fatalf("after %d operations: %v", left, err2)
		}
		ref, _, err2 := s.Reference("anna", ours)
		if err2 != nil {
			t.Fatal(err2)
		}
		files, _ := os.ReadDir(s.Dir())
		if len(files) != 2 { // the voice and the lock
			t.Errorf("after %d operations there are %v", left, files)
		}
		if err == nil {
			if left != 5 || ref.Codes[0][0] != 2 {
				t.Errorf("%d operations, reference %v", left, ref)
			}
			return
		}
		wantKind(t, err, Disk, s.Dir()+": no space left on device")
		if !osfile.IsFull(err) || ref.Codes[0][0] != 1 {
			t.Errorf("after %d operations: %v, reference %v", left, err, ref)
		}
	}
}

func TestDiskErrors(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	s := Open(path, 0)
	_, err := s.Add(profile("a", 1), false)
	wantKind(t, err, Disk, path+": not a directory")
	_, _, err = s.List()
	wantKind(t, err, Disk, path)
	if osfile.IsFull(err) || osfile.IsFull(nil) || !osfile.IsFull(fmt.Errorf("x: %w", errFull)) {
		t.Error("which error means a full disk")
	}
}

// What a process left that was killed is removed by the next that changes something, and
// is no voice until then.
func TestLeftovers(t *testing.T) {
	s := open(t, 0)
	add(t, s, profile("anna", 1), false)
	left := filepath.Join(s.Dir(), tempPrefix+"0123")
	if err := os.WriteFile(left, []byte(`{"format":`), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := names(t, s); got != "anna" {
		t.Errorf("there are %q", got)
	}
	add(t, s, profile("bert", 2), false)
	if _, err := os.Stat(left); !os.IsNotExist(err) {
		t.Errorf("the file is still there: %v", err)
	}
}

func TestAnotherProcessHoldsTheLock(t *testing.T) {
	s := open(t, 0)
	add(t, s, profile("anna", 1), false)
	held, err := takeLock(filepath.Join(s.Dir(), lockName), time.Second)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := takeLock(filepath.Join(s.Dir(), lockName), 20*time.Millisecond); !errors.Is(err, osfile.ErrLocked) {
		t.Skipf("no locks here: %v", err)
	}
	done := make(chan error)
	go func() {
		_, err := s.Add(profile("bert", 2), false)
		done <- err
	}()
	if got := names(t, s); got != "anna" { // reading waits for nobody
		t.Errorf("there are %q", got)
	}
	select {
	case err := <-done:
		t.Fatalf("it did not wait: %v", err)
	case <-time.After(50 * time.Millisecond):
	}
	held.Close()
	if err := <-done; err != nil {
		t.Error(err)
	}
}

// Two stores of one folder are used as two processes would: no profile is ever torn, and
// of those who add one name at the same time without replacing one wins.
func TestConcurrentUse(t *testing.T) {
	a := open(t, 0)
	stores := []*Store{a, Open(a.Dir(), 0)}
	for _, s := range stores {
		s.OnForget(func(*synth.Reference) {})
	}
	var work sync.WaitGroup
	var won atomic.Int32
	for i := range 20 {
		s := stores[i%2]
		work.Go(func() {
			p := profile("One", int32(i))
			p.Description = fmt.Sprint(i)
			if _, err := s.Add(p, false); err == nil {
				won.Add(1)
			} else if !IsKind(err, Exists) {
				t.Error(err)
			}
		})
		work.Go(func() {
			p := profile("Many", int32(i))
			p.Description = fmt.Sprint(i)
			if _, err := s.Add(p, true); err != nil {
				t.Error(err)
			}
			if i%5 == 0 {
				if err := s.Remove("many"); err != nil && !IsKind(err, NotFound) {
					t.Error(err)
				}
			}
		})
		work.Go(func() {
			for range 20 {
				ref, v, err := s.Reference("many", ours)
				if err != nil {
					if !IsKind(err, NotFound) {
						t.Error(err)
					}
					continue
				}
				if want := fmt.Sprint(ref.Codes[0][0]); v.Description != want || ref.XVector[0] != float32(ref.Codes[0][0]) {
					t.Errorf("torn: %+v, reference %+v", v, ref)
				}
				if _, problems, err := s.List(); err != nil || len(problems) > 0 {
					t.Errorf("problems %q, error %v", problems, err)
				}
			}
		})
	}
	work.Wait()
	if won.Load() != 1 {
		t.Errorf("%d have won, want one", won.Load())
	}
}

func TestApply(t *testing.T) {
	s := open(t, 0)
	add(t, s, profile("Anna", 1), false)
	custom := checkpoint{name: "Custom", digest: theirs.digest, kind: synth.CustomVoice, speakers: []string{"ryan"}}
	given := &synth.Reference{XVector: []float32{1}}
	for _, tc := range []struct {
		name    string
		of      checkpoint
		request synth.Request
		want    synth.Request // with the mark of the reference as its seed
		err     string
	}{
		{"no voice", ours, synth.Request{}, synth.Request{}, ""},
		{"a voice", ours, synth.Request{Voice: "ANNA"}, synth.Request{Language: "german"}, ""},
		{"a voice in a language", ours, synth.Request{Voice: "anna", Language: "english"}, synth.Request{Language: "english"}, ""},
		{"unknown", ours, synth.Request{Voice: "bob"}, synth.Request{}, `voice: there is no voice "bob" in `},
		{"a path", ours, synth.Request{Voice: "../anna"}, synth.Request{}, `voice: there is no voice "../anna"`},
		{"a preset", custom, synth.Request{Voice: "Ryan"}, synth.Request{Voice: "Ryan"}, ""},
		{"no preset", custom, synth.Request{Voice: "bob"}, synth.Request{Voice: "bob"}, ""},
		{"of another checkpoint", custom, synth.Request{Voice: "anna"}, synth.Request{}, "Base-A (a1a1a1a1a1a1…), this is Custom"},
		{"with a reference", ours, synth.Request{Voice: "anna", Reference: given}, synth.Request{Voice: "anna", Reference: given}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			got := tc.request
			err := s.Apply(&got, tc.of)
			if tc.err != "" {
				var refused *synth.RequestError
				if !errors.As(err, &refused) || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("error %v, want %q", err, tc.err)
				}
				return
			}
			if err != nil || got.Voice != tc.want.Voice || got.Language != tc.want.Language {
				t.Errorf("%+v, error %v", got, err)
			}
			if kept := strings.Contains(tc.name, "a voice"); kept && (got.Reference == nil || got.Reference.Codes[0][0] != 1) || !kept && got.Reference != tc.want.Reference {
				t.Errorf("reference %+v", got.Reference)
			}
		})
	}
}

func TestDefaultDir(t *testing.T) {
	t.Setenv("XDG_DATA_HOME", "")
	t.Setenv("HOME", "/home/u")
	t.Setenv("LocalAppData", "")
	if got := DefaultDir(); got != "" && !strings.HasSuffix(filepath.ToSlash(got), "/mynah/voices") {
		t.Errorf("the folder is %q", got)
	}
}
