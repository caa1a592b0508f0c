package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Two revisions of which one's name is a folder of the other's are refused before anything is
// fetched, and get on when the first is removed.
func TestRefsCollide(t *testing.T) {
	for name, pair := range map[string][2]string{"folder first": {"feature/x", "feature"}, "file first": {"feature", "feature/x/y"}} {
		t.Run(name, func(t *testing.T) {
			files, later := checkpoint(), checkpoint()
			later["model.safetensors"] = random(8, 300_000)
			r := newRig(t, files)
			r.server.Put(repo, pair[0], files)
			commit := r.server.Put(repo, pair[1], later)
			r.mustPull(repo + "@" + pair[0])
			r.server.Sent.Store(0)
			want := "org/voice@" + pair[1] + ": the cache has the revision " + pair[0] + ", and files of both names cannot be there together: mynah models remove org/voice@" +
				pair[0] + " removes that one, mynah pull org/voice@" + commit + " takes this one by its commit"
			if _, err := r.pull(repo + "@" + pair[1]); err == nil || err.Error() != want {
				t.Errorf("error %v, want %s", err, want)
			}
			if sent := r.server.Sent.Load(); sent > 20_000 {
				t.Errorf("%d bytes were sent", sent)
			}
			r.holds(r.mustPull(repo+"@"+commit), wanted(later))
			removal, err := r.settings.Removal(Name{repo, pair[0]})
			if err != nil {
				t.Fatal(err)
			}
			if err := removal.Run(); err != nil {
				t.Fatal(err)
			}
			p := r.mustPull(repo + "@" + pair[1])
			if dir, err := r.settings.Find(Name{repo, pair[1]}); err != nil || dir != p.Path {
				t.Errorf("%q, %v", dir, err)
			}
		})
	}
}

// A name that is being written is no revision, wherever a kill left it, and empty folders are
// in nobody's way.
func TestRefsBeingWritten(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	p := r.mustPull(repo)
	r.server.Put(repo, "feature", files)
	refs := filepath.Join(r.settings.Cache, folder(repo), refsDir)
	if err := os.MkdirAll(filepath.Join(refs, "feature", "x"), 0o777); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"main.mynah.tmp", "feature/y.mynah.tmp", ".mynah-ref.tmp"} {
		if err := os.WriteFile(filepath.Join(refs, filepath.FromSlash(name)), []byte(p.Commit), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	if all, err := r.settings.List(); err != nil || len(all) != 1 || strings.Join(all[0].Revisions, " ") != "main" {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := r.settings.Find(Name{repo, "main.mynah.tmp"}); err == nil {
		t.Error("a name that is being written was found")
	}
	if _, err := Parse("org/voice@main.mynah.tmp"); err == nil {
		t.Error("a name of one that is being written was taken")
	}
	r.mustPull(repo + "@feature")
	for _, name := range []string{"feature", "main"} {
		if dir, err := r.settings.Find(Name{repo, name}); err != nil || dir != p.Path {
			t.Errorf("%s: %q, %v", name, dir, err)
		}
	}
	if entries, err := os.ReadDir(refs); err != nil || len(entries) != 2 {
		t.Errorf("refs has %v, %v", entries, err)
	}
}
