// Package voice holds the built-in voice: a small English checkpoint in the published
// layout with two speakers (see docs/voice.md), part of the binary, so that the first command speaks without a download.
//
// Its files are embedded as they are, or in a compact form of half the size (see compact.go).
// Either way FS shows the published files; what is compact is expanded while it is read, in a
// few milliseconds, into the reader's buffer and nowhere else.
package voice

import (
	"embed"
	"io/fs"
)

// Name is the checkpoint's name.
const Name = "english (built in)"

//go:embed english
var files embed.FS

// FS returns the checkpoint's directory.
func FS() fs.FS {
	dir, err := fs.Sub(files, "english")
	if err != nil {
		panic(err) // only a bad constant could do this
	}
	return expanding{dir}
}
