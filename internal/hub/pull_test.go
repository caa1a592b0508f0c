package hub

import (
	"bytes"
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mynah-tts/mynah/internal/hub/hubtest"
)

const repo = "org/voice"

// random makes bytes that compress to nothing less, by a seed.
func random(seed uint64, n int) []byte {
	r := rand.New(rand.NewPCG(seed, 1))
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

// checkpoint is a small repository, with files that are not to be fetched.
func checkpoint() map[string][]byte {
	return map[string][]byte{
		"config.json":                        []byte(`{"model_type": "qwen3_tts", "tts_model_type": "custom_voice", "tts_model_size": "0b6"}`),
		"generation_config.json":             []byte(`{}`),
		"vocab.json":                         []byte(`{"a": 0}`),
		"merges.txt":                         {},
		"tokenizer_config.json":              []byte(`{"t": 1}`),
		"model.safetensors":                  random(1, 300_000),
		"speech_tokenizer/config.json":       []byte(`{"a": 1}`),
		"speech_tokenizer/model.safetensors": random(2, 100_000),
		"README.md":                          []byte("# Read me"),
		"modeling.py":                        []byte("import os"),
		"pytorch_model.bin":                  []byte("cos\nsystem"),
		"assets/voice.wav":                   []byte("RIFF"),
	}
}

// wanted are its files that are.
func wanted(files map[string][]byte) map[string][]byte {
	all := map[string][]byte{}
	for name, content := range files {
		if (Selection{}).takes(name) {
			all[name] = content
		}
	}
	return all
}

// rig is a hub, and a cache.
type rig struct {
	*testing.T
	server   *hubtest.Server
	settings Settings
	options  Options
	mu       sync.Mutex
	notes    []string
	waits    []time.Duration
	change   func(*Hub)
}

func newRig(t *testing.T, files map[string][]byte) *rig {
	r := &rig{T: t, server: hubtest.New()}
	t.Cleanup(r.server.Close)
	r.server.Put(repo, "main", files)
	endpoint, err := parseEndpoint(r.server.Hub.URL)
	if err != nil {
		t.Fatal(err)
	}
	r.settings = Settings{Endpoint: endpoint, Cache: filepath.Join(t.TempDir(), "hub")}
	return r
}

// open returns a Hub of small parts which waits for nothing.
func (r *rig) open() *Hub {
	r.Helper()
	o := r.options
	o.Note = func(s string) { r.mu.Lock(); r.notes = append(r.notes, s); r.mu.Unlock() }
	h, err := New(r.settings, o)
	if err != nil {
		r.Fatal(err)
	}
	r.Cleanup(h.Close)
	h.part, h.grain = 32<<10, 4<<10
	h.client.sleep = func(ctx context.Context, d time.Duration) error {
		r.mu.Lock()
		r.waits = append(r.waits, d)
		r.mu.Unlock()
		return ctx.Err()
	}
	if r.change != nil {
		r.change(h)
	}
	return h
}

// pull pulls by a name.
func (r *rig) pull(name string) (*Plan, error) {
	r.Helper()
	n, err := Parse(name)
	if err != nil {
		r.Fatal(err)
	}
	h := r.open()
	p, err := h.Plan(r.Context(), n)
	if err != nil {
		return nil, err
	}
	run := h.Start(p)
	err = run.Run(r.Context())
	if g := run.Progress(); err == nil && (g.Have != g.Size || g.FilesDone != g.Files) {
		r.Errorf("at the end the progress is %+v", g)
	}
	return p, err
}

func (r *rig) mustPull(name string) *Plan {
	r.Helper()
	p, err := r.pull(name)
	if err != nil {
		r.Fatal(err)
	}
	return p
}

// holds compares the snapshot with what it should be, and looks for leftovers.
func (r *rig) holds(p *Plan, want map[string][]byte) {
	r.Helper()
	found := 0
	filepath.WalkDir(p.Path, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		name, _ := filepath.Rel(p.Path, path)
		name = filepath.ToSlash(name)
		found++
		if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want[name]) {
			r.Errorf("%s has %d bytes (%v), want the %d of the hub", name, len(got), err, len(want[name]))
		}
		return nil
	})
	if found != len(want) {
		r.Errorf("%d files, want %d", found, len(want))
	}
	if left, _ := filepath.Glob(filepath.Join(r.settings.Cache, "*", "blobs", "*.*")); len(left) > 0 {
		r.Errorf("left behind: %q", left)
	}
}

