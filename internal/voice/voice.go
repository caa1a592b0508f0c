// Package voice holds the built-in voice: a small checkpoint in the published
// layout, part of the binary, so that the first command speaks without a download.
package voice

import (
	"embed"
	"io/fs"
)

// Name is the checkpoint's name; Speaker is its only preset speaker.
const (
	Name    = "eva (built in)"
	Speaker = "eva"
)

//go:embed eva
var files embed.FS

// FS returns the checkpoint's directory.
func FS() fs.FS {
	dir, err := fs.Sub(files, Speaker)
	if err != nil {
		panic(err) // only a bad constant could do this
	}
	return dir
}
