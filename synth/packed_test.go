package synth

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mynah-tts/mynah/internal/paritytest"
)

// packedPrecisions are those that pack anything.
var packedPrecisions = []Precision{
	DefaultPrecision, FastPrecision,
	{Talker: "int4-a16", Predictor: "f32", Codec: "f32"}, {Talker: "bf16", Predictor: "int8", Codec: "f32"},
	{Talker: "f32", Predictor: "f32", Codec: "bf16"}, {Talker: "f32", Predictor: "f32", Codec: "int8"},
}

// must opens a model for a test.
func must(t *testing.T, path string, opts Options) *Model {
	t.Helper()
	opts.Threads = 2
	m, err := Open(path, opts)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { m.Close() })
	return m
}

// words is a request that any of the small models takes.
func words(m *Model) Request {
	r := Request{Text: "The same words again.", Seed: new(int64(7)), MaxFrames: 3}
	if m.cfg.Kind == Base {
		r.Reference = &Reference{XVector: make([]float32, m.cfg.Talker.Hidden)}
	}
	return r
}

// sameSpeech compares what two models say, bit for bit.
func sameSpeech(t *testing.T, what string, got, want *Model) {
	t.Helper()
	wantCodes, wantPCM, _ := say(t, want, words(want))
	gotCodes, gotPCM, _ := say(t, got, words(got))
	if !equalCodes(gotCodes, wantCodes) {
		t.Errorf("%s: other codes", what)
	}
	equalPCM(t, what, gotPCM, wantPCM)
}

// TestPackedFile speaks from packed files of all models at all precisions what packing
// at load speaks.
func TestPackedFile(t *testing.T) {
	for _, name := range []string{"tiny-custom", "tiny-base", "tiny-design"} {
		dir := paritytest.Own(t, name).Dir
		precisions := append(packedPrecisions, Float32Precision)
		if name != "tiny-custom" {
			precisions = precisions[:1]
		}
		for _, p := range precisions {
			file := filepath.Join(t.TempDir(), "m")
			packing, err := Pack(t.Context(), dir, file, p)
			if err != nil {
				t.Fatal(err)
			}
			if p.Talker == "int4-a8" && !(packing.Talker.Stored > 0 && packing.Talker.Stored < packing.Talker.Plain) {
				t.Errorf("%s %v: errors %v of the talker", name, p, packing.Talker)
			}
			m := must(t, file, Options{})
			if m.Info().Precision != p {
				t.Errorf("%s: precision %v, packed as %v", name, m.Info().Precision, p)
			}
			sameSpeech(t, name, m, must(t, dir, Options{Precision: p}))
		}
	}
}

// TestPackedFileIsTheSame packs twice, and over the first file.
func TestPackedFileIsTheSame(t *testing.T) {
	dir, file := paritytest.Own(t, "tiny-custom").Dir, filepath.Join(t.TempDir(), "m")
	var files [2][]byte
	for i := range files {
		if _, err := Pack(t.Context(), dir, file, Precision{}); err != nil {
			t.Fatal(err)
		}
		files[i], _ = os.ReadFile(file)
	}
	if len(files[0]) == 0 || !bytes.Equal(files[0], files[1]) {
		t.Error("two packings differ")
	}
}

// TestPackedPrecision asks a packed file for precisions that it has and has not.
func TestPackedPrecision(t *testing.T) {
	dir, file := paritytest.Own(t, "tiny-custom").Dir, filepath.Join(t.TempDir(), "m")
	if _, err := Pack(t.Context(), dir, file, DefaultPrecision); err != nil {
		t.Fatal(err)
	}
	a16 := Precision{Talker: "int4-a16"}
	sameSpeech(t, "16-bit activations", must(t, file, Options{Precision: a16}),
		must(t, dir, Options{Precision: Precision{Talker: "int4-a16", Predictor: "int8"}}))
	for want, p := range map[string]Precision{
		"talker precision f32 was asked for, the file holds int4-a8":           {Talker: "f32"},
		"predictor precision int4 was asked for, the file holds int8":          {Predictor: "int4"},
		"codec precision int8 was asked for, the file holds f32":               {Codec: "int8"},
		`codec precision is "int4", allowed are f32, bf16, int8`:               {Codec: "int4"},
		`talker precision is "int3", allowed are f32, bf16, int4-a16, int4-a8`: {Talker: "int3"},
		"predictor precision f32 was asked for, the file holds int8":           {Talker: "int4-a8", Predictor: "f32"},
	} {
		if _, err := Open(file, Options{Precision: p}); err == nil || err.Error() != "model file "+file+": "+want {
			t.Errorf("%v: %v, wanted %s", p, err, want)
		}
	}
}

// TestPackRefuses checks that no file but a packed one is written over.
func TestPackRefuses(t *testing.T) {
	dir := paritytest.Own(t, "tiny-custom").Dir
	other := filepath.Join(t.TempDir(), "other")
	if err := os.WriteFile(other, []byte("other"), 0o644); err != nil {
		t.Fatal(err)
	}
	for file, want := range map[string]string{
		other:               "exists and is no packed file of Mynah",
		filepath.Dir(other): "is a directory",
		filepath.Join(filepath.Dir(other), "none", "x"): "cannot write: directory ",
		filepath.Join(dir, "model.safetensors"):         "exists and is no packed file of Mynah",
	} {
		if _, err := Pack(t.Context(), dir, file, DefaultPrecision); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, wanted %s", file, err, want)
		}
	}
	if data, err := os.ReadFile(other); err != nil || string(data) != "other" {
		t.Errorf("the other file holds %q, error %v", data, err)
	}
}

