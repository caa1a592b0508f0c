package hub

import (
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// interrupt begins a pull and ends it when a part in the middle of a large file is asked for.
func (r *rig) interrupt(name string) *Plan {
	r.Helper()
	kill, killed := context.WithCancel(r.Context())
	r.server.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
		if strings.Contains(q.Header.Get("Range"), "bytes=16") {
			killed()
		}
		return false
	})
	defer r.server.SetFault(nil)
	n, err := Parse(name)
	if err != nil {
		r.Fatal(err)
	}
	h := r.open()
	p, err := h.Plan(r.Context(), n)
	if err != nil {
		r.Fatal(err)
	}
	if err := h.Start(p).Run(kill); !errors.Is(err, context.Canceled) {
		r.Fatal(err)
	}
	if p, err = r.open().Plan(r.Context(), n); err != nil || p.Have == 0 || p.Have == p.Size {
		r.Fatalf("%d of %d bytes are there, %v", p.Have, p.Size, err)
	}
	return p
}

// What is unfinished of one revision stays while another is pulled, and is gone on from.
func TestPullKeepsOtherRevisions(t *testing.T) {
	files, later := checkpoint(), checkpoint()
	later["model.safetensors"] = random(8, 290_000)
	r := newRig(t, files)
	r.server.Put(repo, "dev", later)
	half := r.interrupt(repo)
	dev := r.mustPull(repo + "@dev")
	again, err := r.open().Plan(t.Context(), half.Name)
	if err != nil || again.Have < half.Have {
		t.Fatalf("%d bytes are there, before it was %d, %v", again.Have, half.Have, err)
	}
	all, err := r.settings.List()
	if err != nil || len(all) != 2 || all[0].Partial == 0 || all[0].Partial != all[1].Partial {
		t.Fatalf("%+v, %v", all, err)
	}
	for _, c := range all {
		if !c.Runs || (c.Missing == "model.safetensors") != (c.Commit == half.Commit) {
			t.Errorf("%+v", c)
		}
	}
	r.server.Sent.Store(0)
	r.holds(r.mustPull(repo), wanted(files))
	const listing = 8 << 10
	if sent := r.server.Sent.Load(); sent > again.Size-again.Have+listing {
		t.Errorf("%d of %d bytes were sent", sent, again.Size-again.Have)
	}
	r.holds(dev, wanted(later))
}

// A revision that was only begun is listed, and goes with what is unfinished of it.
func TestRemoveUnfinished(t *testing.T) {
	files, later := checkpoint(), checkpoint()
	later["model.safetensors"] = random(8, 290_000)
	r := newRig(t, files)
	r.server.Put(repo, "dev", later)
	r.mustPull(repo)
	half := r.interrupt(repo + "@dev")
	all, err := r.settings.List()
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	removal, err := r.settings.Removal(Name{repo, half.Commit})
	if err != nil || removal.Frees != all[0].Partial || removal.Frees == 0 {
		t.Fatalf("%+v, %v, unfinished are %d bytes", removal, err, all[0].Partial)
	}
	if err := removal.Run(); err != nil {
		t.Fatal(err)
	}
	r.holds(r.mustPull(repo), wanted(files))
	if left, err := os.ReadDir(filepath.Join(r.settings.Cache, folder(repo), manifestsDir)); err != nil || len(left) != 1 {
		t.Errorf("manifests: %v, %v", left, err)
	}
}

// What kills left behind goes with the next pull, unless a pull can go on from it.
func TestPullSweeps(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	dir := filepath.Join(r.settings.Cache, folder(repo))
	large, small := r.server.Digest(files["model.safetensors"]), r.server.Digest(files["vocab.json"])
	digest := func(c string) string { return strings.Repeat(c, sha1Digits) }
	const head = "{\"mynah_pull\":1,\"size\":300000}\n"
	stay := []string{large + incompleteEnd, large + journalEnd, digest("a") + incompleteEnd, digest("a") + journalEnd, digest("b") + ".incomplete", "x" + incompleteEnd}
	write := func(name, content string) {
		t.Helper()
		path := filepath.Join(dir, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o777), os.WriteFile(path, []byte(content), 0o666)); err != nil {
			t.Fatal(err)
		}
	}
	for _, name := range append(slices.Clone(stay),
		digest("c")+incompleteEnd, digest("d")+journalEnd, digest("e")+incompleteEnd, digest("e")+journalEnd+journalFresh, digest("f")+copyEnd,
		small+incompleteEnd, small+journalEnd, digest("1")+incompleteEnd, digest("1")+journalEnd,
	) {
		content := ""
		if strings.HasSuffix(name, journalEnd) {
			content = head + "0 4096\n"
		}
		if name == digest("1")+journalEnd {
			content = head
		}
		write(blobsDir+"/"+name, content)
	}
	other := strings.Repeat("9", 40)
	fresh := []string{"refs/v1.mynah.tmp", "refs/a/b.mynah.tmp", "snapshots/" + other + "/x/.mynah-" + small + ".tmp", manifestsDir + "/" + other + ".7.mynah.tmp"}
	for _, name := range fresh {
		write(name, other)
	}
	r.options.Exclude = []string{"model.safetensors"}
	r.mustPull(repo)
	left, err := filepath.Glob(filepath.Join(dir, blobsDir, "*.*"))
	for i := range left {
		left[i] = filepath.Base(left[i])
	}
	slices.Sort(stay)
	if err != nil || !slices.Equal(left, stay) {
		t.Errorf("left are %q, want %q, %v", left, stay, err)
	}
	for _, name := range fresh {
		if sizeOf(filepath.Join(dir, filepath.FromSlash(name))) >= 0 {
			t.Errorf("%s is left", name)
		}
	}
}

// One file's failure ends the others, which keep what they have and are not blamed for it.
func TestPullFailsTogether(t *testing.T) {
	files := checkpoint()
	files["tokenizer.json"] = random(4, 20_000)
	r := newRig(t, files)
	waiting := make(chan struct{})
	r.server.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
		switch {
		case strings.HasPrefix(q.URL.Path, "/vocab.json"), strings.HasSuffix(q.URL.Path, "/vocab.json"):
			<-waiting
			w.Write([]byte(`{"b": 0}`))
			return true
		case q.Host == r.server.Contents.Listener.Addr().String():
			r.server.Serve(&cutter{w, 12_000}, q)
			close(waiting)
			<-q.Context().Done()
			return true
		}
		return false
	})
	_, err := r.pull(repo)
	if err == nil || !strings.HasPrefix(err.Error(), "org/voice: vocab.json: its content has the SHA-1 ") || strings.Count(err.Error(), "org/voice") != 1 {
		t.Fatalf("error %v", err)
	}
	r.mu.Lock()
	for _, note := range r.notes {
		if !strings.HasPrefix(note, "vocab.json: its content ") {
			t.Errorf("note %q", note)
		}
	}
	r.mu.Unlock()
	s := newStore(r.settings, repo)
	if have := s.partialOf(r.server.Digest(files["tokenizer.json"]) + incompleteEnd); have < 8_000 {
		t.Errorf("%d bytes of the other file are left", have)
	}
	r.server.SetFault(nil)
	r.holds(r.mustPull(repo), wanted(files))
}
