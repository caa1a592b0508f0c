package hub

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for _, s := range []string{"Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice", "gpt2", "a/b@main", "a/b@refs/pr/1", "a/b@v1.0", "a_b/c.d-e@" + oid, "_a/b_"} {
		if n, err := Parse(s); err != nil || n.String() != s {
			t.Errorf("%q: %v, %v", s, n, err)
		}
	}
	for _, s := range []string{
		"", "/", "a/", "/b", "a/b/c", "../b", "a/..", "./a", "a--b/c", "a/b--c", "-a/b", "a/b.", "a/b.git", "a b/c", `a\b`, "a/b@", "a/b@../x", "a/b@/x", "a/b@x//y",
		"a/b@x y", "a/b@-x", "C:/x", "a/b@x/../y", "ä/b", strings.Repeat("a", 97), "a/b@" + strings.Repeat("x", 201), "~/models", "a/b@.x",
	} {
		if n, err := Parse(s); err == nil {
			t.Errorf("%q was taken as %v", s, n)
		}
	}
}

// FuzzParse: a name that is taken is the name of one folder, and of one file below refs.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"a/b", "a/b@c/d", "../x", "a@", "a--b"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		n, err := Parse(s)
		if err != nil {
			return
		}
		name := folder(n.Repo)
		if back, ok := repoOf(name); filepath.Base(name) != name || !ok || back != n.Repo {
			t.Errorf("%q has the folder %q, which is of %q", s, name, back)
		}
		if n.Revision != "" && !filepath.IsLocal(filepath.FromSlash(n.Revision)) {
			t.Errorf("%q has the revision %q", s, n.Revision)
		}
	})
}

