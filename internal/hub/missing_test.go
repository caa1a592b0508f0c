package hub

import (
	"os"
	"path/filepath"
	"testing"
)

// A model that lacks a file is not opened by name; the line says which, and so does the list.
func TestMissing(t *testing.T) {
	files := checkpoint()
	files["model.safetensors.index.json"] = []byte(`{"weight_map": {"b": "model-2.safetensors", "a": "model-1.safetensors", "c": "../x"}}`)
	files["model-1.safetensors"], files["model-2.safetensors"] = random(5, 5000), random(6, 5000)
	files["speech_tokenizer/preprocessor_config.json"] = []byte(`{"p": 1}`)
	r := newRig(t, files)
	p := r.mustPull(repo)
	lacks := func(name string) {
		t.Helper()
		want := ""
		if name != "" {
			want = "org/voice is not all in the cache, " + name + " is missing: mynah pull org/voice fetches it"
		}
		got := ""
		if _, err := r.settings.Find(Name{Repo: repo}); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("error %q, want %q", got, want)
		}
		if all, err := r.settings.List(); err != nil || len(all) != 1 || all[0].Missing != name {
			t.Errorf("%+v, %v, want %q missing", all, err, name)
		}
	}
	manifest := newStore(r.settings, repo).manifest(p.Commit)
	move := func(from, to string) {
		t.Helper()
		if err := os.Rename(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for _, tc := range []struct {
		name  string
		known bool // by what opening takes, without a manifest
	}{
		{"config.json", true}, {"vocab.json", true}, {"merges.txt", true}, {"tokenizer_config.json", true}, {"speech_tokenizer/config.json", true},
		{"speech_tokenizer/model.safetensors", true}, {"generation_config.json", false}, {"speech_tokenizer/preprocessor_config.json", false},
		{"model-2.safetensors", false}, {"model.safetensors", false},
	} {
		path := filepath.Join(p.Path, filepath.FromSlash(tc.name))
		move(path, path+".x")
		lacks(tc.name)
		// As huggingface_hub leaves it.
		move(manifest, manifest+".x")
		if tc.known {
			lacks(tc.name)
		} else {
			lacks("")
		}
		move(manifest+".x", manifest)
		move(path+".x", path)
	}
	// The index counts where there is no whole file.
	for _, name := range []string{"model.safetensors", "model-1.safetensors", "model-2.safetensors"} {
		if err := os.Remove(filepath.Join(p.Path, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Remove(manifest); err != nil {
		t.Fatal(err)
	}
	lacks("model-1.safetensors")
	r.holds(r.mustPull(repo), wanted(files))
	lacks("")
}

// tokenizer.json stands for a vocabulary and its merges, and what a pull did not take is
// missing only if no model runs without it.
func TestMissingOfOthers(t *testing.T) {
	files := checkpoint()
	delete(files, "vocab.json")
	delete(files, "tokenizer_config.json")
	files["tokenizer.json"] = []byte(`{"z": 1}`)
	r := newRig(t, files)
	r.options.Exclude = []string{"generation_config.json"}
	p := r.mustPull(repo)
	if dir, err := r.settings.Find(Name{Repo: repo}); err != nil || dir != p.Path {
		t.Errorf("%q, %v", dir, err)
	}
	s := newStore(r.settings, repo)
	if err := os.Remove(s.manifest(p.Commit)); err != nil {
		t.Fatal(err)
	}
	// A pull that finds all there knows from then on what there is.
	r.options.Exclude = nil
	r.mustPull(repo)
	if err := os.Remove(s.manifest(p.Commit)); err != nil {
		t.Fatal(err)
	}
	r.server.Sent.Store(0)
	r.mustPull(repo)
	if got := s.remembered(p.Commit); len(got) != len(wanted(files)) {
		t.Errorf("%d files are remembered, want %d", len(got), len(wanted(files)))
	}
	// README.md came by a pattern; the next pull would not bring it.
	r.options.Include = []string{"README.md"}
	r.mustPull(repo)
	if err := os.Remove(s.pointer(p.Commit, "README.md")); err != nil {
		t.Fatal(err)
	}
	if name := s.missing(p.Commit); name != "" {
		t.Errorf("%s is missing", name)
	}
	if err := os.Remove(s.pointer(p.Commit, "tokenizer.json")); err != nil {
		t.Fatal(err)
	}
	if name := s.missing(p.Commit); name != "vocab.json" {
		t.Errorf("%q is missing", name)
	}
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"mynah_files": 1, "files": [{"path": "a/b", "size": 1, "digest": "` + oid + `"}]}`))
	f.Add([]byte(`{"mynah_files": 1, "files": [{"path": "../b", "size": -1, "digest": "x"}]}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, m := range parseManifest(data) {
			if !filepath.IsLocal(filepath.FromSlash(m.Path)) || !digestPattern.MatchString(m.Digest) || m.Size < 0 {
				t.Errorf("%+v", m)
			}
		}
	})
}
