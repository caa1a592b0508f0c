package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mynah-tts/mynah/internal/batch"
)

// batchReport tells how a job is coming along, and what came of it.
type batchReport struct {
	meter
	job *batch.Job
}

func newBatchReport(p *program, quiet bool, form string) *batchReport {
	r := &batchReport{meter: meter{program: p, quiet: quiet, form: form}}
	r.words = func() string { return progressLine(r.job.Progress()) }
	r.event = func() any { return newProgressEvent("progress", r.job.Progress(), nil) }
	return r
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
	Joined     *batch.Record `json:"joined,omitempty"`  // of a book, at the end
	DryRun     bool          `json:"dry_run,omitempty"` // nothing was to be made
	Incomplete bool          `json:"incomplete,omitempty"`
	Error      string        `json:"error,omitempty"` // that ended the job
}

// planEvent is a line of --progress json about an item, with --dry-run.
type planEvent struct {
	Event      string       `json:"event"`  // plan
	Action     batch.Action `json:"action"` // make, move, keep or fail
	Index      int          `json:"index"`
	Line       int          `json:"line,omitempty"`
	ID         string       `json:"id,omitempty"`
	File       string       `json:"file,omitempty"`
	From       string       `json:"from,omitempty"` // of a file that is to be moved
	Characters int          `json:"characters,omitempty"`
	Seed       int64        `json:"seed"`
	Error      string       `json:"error,omitempty"`
}

func newPlanEvent(p batch.Planned) planEvent {
	e := planEvent{Event: "plan", Action: p.Action, Index: p.Item.Index, Line: p.Item.Line, ID: p.Item.ID, File: p.File, From: p.From, Seed: p.Seed}
	switch p.Action {
	case batch.Make:
		e.Characters = utf8.RuneCountInString(p.Item.Text)
	case batch.Fail:
		e.File, e.Error = "", p.Item.Problem
	}
	return e
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
	if r.json() {
		r.emit(newProgressEvent("item", r.job.Progress(), record))
	}
	if record.Error != "" {
		r.note("%s failed: %s", record.Name(), record.Error)
	}
}

// newProgressEvent is an event, of an item if record is one.
func newProgressEvent(event string, p batch.Progress, record *batch.Record) progressEvent {
	e := progressEvent{
		Event: event, Total: p.Total, Finished: p.Finished(), Kept: p.Kept, Moved: p.Moved, Made: p.Made, Failed: p.Failed, Cut: p.Cut, Live: p.Live,
		Audio: p.Audio.Seconds(), Elapsed: p.Elapsed.Seconds(), RTF: p.RTF(), Waiting: p.Waiting, Item: record, Incomplete: event == "end" && p.Finished() < p.Total,
	}
	if p.Left >= 0 {
		left := p.Left.Seconds()
		e.Left = &left
	}
	return e
}

// end tells programs that there is no more: what came of the job, or the error that ended it.
func (r *batchReport) end(s *batch.Result, err error) {
	if !r.json() {
		return
	}
	e := newProgressEvent("end", r.job.Progress(), nil)
	if s != nil {
		e.Joined = s.Joined
	}
	if err != nil {
		e.Incomplete = true
		if !errors.Is(err, context.Canceled) { // a signal is no error
			e.Error = strings.TrimPrefix(err.Error(), "synth: ")
		}
	}
	r.emit(e)
}

// summary tells what came of the job.
func (r *batchReport) summary(s *batch.Result) {
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
	for _, file := range s.Edited {
		r.program.warn(fmt.Sprintf("%s was changed since it was written and stays; remove it to have it written anew", file))
	}
	whole := s.Failed == 0 && s.Finished() == s.Total && (s.Joined == nil || s.Joined.Error == "")
	if s.Nothing && whole {
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
	}{{s.Kept, "were finished before"}, {s.Moved, "moved to another name"}, {s.Failed, "failed"}, {len(s.CutItems), "cut before their text had ended"}} {
		if part.n > 0 {
			line += fmt.Sprintf(", %d %s", part.n, part.what)
		}
	}
	note("%s", line)
}
