package main

import (
	"bufio"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"

	"golang.org/x/term"

	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/hub"
)

// locateModel turns what --model says into a path: a path that exists is itself, a name is
// the folder of that model in the cache of mynah pull.
func locateModel(name string) (string, error) {
	if name == "" {
		return "", nil
	}
	if _, err := os.Stat(name); err == nil || !errors.Is(err, fs.ErrNotExist) {
		return name, nil
	}
	n, err := hub.Parse(name)
	if err != nil {
		return name, nil // whoever opens it says that it is not there
	}
	settings, err := hub.FromEnvironment(os.Getenv)
	if settings.Cache == "" {
		return name, err
	}
	dir, err := settings.Find(n)
	switch {
	case err == nil:
		return dir, nil
	case errors.Is(err, hub.ErrNotCached) && !strings.ContainsAny(name, "/@") && !settings.Has(n.Repo):
		return name, nil
	}
	return name, fmt.Errorf("model directory %s: no such file or directory, and %w", name, err)
}

// locate has the flags name a path.
func (f *modelFlags) locate() (err error) {
	f.Model, err = locateModel(f.Model)
	return err
}

// modelName is what to call a model that was opened by a path: the name of its folder, or of
// its repository.
func modelName(opened string) string {
	if repo, ok := hub.RepoOf(opened); ok {
		return path.Base(repo)
	}
	return filepath.Base(opened)
}

// modelsCommand is `mynah models`.
type modelsCommand struct {
	List   modelsListCommand   `cmd:"" help:"List the models in the cache."`
	Remove modelsRemoveCommand `cmd:"" help:"Remove a model from the cache."`
}

// modelsListCommand is `mynah models list`.
type modelsListCommand struct {
	All   bool   `help:"List models that Mynah does not run as well."`
	JSON  bool   `name:"json" help:"Print JSON."`
	Cache string `help:"Folder that keeps packed matrices of checkpoint directories." placeholder:"DIR" type:"path" unset:"mynah/packed in the user's cache directory"`
	config.Common
}

// modelList is what models list prints.
type modelList struct {
	Cache  string       `json:"cache"`
	Models []hub.Cached `json:"models"`
	Packed packedList   `json:"packed"`
}

// packedList is what is in the cache of packed matrices.
type packedList struct {
	Path  string `json:"path"` // "" if there is none
	Files int    `json:"files"`
	Size  int64  `json:"size_bytes"`
}

// Help is what the help of models list adds.
func (c *modelsListCommand) Help() string {
	return "HF_HOME or HF_HUB_CACHE tell where the cache is. Sizes are of what a revision has, shared with others or not.\n\n" + plainCodes + config.Precedence
}

// Run lists.
func (c *modelsListCommand) Run(p *program) error {
	settings, err := hub.FromEnvironment(os.Getenv)
	if settings.Cache == "" {
		return usageErrorf("%v", err)
	}
	l := modelList{Cache: settings.Cache}
	if l.Models, err = settings.List(); err != nil {
		return err
	}
	if !c.All {
		l.Models = slices.DeleteFunc(l.Models, func(m hub.Cached) bool { return !m.Runs })
	}
	l.Packed = listPacked((&modelFlags{computeFlags: computeFlags{Cache: c.Cache}}).cacheDir())
	if c.JSON {
		return printJSON(p.stdout, l)
	}
	return l.print(p)
}

// listPacked counts the files of packed matrices.
func listPacked(dir string) packedList {
	l := packedList{Path: dir}
	entries, err := os.ReadDir(dir)
	if dir == "" || err != nil {
		return l
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() && filepath.Ext(e.Name()) == ".safetensors" {
			l.Files++
			l.Size += info.Size()
		}
	}
	return l
}

