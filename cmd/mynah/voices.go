package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/voices"
	"github.com/mynah-tts/mynah/synth"
)

// voicesFlags say where voices are kept.
type voicesFlags struct {
	Voices string `help:"Folder of the voices that mynah voices add keeps, for Base checkpoints; off is none." placeholder:"DIR" type:"path" unset:"mynah/voices in the user's data folder"`
}

// keepFlags bound what is kept.
type keepFlags struct {
	MaxVoices int `help:"Voices that are kept." placeholder:"N" range:"1,100000" unset:"1000" group:"limits"`
}

// noVoices is the value of --voices for none.
const noVoices = "off"

// writable opens the folder to change it.
func (f *voicesFlags) writable(p *program, most int) (*voices.Store, error) {
	if f.Voices == noVoices {
		return nil, usageErrorf("%s: off keeps no voices, name a folder", p.parser.Origin("voices"))
	}
	store := f.store(most)
	if store == nil {
		return nil, usageErrorf("--voices: %s", noDataFolder)
	}
	return store, nil
}

// noDataFolder is why a user without a home keeps no voices.
const noDataFolder = "there is no data folder of the user's, name one"

// store opens the folder, which need not be there; nil if there is none, or shall be none.
func (f *voicesFlags) store(most int) *voices.Store {
	dir := cmp.Or(f.Voices, voices.DefaultDir())
	if dir == "" || f.Voices == noVoices {
		return nil
	}
	return voices.Open(dir, most)
}

// whyNone tells why there is no store.
func (f *voicesFlags) whyNone() string {
	if f.Voices == noVoices {
		return "--voices off keeps none"
	}
	return noDataFolder + " with --voices"
}

// applyVoice puts a voice that is kept into a request that names it, and returns its name.
// Presets stay what they are.
func (f *voicesFlags) applyVoice(model voices.Checkpoint, r *synth.Request) (kept string, err error) {
	name := r.Voice
	if name == "" {
		return "", nil
	}
	store := f.store(0)
	if store == nil {
		if info := model.Info(); info.Kind == synth.Base && len(info.Speakers) == 0 && r.Reference == nil {
			return "", &synth.RequestError{Param: "voice", Message: fmt.Sprintf("there is no voice %q: %s", name, f.whyNone())}
		}
		return "", nil // the engine knows its presets
	}
	if err := store.Apply(r, model); err != nil || r.Voice != "" {
		return "", plainVoices(err)
	}
	if v, err := store.Get(name); err == nil { // as it is written
		name = v.Name
	}
	return name, nil
}

// plainVoices words an error of package voices for the terminal.
func plainVoices(err error) error {
	var e *voices.Error
	switch {
	case !errors.As(err, &e):
		return err
	case e.Kind == voices.Disk:
		return &exitError{exitFailed, "the folder of voices " + e.Message}
	case e.Kind == voices.BadValue:
		return usageErrorf("%s", e.Message)
	}
	return &exitError{exitFailed, e.Message}
}

// voicesCommand is `mynah voices`.
type voicesCommand struct {
	List   voicesListCommand   `cmd:"" default:"withargs" help:"List the voices that requests may name."`
	Add    voicesAddCommand    `cmd:"" help:"Keep a voice that was heard in a recording."`
	Remove voicesRemoveCommand `cmd:"" help:"Remove a voice that is kept."`
}

// voicesListCommand is `mynah voices list`.
type voicesListCommand struct {
	modelFlags
	voicesFlags
	JSON bool `name:"json" help:"Print JSON."`
	config.Common
}

// Help is what the help of voices list adds.
func (c *voicesListCommand) Help() string {
	return `Lists the preset voices of the checkpoint, and the voices that are kept. Those speak with the checkpoint alone that they were made with.

` + plainCodes + config.Precedence
}

// The kinds of voices that are listed.
const (
	kindPreset = "preset"
	kindKept   = "kept"
)

// voiceLine is one voice as it is printed.
type voiceLine struct {
	Name        string     `json:"name"`
	Kind        string     `json:"kind"`
	Usable      bool       `json:"usable"`            // with the checkpoint at hand
	Problem     string     `json:"problem,omitempty"` // why not, unless it is of another
	Language    string     `json:"language,omitempty"`
	Seconds     float64    `json:"seconds,omitempty"` // of the clip
	Mode        string     `json:"mode,omitempty"`
	Text        string     `json:"text,omitempty"`
	Description string     `json:"description,omitempty"`
	Consent     string     `json:"consent,omitempty"`
	Created     *time.Time `json:"created,omitempty"`
	Model       string     `json:"model,omitempty"`
	Digest      string     `json:"model_digest,omitempty"`
}

