package hub

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Two pulls at once: one waits for the other, and then has nothing to do.
func TestPullTwice(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	h := r.open()
	s := h.store(repo)
	if err := s.prepare(); err != nil {
		t.Fatal(err)
	}
	lock, err := takeLock(filepath.Join(s.locks, repoLock))
	if err != nil {
		t.Skip("no locks here: ", err)
	}
	lock.sign()
	r.options.NoWait = true
	if _, err := r.pull(repo); err == nil || !strings.HasPrefix(err.Error(), "another pull of org/voice is running (pid ") {
		t.Errorf("error %v", err)
	}
	if removal, err := r.settings.Removal(Name{Repo: repo}); err != nil {
		t.Error(err)
	} else if err := removal.Run(); err == nil || !strings.HasPrefix(err.Error(), "org/voice is being fetched (pid ") {
		t.Errorf("error %v", err)
	}
	running := fmt.Sprintf("a pull of org/voice is running (pid %d), mynah pull org/voice waits for its end", os.Getpid())
	if _, err := r.settings.Find(Name{Repo: repo}); !errors.Is(err, ErrNotCached) || !strings.HasSuffix(err.Error(), ": "+running) {
		t.Errorf("error %v", err)
	}
	r.options.NoWait = false
	const pulls = 2
	ended, late := make(chan error, pulls), time.After(30*time.Second)
	for range pulls {
		go func() {
			_, err := r.pull(repo)
			ended <- err
		}()
	}
	over := 0
	for waiting := 0; waiting < pulls; {
		select {
		case err := <-ended:
			t.Errorf("a pull did not wait for the other: %v", err)
			over, waiting = over+1, pulls
			continue
		case <-late:
			t.Errorf("%d of %d pulls wait after 30 s", waiting, pulls)
			waiting = pulls
			continue
		case <-time.After(time.Millisecond):
		}
		r.mu.Lock()
		waiting = strings.Count(strings.Join(r.notes, "\n"), "waiting for its end")
		r.mu.Unlock()
	}
	lock.release()
	for ; over < pulls; over++ {
		if err := <-ended; err != nil {
			t.Error(err)
		}
	}
	p, err := r.open().Plan(t.Context(), Name{Repo: repo})
	if err != nil {
		t.Fatal(err)
	}
	r.holds(p, wanted(files))
	const listings = 20 << 10
	if sent := r.server.Sent.Load(); sent > p.Size+listings {
		t.Errorf("%d bytes were sent for %d", sent, p.Size)
	}
}

// A disk that fills up ends the pull in one line, and what was fetched stays.
func TestPullDiskFull(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	mu, left := sync.Mutex{}, 150_000
	r.change = func(h *Hub) {
		h.writeAt = func(f writerAt, p []byte, at int64) (int, error) {
			mu.Lock()
			defer mu.Unlock()
			if left -= len(p); left < 0 {
				return 0, &os.PathError{Op: "write", Path: "x", Err: syscall.ENOSPC}
			}
			return f.WriteAt(p, at)
		}
	}
	_, err := r.pull(repo)
	if err == nil || err.Error() != "the disk is full; what was fetched stays, and the same command goes on from there" {
		t.Fatalf("error %v", err)
	}
	r.change = func(h *Hub) { h.free = func(string) int64 { return 100_000 } }
	if _, err := r.pull(repo); err == nil || !strings.HasSuffix(err.Error(), "MiB free") || !strings.HasPrefix(err.Error(), "org/voice: 1 MiB are to be fetched or copied, the disk of ") {
		t.Errorf("error %v", err)
	}
	r.change = nil
	r.server.Sent.Store(0)
	p := r.mustPull(repo)
	r.holds(p, wanted(files))
	if sent := r.server.Sent.Load(); sent > p.Size-100_000 {
		t.Errorf("%d of %d bytes were sent again", sent, p.Size)
	}
}

// Without links the files stand in the snapshot themselves.
func TestPullCopies(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	r.settings.Copies = true
	p := r.mustPull(repo)
	r.holds(p, wanted(files))
	if info, err := os.Lstat(filepath.Join(p.Path, "model.safetensors")); err != nil || !info.Mode().IsRegular() {
		t.Errorf("%v, %v", info, err)
	}
	r.server.Sent.Store(0)
	if again := r.mustPull(repo); again.Have != p.Size {
		t.Error("the second pull did not find the files of the first")
	}
	// A blob that another revision left is copied.
	r.settings.Copies = false
	later := checkpoint()
	later["vocab.json"] = []byte(`{"b": 1}`)
	r.server.Put(repo, "main", later)
	r.mustPull(repo)
	r.settings.Copies = true
	later["merges.txt"] = []byte("a b")
	r.server.Put(repo, "main", later)
	r.server.Sent.Store(0)
	r.holds(r.mustPull(repo), wanted(later))
	if sent := r.server.Sent.Load(); sent > 10_000 {
		t.Errorf("%d bytes were sent", sent)
	}
}

