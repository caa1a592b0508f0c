package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Nothing is removed through a link: what it leads to may be anybody's.
func TestRemoveLinks(t *testing.T) {
	for _, sub := range []string{"", blobsDir, snapshotsDir, refsDir} {
		t.Run("link "+sub, func(t *testing.T) {
			files := checkpoint()
			r := newRig(t, files)
			p := r.mustPull(repo)
			dir := filepath.Join(r.settings.Cache, folder(repo), sub)
			target := filepath.Join(filepath.Dir(r.settings.Cache), "elsewhere")
			if err := os.Rename(dir, target); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, dir); err != nil {
				t.Skip("no links here")
			}
			foreign := filepath.Join(target, "notes.txt")
			if err := os.WriteFile(foreign, []byte("x"), 0o666); err != nil {
				t.Fatal(err)
			}
			for _, revision := range []string{"", p.Commit} {
				_, err := r.settings.Removal(Name{repo, revision})
				if err == nil || !strings.Contains(err.Error(), dir+" is a link, and nothing is removed through one") {
					t.Errorf("error %v", err)
				}
			}
			if sizeOf(foreign) != 1 {
				t.Error("a foreign file is gone")
			}
		})
	}
}

// What came into the cache after the removal was looked for, while somebody was being asked,
// say, is not removed with it: neither another revision nor another name.
func TestRemoveAfterChange(t *testing.T) {
	for _, revision := range []string{"", "main"} {
		t.Run("revision "+revision, func(t *testing.T) {
			files := checkpoint()
			r := newRig(t, files)
			first := r.mustPull(repo)
			look := func() *Removal {
				t.Helper()
				removal, err := r.settings.Removal(Name{repo, revision})
				if err != nil {
					t.Fatal(err)
				}
				return removal
			}
			refused := func(removal *Removal) {
				t.Helper()
				const want = "org/voice: the cache has changed since; nothing was removed"
				if err := removal.Run(); err == nil || err.Error() != want {
					t.Errorf("error %v, want %q", err, want)
				}
				r.holds(first, wanted(files))
			}
			before := look()
			r.server.Put(repo, "v1", files) // a name of the same commit
			r.mustPull(repo + "@v1")
			refused(before)
			before = look()
			later := checkpoint()
			later["vocab.json"] = []byte(`{"b": 1}`)
			r.server.Put(repo, "v2", later)
			second := r.mustPull(repo + "@v2")
			refused(before)
			r.holds(second, wanted(later))
			if err := look().Run(); err != nil {
				t.Error(err)
			}
			if _, err := r.settings.Find(Name{repo, "v2"}); (err == nil) != (revision == "main") {
				t.Errorf("v2: %v", err)
			}
		})
	}
}

// A blob that is a link itself frees nothing.
func TestRemoveLinkedBlob(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	p := r.mustPull(repo)
	blob := newStore(r.settings, repo).blob(r.server.Digest(files["model.safetensors"]))
	target := filepath.Join(t.TempDir(), "x")
	if err := os.Rename(blob, target); err != nil {
		t.Skip(err)
	}
	if err := os.Symlink(target, blob); err != nil {
		t.Skip("no links here")
	}
	removal, err := r.settings.Removal(Name{Repo: repo})
	if err != nil || removal.Frees != p.Size-300_000 {
		t.Fatalf("%+v, %v", removal, err)
	}
	if err := removal.Run(); err != nil {
		t.Fatal(err)
	}
	if sizeOf(target) != 300_000 {
		t.Error("a file outside was removed")
	}
}