// onceWhole is a context that ends when a folder has a file of so many bytes.
type onceWhole struct {
	context.Context
	dir  string
	size int64
}

func (c onceWhole) Err() error {
	entries, _ := os.ReadDir(c.dir)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Size() == c.size {
			return context.Canceled
		}
	}
	return nil
}

// TestPackEndsBeforeTheName ends the context when all is written and not yet compared: then
// there is no file, as the error says.
func TestPackEndsBeforeTheName(t *testing.T) {
	dir, file := paritytest.Own(t, "tiny-custom").Dir, filepath.Join(t.TempDir(), "m")
	packing, err := Pack(t.Context(), dir, file, Precision{})
	if err != nil {
		t.Fatal(err)
	}
	ends := onceWhole{t.Context(), t.TempDir(), packing.Bytes}
	if _, err := Pack(ends, dir, filepath.Join(ends.dir, "m"), Precision{}); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v, wanted the end of the context", err)
	}
	if left, err := os.ReadDir(ends.dir); err != nil || len(left) > 0 {
		t.Errorf("left %v, error %v", left, err)
	}
}

// TestCache opens a directory through an empty cache, again, after each kind of damage,
// and where nothing can be written.
func TestCache(t *testing.T) {
	dir, cache := paritytest.Own(t, "tiny-custom").Dir, filepath.Join(t.TempDir(), "cache")
	plain := must(t, dir, Options{Precision: DefaultPrecision})
	var warnings []string
	opts := Options{Precision: DefaultPrecision, Cache: cache, Warn: func(w string) { warnings = append(warnings, w) }}
	open := func(what string, hit bool, warned string) {
		t.Helper()
		warnings = nil
		m := must(t, dir, opts)
		sameSpeech(t, what, m, plain)
		if got := len(m.weights) == 3; got != hit {
			t.Errorf("%s: taken from the cache is %v", what, got)
		}
		if text := strings.Join(warnings, "\n"); warned == "" && text != "" || !strings.Contains(text, warned) || len(warnings) > 1 {
			t.Errorf("%s: warnings %q, wanted %q", what, warnings, warned)
		}
		m.Close()
	}
	open("empty", false, "")
	open("filled", true, "")
	files, err := filepath.Glob(filepath.Join(cache, "*-int4-int8-*.safetensors"))
	if err != nil || len(files) != 1 {
		t.Fatalf("cache holds %v, error %v", files, err)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		t.Fatal(err)
	}
	changed := bytes.Clone(good)
	changed[len(changed)/2] ^= 1
	for what, data := range map[string][]byte{"cut": good[:len(good)/2], "changed": changed, "emptied": nil, "foreign": []byte("hello, this is no such file")} {
		if err := os.WriteFile(files[0], data, 0o644); err != nil {
			t.Fatal(err)
		}
		open(what, false, "made anew")
		open(what+", then mended", true, "")
	}
	opts.Precision.Talker = "int4-a16"
	if m := must(t, dir, opts); len(m.weights) != 3 {
		t.Error("the other activations did not take the same matrices")
	}
	opts.Precision = DefaultPrecision
	opts.Cache = filepath.Join(files[0], "under a file")
	open("nowhere to write", false, "not kept")
}

// TestCacheInCompany opens a directory several times at once over an empty cache.
func TestCacheInCompany(t *testing.T) {
	dir, cache := paritytest.Own(t, "tiny-custom").Dir, t.TempDir()
	want := must(t, dir, Options{Precision: DefaultPrecision})
	var wg sync.WaitGroup
	models := make([]*Model, 3)
	for i := range models {
		wg.Go(func() {
			m, err := Open(dir, Options{Precision: DefaultPrecision, Cache: cache, Threads: 1, Warn: func(w string) { t.Error(w) }})
			if err != nil {
				t.Error(err)
			}
			models[i] = m
		})
	}
	wg.Wait()
	for _, m := range models {
		if m == nil {
			t.FailNow()
		}
		sameSpeech(t, "in company", m, want)
		m.Close()
	}
	files, err := os.ReadDir(cache)
	if err != nil || len(files) > 2 { // matrices and digests, nothing half written
		t.Errorf("the cache holds %v, error %v", files, err)
	}
}

// TestCacheIsForIntegers opens what needs no packing.
func TestCacheIsForIntegers(t *testing.T) {
	cache := filepath.Join(t.TempDir(), "cache")
	must(t, paritytest.Own(t, "tiny-custom").Dir, Options{Precision: Float32Precision, Cache: cache})
	if _, err := os.Stat(cache); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a cache appeared: %v", err)
	}
}

// BenchmarkOpen opens the checkpoint or packed file that MYNAH_BENCH_MODEL names, the
// directory through a cache that is filled beforehand.
func BenchmarkOpen(b *testing.B) {
	path := os.Getenv("MYNAH_BENCH_MODEL")
	if path == "" {
		b.Skip("MYNAH_BENCH_MODEL names no model")
	}
	opts := Options{Cache: os.Getenv("MYNAH_CACHE")}
	for i := -1; i < b.N; i++ {
		if i == 0 {
			b.ResetTimer()
		}
		m, err := Open(path, opts)
		if err != nil {
			b.Fatal(err)
		}
		m.Close()
	}
}
