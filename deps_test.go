// Package mynah_test holds the rules of the repository as tests: who may import
// whom, that every package says what it is, and that every dependency is explained.
package mynah_test

import (
	"encoding/json"
	"errors"
	"go/parser"
	"go/token"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/mynah-tts/mynah"

// layers is the table of docs/architecture.md: what of ours each package may
// import, tests left out. A folder stands for everything in it.
var layers = map[string][]string{
	"cmd/mynah":            {"server", "synth", "client", "internal/batch", "internal/fleet", "internal/hub", "internal/voices", "internal/audio", "internal/bench", "internal/config", "internal/cpu", "internal/kernel", "internal/nn", "internal/osfile", "internal/packed", "internal/plainjson", "internal/profile", "internal/safetensors", "internal/text", "internal/tokenizer", "internal/voice", "codec", "talker", "predictor"},
	"client":               {},
	"server":               {"synth", "internal/audio", "internal/osfile", "internal/voices", "internal/wyoming", "web"},
	"web":                  {},
	"synth":                {"talker", "talker/prompt", "predictor", "codec", "codec/encoder", "codec/speaker", "sampler", "internal/audio", "internal/cpu", "internal/kernel", "internal/nn", "internal/normalize", "internal/packed", "internal/plainjson", "internal/profile", "internal/safetensors", "internal/team", "internal/text", "internal/tokenizer", "internal/voice"},
	"talker":               {"internal/kernel", "internal/nn", "internal/safetensors"},
	"talker/prompt":        {"talker", "internal/kernel", "internal/nn", "internal/tokenizer"},
	"predictor":            {"internal/kernel", "internal/nn", "internal/safetensors"},
	"codec":                {"internal/kernel", "internal/nn", "internal/plainjson", "internal/safetensors", "internal/team"},
	"codec/encoder":        {"internal/kernel", "internal/nn", "internal/plainjson", "internal/safetensors", "internal/team"},
	"codec/speaker":        {"internal/audio/mel", "internal/kernel", "internal/nn", "internal/plainjson", "internal/safetensors", "internal/team"},
	"sampler":              {},
	"internal/nn":          {"internal/kernel", "internal/quant", "internal/safetensors", "internal/team"},
	"internal/bench":       {"internal/kernel", "internal/nn", "internal/team"},
	"internal/kernel":      {"internal/cpu"},
	"internal/team":        {},
	"internal/cpu":         {},
	"internal/safetensors": {},
	"internal/tokenizer":   {},
	"internal/text":        {},
	"internal/normalize":   {},
	"internal/audio":       {"internal/audio/mp3", "internal/osfile"},
	"internal/audio/mp3":   {},
	"internal/audio/mel":   {},
	"internal/batch":       {"synth", "internal/audio", "internal/osfile", "internal/text", "internal/batch/loudness"},

	"internal/batch/loudness": {},
	"internal/fleet":          {"synth", "internal/batch", "internal/osfile"},
	"internal/hub":            {"internal/osfile"},
	"internal/hub/hubtest":    {},
	"internal/osfile":         {},
	"internal/voices":         {"synth", "internal/osfile", "internal/plainjson"},
	"internal/wyoming":        {},
	"internal/config":         {},
	"internal/plainjson":      {},
	"internal/profile":        {},
	"internal/packed":         {"internal/osfile", "internal/safetensors"},
	"internal/quant":          {"internal/kernel"},
	"internal/voice":          {},
	"internal/paritytest":     {"internal/safetensors", "internal/voice"},
	"tools/fullsize":          {"internal/safetensors"},
}

// goPackage is what go list says of a package.
type goPackage struct {
	ImportPath, Dir string
	GoFiles         []string
	Imports         []string
}

func list(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Dir,GoFiles,Imports", "./...")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var all []goPackage
	for dec := json.NewDecoder(strings.NewReader(string(out))); ; {
		var p goPackage
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatal(err)
		}
		all = append(all, p)
	}
}

func TestImports(t *testing.T) {
	for _, p := range list(t) {
		if p.ImportPath == module {
			continue
		}
		name := strings.TrimPrefix(p.ImportPath, module+"/")
		allowed, known := layers[name]
		if !known {
			t.Errorf("package %s is in no layer: add it here and to docs/architecture.md", name)
			continue
		}
		for _, imported := range p.Imports {
			if ours, ok := strings.CutPrefix(imported, module+"/"); ok && !slices.Contains(allowed, ours) {
				t.Errorf("package %s imports %s, which its layer must not", name, ours)
			}
		}
	}
}

func TestPackageComments(t *testing.T) {
	for _, p := range list(t) {
		documented := len(p.GoFiles) == 0
		for _, file := range p.GoFiles {
			f, err := parser.ParseFile(token.NewFileSet(), filepath.Join(p.Dir, file), nil, parser.ParseComments|parser.PackageClauseOnly)
			if err != nil {
				t.Fatal(err)
			}
			documented = documented || f.Doc != nil && len(f.Doc.Text()) > 40
		}
		if !documented {
			t.Errorf("package %s has no doc comment", p.ImportPath)
		}
	}
}

// TestDependencies compares the direct requirements of go.mod with DEPENDENCIES.md:
// each line there begins with the module's path and gives a reason.
func TestDependencies(t *testing.T) {
	doc, err := os.ReadFile("DEPENDENCIES.md")
	if err != nil {
		t.Fatal(err)
	}
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	explained := map[string]bool{}
	for line := range strings.Lines(string(doc)) {
		if cells := strings.Split(line, "|"); len(cells) > 3 && strings.Contains(cells[1], "/") {
			explained[strings.Trim(cells[1], " `")] = true
		}
	}
	required := map[string]bool{}
	for line := range strings.Lines(string(mod)) {
		fields := strings.Fields(line)
		if len(fields) >= 2 && strings.Contains(fields[0], "/") && !strings.Contains(line, "// indirect") {
			required[fields[0]] = true
		}
	}
	for path := range required {
		if !explained[path] {
			t.Errorf("go.mod requires %s, DEPENDENCIES.md does not say why", path)
		}
	}
	for path := range explained {
		if !required[path] {
			t.Errorf("DEPENDENCIES.md explains %s, which go.mod does not require", path)
		}
	}
	if len(required) == 0 {
		t.Error("no requirement found in go.mod")
	}
}

// TestRepositorySize keeps a clone small: the tracked files have a budget.
func TestRepositorySize(t *testing.T) {
	// Bytes. Of them 12 MB are there twice: tools/voice/archive has the weights that training
	// goes on from, which are those of the embedded voice since they were exported.
	const budget = 88 << 20
	out, err := exec.Command("git", "ls-files", "-z").Output()
	if err != nil {
		t.Skip("no git checkout here")
	}
	var total int64
	for name := range strings.SplitSeq(strings.TrimRight(string(out), "\x00"), "\x00") {
		if info, err := os.Lstat(name); err == nil {
			total += info.Size()
		}
	}
	if total > budget {
		t.Errorf("the repository has %d bytes, its budget is %d", total, budget)
	}
}
