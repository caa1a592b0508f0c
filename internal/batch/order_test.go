package batch

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// far is a Maker that asks for the job's name, as one does that shares a server with others.
type far struct {
	*local
	id string
}

func (f *far) Begin(ctx context.Context, b Brief) (err error) {
	if f.id, err = b.ID(); err != nil {
		return err
	}
	return f.local.Begin(ctx, b)
}

// begin runs a job to its end, or until its first item is made, and returns the job's name.
func begin(t *testing.T, dir, input string, whole bool) (string, error) {
	t.Helper()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	o := options(dir)
	o.Jobs = 1
	if !whole {
		o.Done = func(*Record) { cancel() }
	}
	j, err := NewJob(read(t, Text, input), o)
	if err != nil {
		t.Fatal(err)
	}
	f := &far{local: &local{engine: &fakeEngine{}, disk: o.Disk, jobs: o.Jobs, run: &j.progress}}
	if _, err = j.RunBy(ctx, f); !whole && errors.Is(err, context.Canceled) {
		err = nil
	}
	return f.id, err
}

// A job has the same name until it is over, and no other job has it: not that of another
// folder or input, nor the folder's next.
func TestJobNames(t *testing.T) {
	dir, other := t.TempDir(), t.TempDir()
	names := map[string]string{}
	name := func(what, dir, input string, whole bool) string {
		t.Helper()
		id, err := begin(t, dir, input, whole)
		if err != nil || len(id) != 32 {
			t.Fatalf("%s: name %q, %v", what, id, err)
		}
		if before := names[id]; before != "" {
			t.Errorf("%s has the name of %s", what, before)
		}
		return id
	}
	first := name("the first run", dir, story, false)
	if again := name("the second run", dir, story, false); again != first {
		t.Errorf("a run that goes on has name %s, the first had %s", again, first)
	}
	names[first] = "the first run"
	names[name("another folder", other, story, false)] = "another folder"
	names[name("another input", dir, story+"More.\n", false)] = "another input"
	delete(names, first)
	if again := name("the last run", dir, story, true); again != first {
		t.Errorf("the run that makes the last has name %s, the first had %s", again, first)
	}
	names[first] = "the job that is over"
	if err := os.Remove(filepath.Join(dir, "0001.wav")); err != nil {
		t.Fatal(err)
	}
	name("the folder's next job", dir, story, true)
	if _, err := os.Stat(filepath.Join(dir, workName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder of work stays: %v", err)
	}
}

// A token that is damaged is made anew, one that cannot be read is named, and a job that
// nobody else is asked for has none.
func TestToken(t *testing.T) {
	dir, long := t.TempDir(), strings.Repeat("Once more.\n", 30)
	first, err := begin(t, dir, long, false)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, workName, tokenName)
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, bad := range []string{"", "ABC", string(make([]byte, len(whole))), string(whole) + "\n", strings.ToLower(string(whole))} {
		if err := os.WriteFile(path, []byte(bad), 0o666); err != nil {
			t.Fatal(err)
		}
		id, err := begin(t, dir, long, false)
		if there, _ := os.ReadFile(path); err != nil || id == first || !isToken.Match(there) || string(there) == string(whole) {
			t.Errorf("token %q: name %s, token %q, %v", bad, id, there, err)
		}
	}
	if err := errors.Join(os.Remove(path), os.Mkdir(path, 0o777)); err != nil {
		t.Fatal(err)
	}
	if _, err := begin(t, dir, long, true); err == nil || !strings.HasPrefix(err.Error(), path+": ") || !EndsJob(err) {
		t.Errorf("a folder in its place: %v", err)
	}
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	o := options(t.TempDir())
	o.Jobs, o.Done = 1, func(*Record) { cancel() }
	j, err := NewJob(read(t, Text, story), o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := j.Run(ctx, &fakeEngine{}); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	if _, err := os.Stat(filepath.Join(o.Dir, workName, tokenName)); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a local job has a token: %v", err)
	}
}