func TestFromEnvironment(t *testing.T) {
	home, err := os.UserHomeDir()
	if err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	token := filepath.Join(dir, "tok")
	if err := os.WriteFile(token, []byte(" hf_file\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	bad := filepath.Join(dir, "bad")
	if err := os.WriteFile(bad, []byte("hf_a hf_b"), 0o600); err != nil {
		t.Fatal(err)
	}
	base := "HF_HOME=" + filepath.Join(dir, "none")
	for _, tc := range []struct {
		environ  string // variables apart by spaces
		cache    string
		endpoint string
		token    string
		offline  string
		fails    string
	}{
		{environ: "", cache: filepath.Join(home, ".cache/huggingface/hub"), endpoint: DefaultEndpoint, token: "any"},
		{environ: "XDG_CACHE_HOME=/x", cache: "/x/huggingface/hub"},
		{environ: "HF_HOME=/h XDG_CACHE_HOME=/x", cache: "/h/hub"},
		{environ: "HF_HOME=~/h", cache: filepath.Join(home, "h/hub")},
		{environ: "HF_HOME=$BASE/h BASE=/b", cache: "/b/h/hub"},
		{environ: "HF_HUB_CACHE=/c HF_HOME=/h", cache: "/c"},
		{environ: "HUGGINGFACE_HUB_CACHE=/c HF_HOME=/h", cache: "/c"},
		{environ: base + " HF_ENDPOINT=https://hub.example/sub/", endpoint: "https://hub.example/sub"},
		{environ: base + " HF_ENDPOINT=hub.example", fails: `HF_ENDPOINT: "hub.example", wanted the address of a hub`},
		{environ: base + " HF_ENDPOINT=ftp://hub.example", fails: "HF_ENDPOINT: "},
		{environ: base + " HF_ENDPOINT=https://me:pass@hub.example", fails: "HF_ENDPOINT: hub.example: a user and password"},
		{environ: base + " HF_ENDPOINT=https://hub.example/?x", fails: "wanted an address without ? and #"},
		{environ: base + " HF_TOKEN=hf_x", token: "hf_x"},
		{environ: base + " HUGGING_FACE_HUB_TOKEN=hf_y", token: "hf_y"},
		{environ: base + " HF_TOKEN_PATH=" + token, token: "hf_file"},
		{environ: base + " HF_TOKEN=hf_x HF_TOKEN_PATH=" + token, token: "hf_x"},
		{environ: base + " HF_TOKEN=hf_x HF_HUB_DISABLE_IMPLICIT_TOKEN=1"},
		{environ: base + " HF_TOKEN_PATH=" + dir, fails: "HF_TOKEN_PATH: "},
		{environ: base + " HF_TOKEN_PATH=" + bad, fails: ": the token has characters that no token has"},
		{environ: base + " HF_HUB_OFFLINE=1", offline: "HF_HUB_OFFLINE"},
		{environ: base + " TRANSFORMERS_OFFLINE=yes", offline: "TRANSFORMERS_OFFLINE"},
		{environ: base + " HF_HUB_OFFLINE=0"},
		{environ: base + " HF_HUB_OFFLINE=0 TRANSFORMERS_OFFLINE=1"}, // the first that is set counts, as in Python
		{environ: base + " HF_TOKEN=hf_\xff", fails: "HF_TOKEN: the token has"},
		{environ: base + " HUGGING_FACE_HUB_TOKEN=hf_\xff", fails: "HUGGING_FACE_HUB_TOKEN: the token has"},
	} {
		all := map[string]string{}
		for v := range strings.FieldsSeq(tc.environ) {
			name, value, _ := strings.Cut(v, "=")
			all[name] = value
		}
		s, err := FromEnvironment(func(name string) string { return all[name] })
		if tc.fails != "" {
			if err == nil || !strings.Contains(err.Error(), tc.fails) || strings.Contains(err.Error(), "hf_") || strings.Contains(err.Error(), "pass@") {
				t.Errorf("%s: error %v, want %q", tc.environ, err, tc.fails)
			}
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", tc.environ, err)
			continue
		}
		if tc.cache != "" && filepath.ToSlash(s.Cache) != filepath.ToSlash(tc.cache) || tc.endpoint != "" && s.Endpoint.String() != tc.endpoint ||
			tc.token != "any" && tc.cache == "" && s.Token != tc.token || s.Offline != tc.offline {
			t.Errorf("%s: %v, offline %q", tc.environ, s, s.Offline)
		}
	}
	for endpoint, open := range map[string]bool{"http://hub.example": true, "https://hub.example": false, "http://127.0.0.1:8": false, "http://localhost": false, "http://[::1]:8": false} {
		u, err := parseEndpoint(endpoint)
		if err != nil {
			t.Fatal(err)
		}
		if s := (Settings{Endpoint: u, Token: "x"}); s.OpenToken() != open {
			t.Errorf("%s: %v", endpoint, s.OpenToken())
		}
	}
}

// The life of a cache: two revisions that share files, listed, found and removed.
func TestFindListRemove(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	main := r.mustPull(repo)
	later := checkpoint()
	later["vocab.json"] = []byte(`{"b": 1}`)
	r.server.Put(repo, "v2/x", later)
	v2 := r.mustPull(repo + "@v2/x")
	for name, want := range map[string]string{
		"org/voice": main.Path, "org/voice@main": main.Path, "org/voice@v2/x": v2.Path, "org/voice@" + v2.Commit: v2.Path, "org/voice@" + v2.Commit[:8]: v2.Path,
	} {
		n, err := Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := r.settings.Find(n); err != nil || got != want {
			t.Errorf("%s is %q, %v", name, got, err)
		}
	}
	for name, want := range map[string]string{
		"org/none":     "org/none is not in the cache " + r.settings.Cache + ": mynah pull org/none fetches it",
		"org/voice@v3": "org/voice has no revision v3 in the cache, there is ",
	} {
		n, _ := Parse(name)
		if _, err := r.settings.Find(n); !errors.Is(err, ErrNotCached) || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%s: error %v", name, err)
		}
	}
	all, err := r.settings.List()
	if err != nil || len(all) != 2 {
		t.Fatalf("%+v, %v", all, err)
	}
	i := slices.IndexFunc(all, func(c Cached) bool { return c.Commit == v2.Commit })
	c := all[i]
	if !c.Runs || c.Kind.Task != "custom_voice" || !slices.Equal(c.Revisions, []string{"v2/x"}) || c.Size != v2.Size || c.Unshared != 8 || c.Files != len(v2.Files) || c.Path != v2.Path || c.Missing != "" {
		t.Errorf("%+v", c)
	}
	// What one revision has alone goes with it.
	removal, err := r.settings.Removal(Name{repo, "v2/x"})
	if err != nil || removal.Frees != 8 || removal.Stay != 1 {
		t.Fatalf("%+v, %v", removal, err)
	}
	if err := removal.Run(); err != nil {
		t.Fatal(err)
	}
	r.holds(main, wanted(files))
	if _, err := os.Stat(v2.Path); err == nil || sizeOf(newStore(r.settings, repo).blob(r.server.Digest(later["vocab.json"]))) >= 0 {
		t.Error("the revision is still there")
	}
	if _, err := r.settings.Find(Name{repo, "v2/x"}); err == nil {
		t.Error("the ref is still there")
	}
	removal, err = r.settings.Removal(Name{Repo: repo})
	if err != nil || removal.Frees != main.Size {
		t.Fatalf("%+v, %v", removal, err)
	}
	if err := removal.Run(); err != nil {
		t.Fatal(err)
	}
	if all, err := r.settings.List(); err != nil || len(all) != 0 {
		t.Errorf("%+v, %v", all, err)
	}
	if _, err := r.settings.Removal(Name{Repo: repo}); !errors.Is(err, ErrNotCached) {
		t.Errorf("error %v", err)
	}
}

// What lies in a cache may be hostile as well: nothing outside it is written or removed.
func TestHostileCache(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	outside := t.TempDir()
	keep := filepath.Join(outside, "keep")
	if err := os.WriteFile(keep, []byte("x"), 0o666); err != nil {
		t.Fatal(err)
	}
	p, err := r.open().Plan(t.Context(), Name{Repo: repo})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.MkdirAll(p.Path, 0o777); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(outside, filepath.Join(p.Path, "speech_tokenizer")); err != nil {
		t.Skip("no links here")
	}
	if _, err := r.pull(repo); err == nil || !strings.Contains(err.Error(), "cannot write the cache: ") {
		t.Errorf("error %v", err)
	}
	if entries, err := os.ReadDir(outside); err != nil || len(entries) != 1 {
		t.Errorf("outside are %v, %v", entries, err)
	}
	if err := os.Symlink(keep, filepath.Join(p.Path, "link")); err != nil {
		t.Fatal(err)
	}
	s := newStore(r.settings, repo)
	if err := os.WriteFile(filepath.Join(s.dir, refsDir, "main"), []byte("../../../.."), 0o666); err != nil {
		t.Fatal(err)
	}
	if _, err := r.settings.Find(Name{Repo: repo}); err == nil {
		t.Error("a ref that is no commit was followed")
	}
	removal, err := r.settings.Removal(Name{repo, p.Commit})
	if err != nil {
		t.Fatal(err)
	}
	if err := removal.Run(); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(keep); err != nil {
		t.Error("a file outside was removed")
	}
}

func TestJournal(t *testing.T) {
	path := filepath.Join(t.TempDir(), "j")
	j := &journal{head: journalHead{Version: journalVersion, Size: 100, Content: `"e"`}}
	if err := j.write(path); err != nil {
		t.Fatal(err)
	}
	for _, s := range []span{{10, 20}, {40, 50}, {20, 30}, {0, 5}, {95, 100}, {4, 10}, {60, 60}} {
		if err := j.add(s); err != nil {
			t.Fatal(err)
		}
	}
	j.close()
	want := []span{{0, 30}, {40, 50}, {95, 100}}
	back := readJournal(path, 100)
	if back == nil || !slices.Equal(back.done, want) || back.have() != 45 || back.head != j.head {
		t.Fatalf("%+v", back)
	}
	if got := back.missing(20); !slices.Equal(got, []span{{30, 40}, {50, 70}, {70, 90}, {90, 95}}) {
		t.Errorf("missing %v", got)
	}
	if readJournal(path, 99) != nil {
		t.Error("a journal of another size was taken")
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	// Torn at any byte it says less, and never more.
	for n := range data {
		if err := os.WriteFile(path, data[:n], 0o666); err != nil {
			t.Fatal(err)
		}
		if torn := readJournal(path, 100); torn != nil {
			for _, s := range torn.done {
				if !slices.ContainsFunc(want, func(w span) bool { return w.start <= s.start && s.end <= w.end }) {
					t.Errorf("torn at %d it says %v", n, torn.done)
				}
			}
		}
	}
}
