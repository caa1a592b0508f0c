package main

import (
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"golang.org/x/term"

	"github.com/mynah-tts/mynah/internal/batch"
)

// plainInterval is how often progress is a plain line.
const plainInterval = 10 * time.Second

// batchReport tells how a job is coming along: as a line on a terminal, as plain lines, or
// as JSON.
type batchReport struct {
	program *program
	job     *batch.Job
	quiet   bool
	form    string // "", auto, plain or json

	mu   sync.Mutex // of what is written
	line bool       // there is a line on the terminal
	ends chan struct{}
	over sync.WaitGroup
}

// progressEvent is a line of --progress json.
type progressEvent struct {
	Event      string        `json:"event"` // progress, item or end
	Total      int           `json:"total"`
	Finished   int           `json:"finished"`
	Kept       int           `json:"kept"`
	Moved      int           `json:"moved"`
	Made       int           `json:"made"`
	Failed     int           `json:"failed"`
	Cut        int           `json:"cut"`
	Live       int           `json:"live"`
	Audio      float64       `json:"audio_seconds"`
	Elapsed    float64       `json:"elapsed_seconds"`
	RTF        float64       `json:"rtf"`
	Left       *float64      `json:"left_seconds"`      // null while nothing is known
	Waiting    string        `json:"waiting,omitempty"` // workers that are there, or what is waited for
	Item       *batch.Record `json:"item,omitempty"`
	Incomplete bool          `json:"incomplete,omitempty"`
}

// start begins to tell.
func (r *batchReport) start() {
	r.ends = make(chan struct{})
	interval := plainInterval
	switch {
	case r.form == "json":
		interval = time.Second
	case r.quiet:
		return
	case r.drawn():
		interval = progressInterval
	}
	r.over.Go(func() {
		tick := time.NewTicker(interval)
		defer tick.Stop()
		for {
			select {
			case <-r.ends:
				return
			case <-tick.C:
				r.tick()
			}
		}
	})
}

// drawn reports whether progress is a line on a terminal.
func (r *batchReport) drawn() bool {
	return (r.form == "" || r.form == "auto") && term.IsTerminal(int(r.program.stderr.Fd())) && os.Getenv("TERM") != "dumb"
}

// stop ends it.
func (r *batchReport) stop() {
	close(r.ends)
	r.over.Wait()
	r.mu.Lock()
	defer r.mu.Unlock()
	r.erase()
}

// tick tells how far the job is.
func (r *batchReport) tick() {
	p := r.job.Progress()
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.form == "json":
		r.json("progress", p, nil)
	case r.drawn():
		line := progressLine(p)
		if width, _, err := term.GetSize(int(r.program.stderr.Fd())); err == nil && width > 0 && len(line) >= width {
			line = line[:width-1]
		}
		fmt.Fprintf(r.program.stderr, "\r%s\x1b[K", line)
		r.line = true
	default:
		r.program.note("%s", progressLine(p))
	}
}

// erase takes the line off the terminal.
func (r *batchReport) erase() {
	if r.line {
		fmt.Fprint(r.program.stderr, "\r\x1b[K")
		r.line = false
	}
}

// progressLine words progress.
func progressLine(p batch.Progress) string {
	line := fmt.Sprintf("%d/%d done", p.Finished(), p.Total)
	if p.Failed > 0 {
		line += fmt.Sprintf(", %d failed", p.Failed)
	}
	line += fmt.Sprintf(", %d at once, %.1f s of audio, RTF %.2f", p.Live, p.Audio.Seconds(), p.RTF())
	if p.Waiting != "" {
		line += ", " + p.Waiting
	}
	if p.Left >= 0 {
		line += fmt.Sprintf(", %v left", p.Left.Round(time.Second))
	}
	return line
}

// done tells of an item: of each in JSON, otherwise of those that failed.
func (r *batchReport) done(record *batch.Record) {
	p := r.job.Progress()
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.form == "json" {
		r.json("item", p, record)
	}
	if record.Error != "" {
		r.erase()
		r.program.note("%s failed: %s", record.Name(), record.Error)
	}
}

// json writes an event.
func (r *batchReport) json(event string, p batch.Progress, record *batch.Record) {
	e := progressEvent{
		Event: event, Total: p.Total, Finished: p.Finished(), Kept: p.Kept, Moved: p.Moved, Made: p.Made, Failed: p.Failed, Cut: p.Cut, Live: p.Live,
		Audio: p.Audio.Seconds(), Elapsed: p.Elapsed.Seconds(), RTF: p.RTF(), Waiting: p.Waiting, Item: record, Incomplete: event == "end" && p.Finished() < p.Total,
	}
	if p.Left >= 0 {
		left := p.Left.Seconds()
		e.Left = &left
	}
	encoder := json.NewEncoder(r.program.stdout)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(e) // a reader that went away loses the progress, not the audio
}

// summary tells what came of the job.
func (r *batchReport) summary(s *batch.Result) {
	if r.form == "json" {
		r.json("end", s.Progress, nil)
	}
	if r.quiet {
		return
	}
	note := r.program.note
	for _, file := range s.Stale {
		r.program.warn(fmt.Sprintf("%s is of an earlier run and belongs to no item any more", file))
	}
	if j := s.Joined; j != nil {
		if j.Error != "" {
			note("the joined file failed: %s", j.Error)
		} else if !s.Nothing {
			note("%s: %.2f s of audio in %d chapters", j.File, j.Duration, len(j.Chapters))
		}
	}
	if s.Nothing && s.Failed == 0 {
		note("nothing to do: all %d items are finished", s.Total)
		return
	}
	line := fmt.Sprintf("%d of %d items are finished", s.Finished()-s.Failed, s.Total)
	if s.Made > 0 {
		line += fmt.Sprintf(": %d made, %.2f s of audio in %.2f s (RTF %.2f)", s.Made, s.Audio.Seconds(), s.Elapsed.Seconds(), s.RTF())
	}
	for _, part := range []struct {
		n    int
		what string
	}{{s.Kept, "were finished before"}, {s.Moved, "moved to another name"}, {s.Failed, "failed"}, {len(s.CutItems), "cut at the longest length"}} {
		if part.n > 0 {
			line += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	note("%s", line)
}