// keptLine is a voice that is kept.
func keptLine(v *voices.Voice, digest string) voiceLine {
	return voiceLine{
		Name: v.Name, Kind: kindKept, Usable: v.Digest == digest && v.Unfit == "", Problem: v.Unfit, Language: v.Language, Seconds: v.Seconds, Mode: v.Mode, Text: v.Text,
		Description: v.Description, Consent: v.Consent, Created: &v.Created, Model: v.Model, Digest: v.Digest,
	}
}

// Run lists.
func (c *voicesListCommand) Run(p *program) error {
	if unknown := p.parser.UnknownVariables(); unknown != "" {
		p.warn(unknown)
	}
	store := c.store(0)
	c.warn = p.warn
	ctx, _ := catchInterrupts()
	model, err := c.openPlain(ctx)
	if err != nil {
		return err
	}
	defer model.Close()
	lines, problems, err := c.lines(model, store)
	if err != nil {
		return err
	}
	for _, problem := range problems {
		p.warn(problem)
	}
	info, folder := model.Info(), c.Voices // off, or none
	if store != nil {
		folder = store.Dir()
	}
	switch {
	case c.JSON:
		return printJSON(p.stdout, map[string]any{"model": info.Name, "folder": folder, "voices": lines, "problems": append([]string{}, problems...)})
	case len(lines) == 0 && store == nil:
		p.note("%s has no preset voices, and none are kept: %s", voices.ModelName(info.Name), c.whyNone())
	case len(lines) == 0:
		p.note("%s has no preset voices, and none are kept in %s; mynah voices add NAME CLIP keeps one", voices.ModelName(info.Name), folder)
	default:
		return printVoices(p, lines)
	}
	return nil
}

// lines are the voices of a model, and those of a store that is not nil.
func (c *voicesListCommand) lines(model *synth.Model, store *voices.Store) (lines []voiceLine, problems []string, err error) {
	info := model.Info()
	lines = []voiceLine{}
	for _, name := range info.Speakers {
		lines = append(lines, voiceLine{Name: name, Kind: kindPreset, Usable: true})
	}
	if store == nil {
		return lines, nil, nil
	}
	store.CheckWith(model.CheckReference)
	kept, problems, err := store.List()
	if err != nil {
		return nil, nil, plainVoices(err)
	}
	digest := ""
	if len(kept) > 0 && info.Kind == synth.Base {
		if digest, err = model.Digest(); err != nil {
			return nil, nil, err
		}
	}
	for i := range kept {
		line := keptLine(&kept[i], digest)
		if line.Digest != digest {
			line.Problem = "" // it is of another, and fits that
		}
		lines = append(lines, line)
	}
	return lines, problems, nil
}

// printVoices writes a table.
func printVoices(p *program, lines []voiceLine) error {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tKIND\tLANGUAGE\tSECONDS\tMODE\tDESCRIPTION")
	for _, l := range lines {
		seconds, note := "-", l.Description
		if l.Kind == kindKept {
			seconds = fmt.Sprintf("%.1f", l.Seconds)
		}
		switch {
		case l.Problem != "":
			note = strings.TrimSpace("(damaged: " + l.Problem + ") " + note)
		case !l.Usable:
			note = strings.TrimSpace("(of the checkpoint " + l.Model + ", not of this one) " + note)
		}
		mode := map[string]string{voices.ModeInContext: "in context", voices.ModeVector: "x-vector"}[l.Mode]
		fmt.Fprintln(w, strings.Join([]string{oneLine(l.Name), l.Kind, orDash(l.Language), seconds, orDash(mode), oneLine(note)}, "\t"))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for line := range strings.Lines(b.String()) {
		if _, err := fmt.Fprintln(p.stdout, strings.TrimRight(line, " \n")); err != nil {
			return err
		}
	}
	return nil
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return oneLine(s)
}

// openPlain opens a model that shall not speak: a directory as it is, which takes no
// packing.
func (f *modelFlags) openPlain(ctx context.Context) (*synth.Model, error) {
	if err := f.locate(); err != nil {
		return nil, err
	}
	if info, err := os.Stat(f.Model); f.Precision == "" && err == nil && info.IsDir() {
		f.Precision = "f32"
	}
	return openUnless(ctx, f.open)
}

// voicesRemoveCommand is `mynah voices remove`.
type voicesRemoveCommand struct {
	Name string `arg:"" help:"The voice's name, in any case."`
	voicesFlags
	config.Common
}

// Run removes.
func (c *voicesRemoveCommand) Run(p *program) error {
	if unknown := p.parser.UnknownVariables(); unknown != "" {
		p.warn(unknown)
	}
	store, err := c.writable(p, 0)
	if err != nil {
		return err
	}
	if err := store.Remove(c.Name); err != nil {
		if voices.IsKind(err, voices.NotFound) {
			return &exitError{exitFailed, strings.TrimPrefix(err.Error(), "voices: ") + " in " + store.Dir()}
		}
		return plainVoices(err)
	}
	p.note("the voice %q was removed from %s", c.Name, store.Dir())
	return nil
}
