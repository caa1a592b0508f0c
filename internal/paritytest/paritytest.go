// Package paritytest gives tests their goldens: small random checkpoints in the
// published layout, and the tensors that the reference implementation produced
// from them.
//
// A parity set is a folder with models/NAME (a checkpoint each) and golden/NAME
// (pairs of STAGE.json and STAGE.safetensors). Tests use testdata/parity of this
// repository, or the folder named by MYNAH_PARITY, so that another set with other
// sizes, seeds and texts can be run against the same code.
package paritytest

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"sort"
	"testing"

	"github.com/mynah-tts/mynah/internal/safetensors"
	"github.com/mynah-tts/mynah/internal/voice"
)

// Env names the variable that selects another parity set.
const Env = "MYNAH_PARITY"

// Root returns the folder of the parity set. A variable that names a folder
// without models or goldens fails the test: a set that silently ran nothing
// would prove nothing.
func Root(t testing.TB) string {
	t.Helper()
	root := os.Getenv(Env)
	if root == "" {
		root = filepath.Join(moduleRoot(t), "testdata", "parity")
	}
	for _, part := range []string{"models", "golden"} {
		if _, err := os.Stat(filepath.Join(root, part)); err != nil {
			t.Fatalf("paritytest: %s=%s is no parity set: %v", Env, root, err)
		}
	}
	return root
}

// moduleRoot walks up from the test's folder to the one that holds go.mod.
func moduleRoot(t testing.TB) string {
	t.Helper()
	dir, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for {
		if _, err := os.Stat(filepath.Join(dir, "go.mod")); err == nil {
			return dir
		}
		up := filepath.Dir(dir)
		if up == dir {
			t.Fatal("paritytest: no go.mod above the test's folder")
		}
		dir = up
	}
}

// Voice returns the path of a file of the built-in voice's goldens.
func Voice(t testing.TB, name string) string {
	t.Helper()
	return filepath.Join(moduleRoot(t), "testdata", "voice", name)
}

// VoiceDir returns a new directory with the files of the built-in voice as they were published.
func VoiceDir(t testing.TB) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.CopyFS(dir, voice.FS()); err != nil {
		t.Fatal(err)
	}
	return dir
}

// Model is one checkpoint of the set with its goldens.
type Model struct {
	Name   string
	Dir    string // the checkpoint
	Golden string // the folder of its goldens
}

// Models returns, sorted by name, the models whose goldens include stage
// (for example "talker"). A set without any fails the test.
func Models(t testing.TB, stage string) []Model {
	t.Helper()
	root := Root(t)
	files, err := filepath.Glob(filepath.Join(root, "golden", "*", stage+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var models []Model
	for _, f := range files {
		golden := filepath.Dir(f)
		m := Model{Name: filepath.Base(golden), Golden: golden}
		m.Dir = filepath.Join(root, "models", m.Name)
		if _, err := os.Stat(m.Dir); err == nil {
			models = append(models, m)
		}
	}
	if len(models) == 0 {
		t.Fatalf("paritytest: %s holds no model with a golden %q", root, stage)
	}
	sort.Slice(models, func(i, j int) bool { return models[i].Name < models[j].Name })
	return models
}

// Own returns a model of the repository's own set, whatever MYNAH_PARITY says: for
// tests that are about behaviour, not about numbers.
func Own(t testing.TB, name string) Model {
	t.Helper()
	root := filepath.Join(moduleRoot(t), "testdata", "parity")
	return Model{Name: name, Dir: filepath.Join(root, "models", name), Golden: filepath.Join(root, "golden", name)}
}

// Open maps a safetensors file of the goldens; it is closed when the test ends.
func Open(t testing.TB, dir, file string) *Tensors {
	t.Helper()
	set, err := safetensors.Open(os.DirFS(dir), file)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return &Tensors{set: set}
}

// Stage reads golden STAGE.json into spec and opens STAGE.safetensors.
func (m Model) Stage(t testing.TB, stage string, spec any) *Tensors {
	t.Helper()
	ReadJSON(t, filepath.Join(m.Golden, stage+".json"), spec)
	return Open(t, m.Golden, stage+".safetensors")
}

// Checkpoint maps the model's own weights.
func (m Model) Checkpoint(t testing.TB) *safetensors.Set {
	t.Helper()
	set, err := safetensors.OpenModel(os.DirFS(m.Dir), ".")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { set.Close() })
	return set
}

// ReadJSON reads a JSON file of a parity set into v.
func ReadJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, v); err != nil {
		t.Fatalf("paritytest: %s: %v", path, err)
	}
}

// Tensors are the tensors of one golden file.
type Tensors struct{ set *safetensors.Set }

// Has reports whether the file holds a tensor.
func (g *Tensors) Has(name string) bool {
	_, ok := g.set.Info(name)
	return ok
}

// Shape returns the shape of a tensor.
func (g *Tensors) Shape(t testing.TB, name string) []int {
	t.Helper()
	info, ok := g.set.Info(name)
	if !ok {
		t.Fatalf("paritytest: no tensor %q", name)
	}
	return info.Shape
}

// F32 returns a float32 tensor, row-major.
func (g *Tensors) F32(t testing.TB, name string) []float32 {
	t.Helper()
	x, err := g.set.F32(name, g.Shape(t, name)...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// I32 returns an int32 tensor, row-major.
func (g *Tensors) I32(t testing.TB, name string) []int32 {
	t.Helper()
	x, err := g.set.I32(name, g.Shape(t, name)...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// I8 returns an int8 tensor, row-major.
func (g *Tensors) I8(t testing.TB, name string) []int8 {
	t.Helper()
	x, err := g.set.I8(name, g.Shape(t, name)...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// U8 returns a uint8 tensor, row-major.
func (g *Tensors) U8(t testing.TB, name string) []byte {
	t.Helper()
	x, err := g.set.U8(name, g.Shape(t, name)...)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Want is one line of a golden's "compare" list.
type Want struct {
	Tensor string  `json:"tensor"`
	Shape  []int   `json:"shape"`
	Atol   float64 `json:"atol"`
	Exact  bool    `json:"exact"`
	Noise  float64 `json:"noise_max_abs"`
}

// Compare checks got against the tensor that want names, within want's
// tolerance, and returns the largest difference as a share of it.
func (g *Tensors) Compare(t testing.TB, want Want, got []float32) float64 {
	t.Helper()
	return Close(t, want.Tensor, got, g.F32(t, want.Tensor), want.Atol)
}

// Close checks that got equals want within an absolute tolerance and returns
// the largest difference as a share of it. NaN is never close to anything.
func Close(t testing.TB, what string, got, want []float32, atol float64) float64 {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, wanted %d", what, len(got), len(want))
		return math.Inf(1)
	}
	worst, at := 0.0, -1
	for i := range want {
		diff := math.Abs(float64(got[i]) - float64(want[i]))
		if !(diff <= worst) {
			worst, at = diff, i
		}
	}
	if !(worst <= atol) {
		t.Errorf("%s: [%d] is %g, wanted %g: off by %.3g, allowed %.3g", what, at, got[at], want[at], worst, atol)
	}
	if atol == 0 {
		return 0
	}
	return worst / atol
}

// Equal checks integers that must be equal.
func Equal[T int | int32](t testing.TB, what string, got, want []T) {
	t.Helper()
	if len(got) != len(want) {
		t.Errorf("%s: %d values, wanted %d", what, len(got), len(want))
	}
	for i := range min(len(got), len(want)) {
		if got[i] != want[i] {
			t.Errorf("%s: [%d] is %d, wanted %d", what, i, got[i], want[i])
			return
		}
	}
}
