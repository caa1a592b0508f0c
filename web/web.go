// Package web holds the page that the server shows at its root, and the module by which
// other pages play its speech: plain HTML, CSS and ES modules, embedded as they are in
// the folder static. docs/page.md describes them.
package web

import (
	"crypto/sha256"
	"embed"
	"encoding/base64"
	"html"
	"io/fs"
	"path"
	"strconv"
	"strings"
)

//go:embed static
var static embed.FS

// File is one file of the page.
type File struct {
	Type string // its Content-Type
	ETag string // quoted, another for other contents
	Data []byte
}

// types are the kinds of files that there are. Go's table of types asks the machine,
// which may know others.
var types = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// Index is the name of the page itself.
const Index = "index.html"

// Files returns all files by their path under the server's root, such as "client.js" and
// "page/app.js". The page tells version, and maxInput characters as the longest text.
func Files(version string, maxInput int) map[string]File {
	files := map[string]File{}
	err := fs.WalkDir(static, "static", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := static.ReadFile(name)
		if err != nil {
			return err
		}
		name = strings.TrimPrefix(name, "static/")
		if name == Index {
			data = fill(data, version, maxInput)
		}
		files[name] = File{Type: types[path.Ext(name)], ETag: etag(data), Data: data}
		return nil
	})
	if err != nil {
		panic("web: " + err.Error()) // embedded files can be read
	}
	return files
}

func fill(page []byte, version string, maxInput int) []byte {
	return []byte(strings.NewReplacer("{{version}}", html.EscapeString(version), "{{max-input}}", strconv.Itoa(maxInput)).Replace(string(page)))
}

func etag(data []byte) string {
	sum := sha256.Sum256(data)
	return `"` + base64.RawURLEncoding.EncodeToString(sum[:12]) + `"`
}
