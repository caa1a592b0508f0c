package main

import (
	"encoding/json"
	"fmt"
	"io"
	"runtime"
	"runtime/debug"

	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/kernel"
)

// versionCommand is `mynah version`.
type versionCommand struct {
	JSON bool `name:"json" help:"Print JSON."`
	config.Common
}

// version is what this program is.
type version struct {
	Version  string `json:"version"`            // of the module, "(devel)" for a build of a work tree
	Revision string `json:"revision,omitempty"` // of the work tree
	Modified bool   `json:"modified,omitempty"` // the work tree had changes
	Go       string `json:"go"`
	Platform string `json:"platform"`
	Level    string `json:"level"` // instruction level of the kernels
}

func readVersion() version {
	v := version{Version: "unknown", Go: runtime.Version(), Platform: platform, Level: kernel.Level().String()}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	if info.Main.Version != "" {
		v.Version = info.Main.Version
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			v.Revision = s.Value
		case "vcs.modified":
			v.Modified = s.Value == "true"
		}
	}
	return v
}

// Run prints the version.
func (c *versionCommand) Run(p *program) error {
	v := readVersion()
	if c.JSON {
		return printJSON(p.stdout, v)
	}
	revision := ""
	if v.Revision != "" {
		revision = ", revision " + v.Revision
		if v.Modified {
			revision += " with changes"
		}
	}
	_, err := fmt.Fprintf(p.stdout, "mynah %s%s, %s, %s, kernels %s\n", v.Version, revision, v.Go, v.Platform, v.Level)
	return err
}

func printJSON(w io.Writer, v any) error {
	encoder := json.NewEncoder(w)
	encoder.SetEscapeHTML(false)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
