package main

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mynah-tts/mynah/internal/hub"
)

// pullReport tells how a pull is coming along.
type pullReport struct {
	meter
	pull  *hub.Pull // nil before it is known what there is
	plan  *hub.Plan
	begun time.Time
}

func newPullReport(p *program, quiet bool, form string, name hub.Name) *pullReport {
	r := &pullReport{meter: meter{program: p, quiet: quiet, form: form}, plan: &hub.Plan{Name: name}, begun: time.Now()}
	r.words = func() string { return r.sentence(r.pull.Progress()) }
	r.event = func() any { return r.newEvent("progress", r.pull.Progress(), false) }
	return r
}

// pullEvent is a line of --progress json.
type pullEvent struct {
	Event      string   `json:"event"` // progress or end
	Repo       string   `json:"repo"`
	Commit     string   `json:"commit"`
	Files      int      `json:"files"`
	FilesDone  int      `json:"files_done"`
	Bytes      int64    `json:"bytes"`
	BytesDone  int64    `json:"bytes_done"`
	Received   int64    `json:"received_bytes"`
	Elapsed    float64  `json:"elapsed_seconds"`
	Speed      int64    `json:"bytes_per_second"`
	Left       *float64 `json:"left_seconds"` // null while nothing is known
	Path       string   `json:"path,omitempty"`
	DryRun     bool     `json:"dry_run,omitempty"` // nothing was to be fetched
	Incomplete bool     `json:"incomplete,omitempty"`
	Error      string   `json:"error,omitempty"` // of an incomplete end
}

// fileEvent is a line of --progress json about a file, with --dry-run.
type fileEvent struct {
	Event string `json:"event"` // file
	File  string `json:"file"`  // its path in the repository
	Bytes int64  `json:"bytes"`
	State string `json:"state"` // fetch, partly or there
}

// tell prints what the hub package was met with and got over.
func (r *pullReport) tell(message string) {
	if !r.quiet {
		r.note("%s", message)
	}
}

func (r *pullReport) elapsed() time.Duration { return time.Since(r.begun) }

// speed is in bytes a second.
func (r *pullReport) speed(g hub.Progress) int64 {
	return int64(float64(g.Received) / max(r.elapsed().Seconds(), 1e-3))
}

// left is the time until the end, -1 while it is not known.
func (r *pullReport) left(g hub.Progress) time.Duration {
	speed := r.speed(g)
	if speed == 0 {
		return -1
	}
	return time.Duration(float64(g.Size-g.Have) / float64(speed) * float64(time.Second))
}

// sentence is one line of progress, with a bar.
func (r *pullReport) sentence(g hub.Progress) string {
	const width = 20
	share := 1.0
	if g.Size > 0 {
		share = float64(g.Have) / float64(g.Size)
	}
	bar := make([]byte, width)
	for i := range bar {
		bar[i] = '.'
		if float64(i) < share*width {
			bar[i] = '#'
		}
	}
	line := fmt.Sprintf("[%s] %3.0f %%, %s of %s, %d/%d files, %s/s", bar, 100*share, size(g.Have), size(g.Size), g.FilesDone, g.Files, size(r.speed(g)))
	if left := r.left(g); left >= 0 {
		line += fmt.Sprintf(", %v left", left.Round(time.Second))
	}
	return line
}

// newEvent is an event.
func (r *pullReport) newEvent(event string, g hub.Progress, complete bool) pullEvent {
	e := pullEvent{
		Event: event, Repo: r.plan.Name.Repo, Commit: r.plan.Commit, Files: g.Files, FilesDone: g.FilesDone, Bytes: g.Size, BytesDone: g.Have,
		Received: g.Received, Elapsed: r.elapsed().Seconds(), Speed: r.speed(g), Incomplete: event == "end" && !complete,
	}
	if left := r.left(g); left >= 0 {
		seconds := left.Seconds()
		e.Left = &seconds
	}
	if complete {
		e.Path = r.plan.Path
	}
	return e
}

// fail tells an error, if there is one, as the end.
func (r *pullReport) fail(err error) error {
	if err == nil || !r.json() {
		return err
	}
	var g hub.Progress
	if r.pull != nil {
		g = r.pull.Progress()
	}
	e := r.newEvent("end", g, false)
	e.Error = err.Error()
	r.emit(e)
	return err
}

// file prints what would become of a file.
func (r *pullReport) file(f hub.File) error {
	state := stateOf(f)
	if r.json() {
		return r.print(fileEvent{Event: "file", File: f.Path, Bytes: f.Size, State: state})
	}
	_, err := fmt.Fprintf(r.program.stdout, "%-6s  %13d  %s\n", state, f.Size, oneLine(f.Path))
	return err
}

// isThere is the state of a file of which nothing is to be fetched.
const isThere = "there"

// stateOf is how much of a file is there, in a word.
func stateOf(f hub.File) string {
	switch {
	case f.Have == f.Size && (f.There || f.Size > 0):
		return isThere
	case f.Have > 0:
		return "partly"
	}
	return "fetch"
}

// planned is the end of a dry run.
func (r *pullReport) planned() pullEvent {
	g := hub.Progress{Files: len(r.plan.Files), Size: r.plan.Size, Have: r.plan.Have}
	for _, f := range r.plan.Files {
		if stateOf(f) == isThere {
			g.FilesDone++
		}
	}
	e := r.newEvent("end", g, false)
	e.DryRun, e.Incomplete = true, false
	return e
}

// found is the end of a look at the cache alone.
func (r *pullReport) found(dir string) pullEvent {
	var g hub.Progress
	_ = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if info, e := os.Stat(path); err == nil && e == nil && info.Mode().IsRegular() {
			g.Files++
			g.Size += info.Size()
		}
		return nil
	})
	g.FilesDone, g.Have = g.Files, g.Size
	r.plan.Commit, r.plan.Path = filepath.Base(dir), dir
	return r.newEvent("end", g, true)
}