func (r *rig) noted(part string) {
	r.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	if !strings.Contains(strings.Join(r.notes, "\n"), part) {
		r.Errorf("no note has %q: %q", part, r.notes)
	}
}

func TestPull(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	p := r.mustPull(repo)
	r.holds(p, wanted(files))
	if ref, err := os.ReadFile(filepath.Join(r.settings.Cache, "models--org--voice", "refs", "main")); err != nil || string(ref) != p.Commit {
		t.Errorf("ref %q, %v", ref, err)
	}
	link, err := os.Readlink(filepath.Join(p.Path, "speech_tokenizer", "config.json"))
	if want := "../../../blobs/" + r.server.Digest(files["speech_tokenizer/config.json"]); err != nil || filepath.ToSlash(link) != want {
		t.Errorf("link to %q, want %q, %v", link, want, err)
	}
	if r.server.Sent.Store(0); r.mustPull(repo).Have != p.Size {
		t.Error("the second pull did not find the files of the first")
	}
	for _, q := range r.server.Asked() {
		if q.Method == http.MethodGet && strings.Contains(q.Path, ".py") || strings.Contains(q.Path, ".bin") {
			t.Errorf("asked for %s", q.Path)
		}
	}
	if dir, err := r.settings.Find(Name{Repo: repo}); err != nil || dir != p.Path {
		t.Errorf("found %q, %v", dir, err)
	}
	if name, ok := RepoOf(p.Path); !ok || name != repo {
		t.Errorf("%s is of %q", p.Path, name)
	}
}

// A repository that changes in mid-way gives the files of one commit, and what two commits
// share is fetched once.
func TestPullOneCommit(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	later := checkpoint()
	later["vocab.json"] = []byte(`{"b": 1}`)
	r.server.SetFault(func(_ http.ResponseWriter, q *http.Request) bool {
		if strings.Contains(q.URL.Path, "/resolve/") {
			r.server.Put(repo, "main", later)
		}
		return false
	})
	first := r.mustPull(repo)
	r.holds(first, wanted(files))
	r.server.Sent.Store(0)
	second := r.mustPull(repo)
	r.holds(second, wanted(later))
	if first.Commit == second.Commit || r.server.Sent.Load() > 10_000 {
		t.Errorf("commits %s and %s, %d bytes were sent", first.Commit, second.Commit, r.server.Sent.Load())
	}
}

// Connections are cut at random bytes; everything arrives, and little is sent twice.
func TestPullCuts(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	rng, mu := rand.New(rand.NewPCG(3, 4)), sync.Mutex{}
	r.server.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
		mu.Lock()
		defer mu.Unlock()
		if q.Host != r.server.Contents.Listener.Addr().String() || rng.IntN(3) > 0 {
			return false
		}
		cutAfter(w, q, r.server, rng.IntN(20_000))
		return true
	})
	p := r.mustPull(repo)
	r.holds(p, wanted(files))
	r.noted("the connection was cut")
	if sent := r.server.Sent.Load(); sent > 2*p.Size {
		t.Errorf("%d bytes were sent for %d", sent, p.Size)
	}
}

// A context that ends in mid-way stands for a kill: the next pull fetches what is missing.
func TestPullResumes(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	kill, killed := context.WithCancel(t.Context())
	r.server.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
		if strings.Contains(q.Header.Get("Range"), "bytes=16") { // a part in the middle
			killed()
			panic(http.ErrAbortHandler) // what it still sent would be counted with the next pull's bytes
		}
		return false
	})
	h := r.open()
	p, err := h.Plan(t.Context(), Name{Repo: repo})
	if err != nil {
		t.Fatal(err)
	}
	if err := h.Start(p).Run(kill); !errors.Is(err, context.Canceled) {
		t.Fatal(err)
	}
	r.server.SetFault(nil)
	if _, err := r.settings.Find(Name{Repo: repo}); !errors.Is(err, ErrNotCached) {
		t.Errorf("half a model was found: %v", err)
	}
	again, err := r.open().Plan(t.Context(), Name{Repo: repo})
	if err != nil || again.Have == 0 || again.Have == again.Size {
		t.Fatalf("%d of %d bytes are there, %v", again.Have, again.Size, err)
	}
	r.server.Sent.Store(0)
	r.holds(r.mustPull(repo), wanted(files))
	const listing = 8 << 10
	if sent, missing := r.server.Sent.Load(), again.Size-again.Have; sent > missing+listing {
		t.Errorf("%d bytes were missing, %d were sent", missing, sent)
	}
}

