package hub

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Where there are no links, what another revision has is copied from its snapshot, if its
// content is what is wanted.
func TestPullCopiesTwins(t *testing.T) {
	for name, tc := range map[string]struct {
		change func(t *testing.T, s *store, p *Plan) // after the first pull
		known  bool                                  // before anything is read
		sent   int64
	}{
		"as it was":           {func(*testing.T, *store, *Plan) {}, true, 10_000},
		"without a manifest":  {func(t *testing.T, s *store, p *Plan) { remove(t, s.manifest(p.Commit)) }, false, 10_000},
		"links from now on":   {func(t *testing.T, s *store, p *Plan) { s.copies = false }, true, 10_000},
		"its content changed": {func(t *testing.T, s *store, p *Plan) { damage(t, filepath.Join(p.Path, "model.safetensors")) }, true, 320_000},
	} {
		t.Run(name, func(t *testing.T) {
			files, later := checkpoint(), checkpoint()
			later["vocab.json"] = []byte(`{"c": 1}`)
			later["other.safetensors"] = random(3, 100_000) // of the size of another
			r := newRig(t, files)
			r.settings.Copies = true
			first := r.mustPull(repo)
			s := newStore(r.settings, repo)
			tc.change(t, s, first)
			r.settings.Copies = s.copies
			r.server.Put(repo, "v2", later)
			plan, err := r.open().Plan(t.Context(), Name{repo, "v2"})
			if err != nil || (plan.Have >= 400_000) != tc.known {
				t.Errorf("%d of %d bytes are there by the plan, %v", plan.Have, plan.Size, err)
			}
			r.server.Sent.Store(0)
			r.holds(r.mustPull(repo+"@v2"), wanted(later))
			if sent := r.server.Sent.Load(); sent > 100_000+tc.sent || sent < 100_000 {
				t.Errorf("%d bytes were sent", sent)
			}
			if name != "its content changed" {
				r.holds(first, wanted(files))
			}
		})
	}
}

// Copies take room on the disk.
func TestPullCopiesNeedRoom(t *testing.T) {
	r := newRig(t, checkpoint())
	r.settings.Copies = true
	r.mustPull(repo)
	later := checkpoint()
	later["vocab.json"] = []byte(`{"c": 1}`)
	r.server.Put(repo, "v2", later)
	r.change = func(h *Hub) { h.free = func(string) int64 { return 100_000 } }
	if _, err := r.pull(repo + "@v2"); err == nil || !strings.Contains(err.Error(), "1 MiB are to be fetched or copied") {
		t.Errorf("error %v", err)
	}
}

func remove(t *testing.T, path string) {
	t.Helper()
	if err := os.Remove(path); err != nil {
		t.Fatal(err)
	}
}

func damage(t *testing.T, path string) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	data[100] ^= 1
	if err := os.WriteFile(path, data, 0o666); err != nil {
		t.Fatal(err)
	}
}
