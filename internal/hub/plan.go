package hub

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mynah-tts/mynah/internal/osfile"
)

// Options say how a pull is done.
type Options struct {
	Selection
	Connections int          // requests at once, 1 to MaxConnections; 0 takes Connections
	NoWait      bool         // fail if another pull of the repository is running
	Verify      bool         // read what is there and compare it with its digest
	Agent       string       // the User-Agent
	Note        func(string) // or nil; is told in one sentence what was met with and got over
}

// Plan is what a pull would do.
type Plan struct {
	Name   Name
	Commit string // that the revision is at
	Path   string // of the snapshot's folder
	Files  []File // that are to be there, by path
	Size   int64  // bytes of them
	Have   int64  // bytes of these that are there
}

// Hub fetches from one hub into one cache.
type Hub struct {
	settings Settings
	options  Options
	client   *client
	store    func(repo string) *store
	part     int64 // bytes that one request asks for
	grain    int64 // bytes between two lines of a journal
	free     func(dir string) int64
	writeAt  func(f writerAt, p []byte, at int64) (int, error)
}

type writerAt interface {
	WriteAt(p []byte, at int64) (int, error)
}

// New returns a Hub. Close it.
func New(s Settings, o Options) (*Hub, error) {
	if err := o.Check(); err != nil {
		return nil, err
	}
	if o.Connections < 0 || o.Connections > MaxConnections {
		return nil, fmt.Errorf("%d connections, allowed are 1 to %d", o.Connections, MaxConnections)
	}
	o.Connections = cmp.Or(o.Connections, Connections)
	h := &Hub{settings: s, options: o, client: newClient(s, o), part: partSize, grain: journalGrain, free: osfile.Free}
	h.store = func(repo string) *store { return newStore(s, repo) }
	h.writeAt = func(f writerAt, p []byte, at int64) (int, error) { return f.WriteAt(p, at) }
	return h, nil
}

// Close closes its connections.
func (h *Hub) Close() { h.client.close() }

// Plan asks the hub which files there are. It writes nothing.
func (h *Hub) Plan(ctx context.Context, n Name) (*Plan, error) {
	commit, err := h.client.commit(ctx, n)
	if err != nil {
		return nil, err
	}
	all, err := h.client.list(ctx, n, commit)
	if err != nil {
		return nil, err
	}
	s := h.store(n.Repo)
	p := &Plan{Name: n, Commit: commit, Path: s.snapshot(commit)}
	twins := s.twins(commit)
	for _, f := range all {
		if !h.options.takes(f.Path) {
			continue
		}
		if err := checkPath(f.Path); err != nil {
			return nil, fmt.Errorf("%s: %w", n, err)
		}
		if f.Digest == "" {
			return nil, fmt.Errorf("%s: the listing has no digest of %s, so that it cannot be checked", n, f.Path)
		}
		if s.state(commit, &f); hasTwin(twins, &f) {
			f.Have = f.Size
		}
		p.Files = append(p.Files, f)
		p.Size += f.Size
		p.Have += f.Have
	}
	if err := h.checkPlan(p, all); err != nil {
		return nil, err
	}
	return p, s.checkRef(n, commit)
}

// checkPlan refuses a plan that comes to no model, before anything is fetched.
func (h *Hub) checkPlan(p *Plan, all []File) error {
	never := strings.Join(h.options.refusedOnly(all), ",")
	switch {
	case len(p.Files) > maxChosen:
		return fmt.Errorf("%s: %d files are to be fetched, allowed are %d", p.Name, len(p.Files), maxChosen)
	case len(p.Files) == 0 && never != "":
		return fmt.Errorf("%s: none of its %d files is included; code and pickles are never fetched (%s)", p.Name, len(all), never)
	case len(h.options.Include) > 0 && len(p.Files) == 0:
		return fmt.Errorf("%s: none of its %d files is included", p.Name, len(all))
	case len(h.options.Include) > 0 || len(h.options.Exclude) > 0:
		if never != "" {
			h.client.note(fmt.Sprintf("%s: code and pickles are never fetched (%s)", p.Name, never))
		}
		return nil
	}
	has := func(match func(string) bool) bool {
		return slices.ContainsFunc(p.Files, func(f File) bool { return match(f.Path) })
	}
	switch {
	case !has(func(s string) bool { return s == configFile }):
		return fmt.Errorf("%s: has no %s, so it is no checkpoint that Mynah runs", p.Name, configFile)
	case !has(func(s string) bool { return filepath.Ext(s) == weightsEnd && !strings.Contains(s, "/") }):
		return fmt.Errorf("%s: has no weights as %s, so it is no checkpoint that Mynah runs", p.Name, weightsEnd)
	}
	return nil
}

// Files of a checkpoint.
const (
	configFile = "config.json"
	weightsEnd = ".safetensors"
	codecDir   = "speech_tokenizer"
)

// Kind is what a checkpoint's config.json says that it is.
type Kind struct {
	Type string `json:"model_type"`     // qwen3_tts for those that Mynah runs
	Task string `json:"tts_model_type"` // custom_voice, voice_design, base
	Size string `json:"tts_model_size"` // 0b6, 1b7
}

// runs is the model_type of checkpoints that Mynah runs.
const runs = "qwen3_tts"

// readKind reads a config.json.
func readKind(path string) (Kind, error) {
	var k Kind
	data, err := readBounded(path, maxConfig)
	if err != nil {
		return k, err
	}
	if err := json.Unmarshal(data, &k); err != nil {
		return k, fmt.Errorf("%s: is no JSON of a checkpoint", configFile)
	}
	return k, nil
}