// A file that changes between two parts is noticed by its ETag.
func TestPullChangesBetweenParts(t *testing.T) {
	for _, often := range []int{1, 1000} {
		files := checkpoint()
		r := newRig(t, files)
		r.options.Connections = 1
		n := 0
		r.server.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
			if q.Host != r.server.Contents.Listener.Addr().String() {
				return false
			}
			if n++; n%2 == 0 && n/2 <= often {
				w.Header().Set("Etag", `"other"`)
				w.Header().Set("Content-Length", "100000")
				w.Write(random(9, 100_000))
				return true
			}
			return false
		})
		p, err := r.pull(repo)
		r.noted("the file changed at the hub while it was being fetched; it is begun anew")
		if often == 1 {
			if err != nil {
				t.Fatal(err)
			}
			r.holds(p, wanted(files))
		} else if err == nil || !strings.Contains(err.Error(), "changed at the hub while it was being fetched, and so it was at the second attempt") {
			t.Errorf("error %v", err)
		}
	}
}

// A request to which nothing comes is given up and made again, for the rest.
func TestPullStalls(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	r.change = func(h *Hub) { h.client.stall = 300 * time.Millisecond }
	n, mu := 0, sync.Mutex{}
	release := make(chan struct{})
	t.Cleanup(func() { close(release) })
	r.server.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
		mu.Lock()
		n++
		stalls := n == 3 || n == 12
		mu.Unlock()
		if stalls {
			select {
			case <-release:
			case <-q.Context().Done():
			}
		}
		return stalls
	})
	r.holds(r.mustPull(repo), wanted(files))
	r.noted("nothing came for 300ms; trying again")
}

// The token goes to the hub alone, and into no message.
func TestPullToken(t *testing.T) {
	files := checkpoint()
	r := newRig(t, files)
	r.settings.Token, r.server.Token = "hf_secret", "hf_secret"
	r.holds(r.mustPull(repo), wanted(files))
	for _, q := range r.server.Asked() {
		own := q.Host == r.server.Hub.Listener.Addr().String()
		if (q.Authorization != "") != own {
			t.Errorf("%s %s got the authorization %q", q.Host, q.Path, q.Authorization)
		}
	}
	r.settings.Cache = t.TempDir()
	for _, tc := range []struct {
		name, token string
		change      func()
		want        string
	}{
		{"no token", "", func() {}, "has no such repository, or it is private or gated: HF_TOKEN opens those"},
		{"wrong token", "hf_other", func() {
			r.server.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
				hubtest.Fail(w, 401, "", "Invalid credentials in Authorization header")
				return true
			})
		}, "does not take the token of HF_TOKEN or the token file (Invalid credentials in Authorization header)"},
		{"gated", "hf_secret", func() { r.server.SetFault(nil); r.server.Gated = true }, "org/voice: is gated, and the account of HF_TOKEN has no access (Access to model org/voice is restricted.)"},
		{"gated without a token", "", func() { r.server.Token = "" }, "org/voice: is gated: accept its terms on its page, and set HF_TOKEN to a token of that account"},
	} {
		tc.change()
		r.settings.Token = tc.token
		_, err := r.pull(repo)
		if err == nil || !strings.HasSuffix(err.Error(), tc.want) {
			t.Errorf("%s: error %v, want %q", tc.name, err, tc.want)
		}
		if strings.Contains(err.Error(), "hf_") {
			t.Errorf("%s: the error shows the token: %v", tc.name, err)
		}
	}
	if s := r.settings; strings.Contains(s.String(), "secret") {
		t.Error("the settings show the token")
	}
}

