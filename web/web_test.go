package web

import (
	"bytes"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestFiles(t *testing.T) {
	files := Files("1.0 <beta>", 777)
	for _, name := range []string{Index, "client.js", "page/app.js", "page/worklet.js", "page/style.css", "page/icon.svg"} {
		if files[name].Data == nil {
			t.Errorf("no %s", name)
		}
	}
	for name, file := range files {
		if file.Type == "" || len(file.Data) == 0 || len(file.ETag) < 10 {
			t.Errorf("%s: type %q, tag %q, %d bytes", name, file.Type, file.ETag, len(file.Data))
		}
	}
	page := string(files[Index].Data)
	if !strings.Contains(page, "1.0 &lt;beta&gt;") || !strings.Contains(page, `content="777"`) || strings.Contains(page, "{{") {
		t.Errorf("page:\n%s", page)
	}
	if again := Files("2.0", 777); again[Index].ETag == files[Index].ETag || again["client.js"].ETag != files["client.js"].ETag {
		t.Error("tags do not follow the contents")
	}
}

var (
	imported = regexp.MustCompile(`(?:from |import\(|import |URL\()"(\.{0,2}/?[^"]+\.js)"`)
	linked   = regexp.MustCompile(`(?:src|href)="([^"#]+)"`)
	foreign  = regexp.MustCompile(`(?:src|href)="(?:https?:)?//|from "https?:|\burl\(|@import|innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(| style="| on[a-z]+="`)
)

// What a file asks for is among the files, and nothing is asked of anyone else. Nothing
// makes markup or code of text, and the page has none of its own within it.
func TestReferences(t *testing.T) {
	files := Files("", 1)
	for name, file := range files {
		for _, m := range imported.FindAllSubmatch(file.Data, -1) {
			if target := path.Join(path.Dir(name), string(m[1])); !strings.ContainsAny(string(m[1]), ":$") && files[target].Data == nil {
				t.Errorf("%s asks for %s, which is not there", name, target)
			}
		}
		// Examples in comments and snippets name servers of others.
		if found := foreign.Find(regexp.MustCompile(`(?m)^//.*$|`+"`[^`]*`").ReplaceAll(file.Data, nil)); found != nil {
			t.Errorf("%s has %s", name, found)
		}
	}
	served := map[string]bool{"openapi.json": true, "metrics": true}
	for _, m := range linked.FindAllSubmatch(files[Index].Data, -1) {
		if target := string(m[1]); files[target].Data == nil && !served[target] {
			t.Errorf("the page links to %s", target)
		}
	}
}

// The modules have tests of their own, which Node runs.
func TestModules(t *testing.T) {
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("no node on PATH")
	}
	if out, err := exec.Command(node, "--version").Output(); err != nil || !regexp.MustCompile(`^v(2\d|[3-9]\d|\d{3})\.`).Match(out) {
		t.Skipf("node is %s, wanted 20 or newer", bytes.TrimSpace(out))
	}
	modules, err := filepath.Glob("test/*.test.mjs") // Node 22 takes no folder
	if err != nil || len(modules) == 0 {
		t.Fatalf("no modules: %v", err)
	}
	if out, err := exec.Command(node, append([]string{"--test"}, modules...)...).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