// print prints a table.
func (l *modelList) print(p *program) error {
	if len(l.Models) == 0 {
		p.note("no models in the cache %s", l.Cache)
	} else {
		w := tabwriter.NewWriter(p.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(w, "MODEL\tREVISION\tCOMMIT\tKIND\tSIZE\tPATH")
		for _, m := range l.Models {
			kind := strings.TrimSpace(m.Kind.Task + " " + m.Kind.Size)
			if kind == "" {
				kind = m.Kind.Type
			}
			if kind == "" {
				kind = "unknown"
			}
			bytes := size(m.Size)
			if m.Missing != "" {
				bytes += ", " + m.Missing + " is missing"
			}
			revisions := strings.Join(m.Revisions, ",")
			if revisions == "" {
				revisions = "-"
			}
			fmt.Fprintf(w, "%s\t%s\t%.12s\t%s\t%s\t%s\n", m.Repo, oneLine(revisions), m.Commit, oneLine(kind), oneLine(bytes), oneLine(m.Path))
		}
		if err := w.Flush(); err != nil {
			return err
		}
	}
	for i, m := range l.Models {
		if m.Partial > 0 && (i == 0 || l.Models[i-1].Repo != m.Repo) {
			p.note("%s: %s of unfinished files, which mynah pull goes on with and mynah models remove removes", m.Repo, size(m.Partial))
		}
	}
	if l.Packed.Files > 0 {
		p.note("packed matrices: %s, %s in %s", fileCount(l.Packed.Files), size(l.Packed.Size), l.Packed.Path)
	}
	return nil
}

// modelsRemoveCommand is `mynah models remove`.
type modelsRemoveCommand struct {
	Name  string `arg:"" name:"repo" help:"Model to remove: ORG/NAME, or NAME alone, for all its revisions; with @REVISION one."`
	Yes   bool   `short:"y" help:"Do not ask."`
	Quiet bool   `short:"q" help:"Print errors only."`
	config.Common
}

// Help is what the help of models remove adds.
func (c *modelsRemoveCommand) Help() string {
	return "Files that other revisions have as well stay. A revision goes with all its names. Packed matrices of the model are not removed.\n\n" + plainCodes + config.Precedence
}

// Run removes.
func (c *modelsRemoveCommand) Run(p *program) error {
	name, err := hub.Parse(c.Name)
	if err != nil {
		return usageErrorf("%v", err)
	}
	settings, err := hub.FromEnvironment(os.Getenv)
	if settings.Cache == "" {
		return usageErrorf("%v", err)
	}
	r, err := settings.Removal(name)
	if err != nil {
		return err
	}
	if !c.Yes {
		if err := c.ask(p, r); err != nil {
			return err
		}
	}
	if err := r.Run(); err != nil {
		return err
	}
	if !c.Quiet {
		p.note("removed %s, %s%s", name, size(r.Frees), alsoGone(name, r))
	}
	return nil
}

// alsoGone names what goes with a revision that was named: the other names of its commit.
func alsoGone(name hub.Name, r *hub.Removal) string {
	if name.Revision == "" {
		return ""
	}
	var others []string
	for _, m := range r.Gone {
		for _, revision := range m.Revisions {
			if revision != name.Revision {
				others = append(others, m.Repo+"@"+revision)
			}
		}
	}
	switch len(others) {
	case 0:
		return ""
	case 1:
		return "; with it went " + others[0] + ", a name of the same commit"
	}
	return "; with it went " + strings.Join(others, ", ") + ", names of the same commit"
}

// ask asks whether it is to be done.
func (c *modelsRemoveCommand) ask(p *program, r *hub.Removal) error {
	if !term.IsTerminal(int(p.stdin.Fd())) {
		return usageErrorf("standard input is no terminal to ask at: add --yes")
	}
	for _, m := range r.Gone {
		names := strings.Join(m.Revisions, ", ")
		if names == "" {
			names = "no name"
		}
		fmt.Fprintf(p.stderr, "%s at %.12s (%s)\n", m.Repo, m.Commit, oneLine(names))
	}
	fmt.Fprintf(p.stderr, "Remove, and free %s? [y/N] ", size(r.Frees))
	answer, _ := bufio.NewReader(p.stdin).ReadString('\n')
	switch strings.ToLower(strings.TrimSpace(answer)) {
	case "y", "yes":
		return nil
	}
	return &exitError{exitFailed, "nothing was removed"}
}