func TestPullNotThere(t *testing.T) {
	r := newRig(t, checkpoint())
	r.server.Put("org/other", "main", map[string][]byte{"config.json": []byte(`{"model_type": "llama"}`), "model.safetensors": random(1, 5000)})
	r.server.Put("org/mute", "main", map[string][]byte{"config.json": []byte(`{"model_type": "qwen3_tts"}`), "model.safetensors": random(1, 5000)})
	r.server.Put("org/empty", "main", map[string][]byte{"README.md": nil})
	for name, change := range map[string]func(map[string][]byte){
		"org/deaf": func(f map[string][]byte) { delete(f, "speech_tokenizer/model.safetensors") },
		"org/renamed": func(f map[string][]byte) {
			f["weights.safetensors"] = f["model.safetensors"]
			delete(f, "model.safetensors")
		},
		"org/torn": func(f map[string][]byte) {
			f["model-1.safetensors"] = f["model.safetensors"]
			f["model.safetensors.index.json"] = []byte(`{"weight_map": {"a": "model-1.safetensors", "b": "model-2.safetensors"}}`)
			delete(f, "model.safetensors")
		},
	} {
		files := checkpoint()
		change(files)
		r.server.Put(name, "main", files)
	}
	r.server.Put("org/pickle", "main", map[string][]byte{"config.json": []byte(`{}`), "model.bin": nil})
	for name, want := range map[string]string{
		"org/none":                             "org/none: " + r.server.Hub.Listener.Addr().String() + " has no such repository, or it is private and HF_TOKEN does not open it",
		"org/voice@v2":                         "org/voice: the repository has no revision v2",
		"org/other":                            `org/other: config.json says model_type "llama", Mynah runs qwen3_tts; --include fetches all the same`,
		"org/empty":                            "org/empty: has no config.json, so it is no checkpoint that Mynah runs",
		"org/mute":                             "org/mute: has no vocab.json, so it is no checkpoint that Mynah runs; --include fetches all the same",
		"org/deaf":                             "org/deaf: has no speech_tokenizer/model.safetensors, so it is no checkpoint that Mynah runs; --include fetches all the same",
		"org/renamed":                          "org/renamed: has no model.safetensors, so it is no checkpoint that Mynah runs; --include fetches all the same",
		"org/torn":                             "org/torn: has no model-2.safetensors, so it is no checkpoint that Mynah runs; --include fetches all the same",
		"org/pickle":                           "org/pickle: has no weights as .safetensors, so it is no checkpoint that Mynah runs",
		"org/voice@" + strings.Repeat("1", 40): "org/voice: the repository has no revision " + strings.Repeat("1", 40),
	} {
		if _, err := r.pull(name); err == nil || err.Error() != want {
			t.Errorf("%s: error %v, want %q", name, err, want)
		}
	}
	if sent := r.server.Sent.Load(); sent > 50_000 {
		t.Errorf("%d bytes were sent for models that are not run", sent)
	}
	// With patterns it is fetched, and without them it is still no model.
	for _, name := range []string{"org/deaf", "org/renamed", "org/torn"} {
		r.options.Include = []string{"*"}
		if _, err := r.pull(name); err != nil {
			t.Error(err)
		}
		r.options.Include = nil
		if _, err := r.pull(name); err == nil || !strings.Contains(err.Error(), ", so it is no checkpoint that Mynah runs") {
			t.Errorf("%s is there, and not a model: error %v", name, err)
		}
	}
	r.options.Include = []string{"*.py"}
	if _, err := r.pull(repo); err == nil || err.Error() != "org/voice: none of its 12 files is included; code and pickles are never fetched (*.py)" {
		t.Errorf("error %v", err)
	}
	r.options.Include = []string{"*.PY", "pytorch*", "*.json", "*"}
	if _, err := r.pull(repo); err != nil {
		t.Error(err)
	}
	r.noted("org/voice: code and pickles are never fetched (*.PY,pytorch*)")
	r.options.Include = nil
	// A hub that does not say what it lacks is asked again.
	r.server.SetFault(func(w http.ResponseWriter, q *http.Request) bool {
		if strings.Contains(q.URL.Path, "/revision/") {
			w.WriteHeader(404)
			return true
		}
		return false
	})
	if _, err := r.pull("org/voice@v2"); err == nil || err.Error() != "org/voice: the repository has no revision v2" {
		t.Errorf("error %v", err)
	}
	r.server.Close()
	if _, err := r.pull(repo); err == nil || !strings.Contains(err.Error(), "cannot be reached: ") || !strings.HasSuffix(err.Error(), "tried 8 times") {
		t.Errorf("error %v", err)
	}
}
