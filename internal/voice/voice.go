// Package voice holds the built-in voice: a small checkpoint in the published
// layout, part of the binary, so that the first command speaks without a download.
//
// Its files are embedded as they are, or in a compact form of half the size (see compact.go).
// Either way FS shows the published files; what is compact is expanded while it is read, in a
// few milliseconds, into the reader's buffer and nowhere else.
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
	dir, err := fs.Sub(files, "eva")
	if err != nil {
		panic(err) // only a bad constant could do this
	}
	return expanding{dir}
}