// Files that were damaged since are found by --verify, those of other sizes always.
func TestPullRepairs(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	p := r.mustPull(repo)
	name := filepath.Join(p.Path, "model.safetensors")
	damaged := bytes.Clone(files["model.safetensors"])
	damaged[1000] ^= 1
	if err := os.WriteFile(name, damaged, 0o666); err != nil {
		t.Fatal(err)
	}
	r.options.Verify = true
	r.holds(r.mustPull(repo), wanted(files))
	r.noted("model.safetensors: its content has the SHA-256 ")
	r.options.Verify = false
	if err := os.Truncate(name, 9); err != nil {
		t.Fatal(err)
	}
	r.holds(r.mustPull(repo), wanted(files))
}

// --verify takes what a kill left of a file, and a file of no bytes, as what they are: not there.
func TestPullVerifyUnfinished(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	r.options.Verify = true
	p := r.mustPull(repo) // merges.txt is empty
	s := r.open().store(repo)
	weights := p.Files[slices.IndexFunc(p.Files, func(f File) bool { return f.Path == "model.safetensors" })]
	blob := s.blob(weights.Digest)
	// The kill came when all bytes were there and the digest was being computed.
	if err := os.Remove(s.pointer(p.Commit, weights.Path)); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(blob, blob+incompleteEnd); err != nil {
		t.Fatal(err)
	}
	journal := fmt.Sprintf("{\"mynah_pull\":1,\"size\":%d}\n0 %[1]d\n", weights.Size)
	if err := os.WriteFile(blob+journalEnd, []byte(journal), 0o666); err != nil {
		t.Fatal(err)
	}
	r.server.Sent.Store(0)
	r.holds(r.mustPull(repo), wanted(files))
	if sent := r.server.Sent.Load(); sent > 10_000 {
		t.Errorf("%d bytes were sent again", sent)
	}
}

// Files of the same content do not wait for one another as for another program.
func TestPullSameContent(t *testing.T) {
	files := checkpoint()
	for _, name := range []string{"configuration.json", "speech_tokenizer/configuration.json", "special_tokens_map.json"} {
		files[name] = []byte(`{"framework": "pytorch"}`)
	}
	r := newRig(t, files)
	r.server.SetFault(func(_ http.ResponseWriter, q *http.Request) bool {
		if strings.Contains(q.URL.Path, "configuration.json") {
			time.Sleep(100 * time.Millisecond)
		}
		return false
	})
	r.holds(r.mustPull(repo), wanted(files))
	if len(r.notes) > 0 {
		t.Errorf("notes %q", r.notes)
	}
}

// A repository that was renamed answers by redirects, which take the token along.
func TestPullRenamed(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	r.settings.Token, r.server.Token = "hf_secret", "hf_secret"
	r.server.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
		if !strings.Contains(q.URL.Path, "org/old") {
			return false
		}
		w.Header().Set("Location", strings.Replace(q.URL.RequestURI(), "org/old", repo, 1))
		w.WriteHeader(http.StatusTemporaryRedirect)
		return true
	})
	r.holds(r.mustPull("org/old"), wanted(files))
}

func TestNext(t *testing.T) {
	from, err := parseEndpoint("https://hub.example/a")
	if err != nil {
		t.Fatal(err)
	}
	for location, want := range map[string]string{
		"/b?c": "https://hub.example/b?c", "https://me:pass@other.example/x#y": "https://other.example/x",
		"http://hub.example/a": "redirects from https to http at hub.example, which is refused",
		"":                     "redirects to no address", "file:///x": "redirects to no address", "https://": "redirects to no address", "%zz": "redirects to no address",
	} {
		to, err := next(from, &http.Response{Header: http.Header{"Location": {location}}})
		if err == nil && to.String() != want || err != nil && !strings.HasSuffix(err.Error(), want) {
			t.Errorf("%q: %v, %v, want %s", location, to, err, want)
		}
	}
}

// A cache that cannot be written to is good for a model that is there.
func TestPullReadOnly(t *testing.T) {
	r := newRig(t, checkpoint())
	p := r.mustPull(repo)
	locks := filepath.Join(r.settings.Cache, locksDir)
	if err := os.RemoveAll(locks); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(locks, nil, 0o666); err != nil { // nothing can be locked
		t.Fatal(err)
	}
	if again := r.mustPull(repo); again.Path != p.Path {
		t.Errorf("%s", again.Path)
	}
	r.options.Verify = true
	if again := r.mustPull(repo); again.Path != p.Path {
		t.Errorf("%s", again.Path)
	}
	damaged := random(1, 300_000)
	damaged[7] ^= 1
	if err := os.WriteFile(filepath.Join(p.Path, "model.safetensors"), damaged, 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := r.pull(repo); err == nil || !strings.HasPrefix(err.Error(), "org/voice: model.safetensors: its content has the SHA-256 ") || !strings.Contains(err.Error(), "; it is not fetched anew: cannot write the cache: ") {
		t.Errorf("a damaged file: error %v", err)
	}
}
