package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/internal/batch"
	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/synth"
)

// batchCommand is `mynah batch`.
type batchCommand struct {
	Input string `arg:"" optional:"" help:"File of texts: .txt (one a line), .csv or .tsv (with a header), .jsonl; - reads standard input." type:"path"`
	Book  string `help:"Book to speak instead, .txt or .md: a file for each chapter and one of all." placeholder:"FILE" type:"path" unset:"none"`
	Out   string `short:"o" help:"Folder for the audio and manifest.jsonl; it is made if it is not there." placeholder:"DIR" type:"path" unset:"none, it must be given"`

	InputFormat string `help:"Form of the input, if its name does not tell. md is for a book." allowed:"txt,csv,tsv,jsonl,md" placeholder:"NAME" unset:"the extension of the file"`

	Format     string   `help:"Form of the audio. pcm is bare signed 16-bit little-endian samples." allowed:"wav,flac,mp3,pcm" placeholder:"NAME" unset:"wav"`
	SampleRate int      `help:"Samples of the audio a second, as far as the form has that rate." placeholder:"HZ" range:"8000,48000" unset:"the checkpoint's, 24000"`
	Speed      *float64 `help:"How fast to speak, 0.25 to 4 times; the pitch stays." placeholder:"X" unset:"1"`
	Loudness   *float64 `help:"Bring each item to this integrated loudness (ITU-R BS.1770), -40 to -5. Peaks stay below -1 dBTP." placeholder:"LUFS" unset:"as spoken"`
	Trim       bool     `help:"Cut silence off both ends. Samples above -50 dBFS, and a little around them, always stay."`
	Gap        pause    `help:"Silence between the segments of a long text, 0 to 10 seconds." placeholder:"TIME" unset:"0s"`
	ChapterGap *pause   `help:"Silence between the chapters in the joined file of a book, 0 to 60 seconds." placeholder:"TIME" unset:"2s"`
	Segment    int      `help:"Characters after which a long text is cut behind a sentence; 1 cuts behind every sentence, -1 nowhere." placeholder:"N" range:"-1,100000" unset:"the checkpoint's, usually 300"`
	Captions   string   `help:"Write the times of the segments beside each file." allowed:"srt,vtt" placeholder:"NAME" unset:"none"`

	Jobs     string `help:"Items that are spoken at once, 1 to 64, or auto. Changes no sample." placeholder:"N" unset:"auto"`
	RetryCut int    `help:"How often an item whose audio was cut before its text had ended is tried again, with another seed." placeholder:"N" range:"0,20" unset:"0"`
	FailFast bool   `help:"Stop at the first item that fails."`
	DryRun   bool   `help:"Only print what would be done about each item."`
	Progress string `help:"How progress is told: a line on a terminal, plain lines otherwise; json are objects on standard output." allowed:"auto,plain,json" placeholder:"NAME" unset:"auto"`
	Seed     int64  `help:"Start of the random numbers of all items that have no seed of their own, 0 and up." placeholder:"N" unset:"0"`

	batchFleetFlags
	modelFlags
	mannerFlags
	Quiet bool `short:"q" help:"Print errors and failed items only."`
	config.Common
}

// Help is what the help of batch adds.
func (c *batchCommand) Help() string {
	return `Items have the fields of the speech API, as columns or JSON fields: input (or text), id, voice, language, instructions, seed, speed, max_new_tokens, temperature and so on. A file is named by its item's id, or else by its number.

It can be stopped at any moment; the same command goes on from there. An item is made again only if its file is missing or if anything that decides its audio has changed: manifest.jsonl holds a digest of that. Files that are not of the job are never written over.

Exit codes: 0 all items are there; 1 failed or interrupted; 2 the command or a value in it is wrong; 3 some items failed, or were cut before the text had ended: the last lines name them.

` + config.Precedence
}

// pause is a length of silence: 0.25, 250ms or 1.5s.
type pause time.Duration

// Decode reads a pause; its bounds are those of the flag.
func (d *pause) Decode(ctx *kong.DecodeContext) error {
	var s string
	if err := ctx.Scan.PopValueInto("time", &s); err != nil {
		return err
	}
	t, err := time.ParseDuration(s)
	if seconds, e := strconv.ParseFloat(s, 64); e == nil && math.Abs(seconds) <= 3600 {
		t, err = time.Duration(math.Round(seconds*float64(time.Second))), nil
	}
	if err != nil {
		return fmt.Errorf("%q, wanted a time such as 0.25, 250ms or 2s, of an hour at most", s)
	}
	*d = pause(t)
	return nil
}

const (
	maxSegmentGap     = 10 * time.Second // synth's
	defaultChapterGap = 2 * time.Second
)

// Run makes the folder.
func (c *batchCommand) Run(p *program) error {
	if unknown := p.parser.UnknownVariables(); unknown != "" && !c.Quiet {
		p.note("warning: %s", unknown)
	}
	jobs, err := readJobs(p, c.Jobs)
	if err != nil {
		return err
	}
	if err := c.check(p); err != nil {
		return err
	}
	if jobs != 0 && c.NATS != "" && !c.works() && p.parser.Origin("jobs") == "--jobs" {
		return usageErrorf("--jobs: this process speaks no items: add --nats-work yes, or tell the workers")
	}
	opts, err := c.options(p)
	if err != nil {
		return err
	}
	in, err := c.read(p)
	if err != nil {
		return err
	}
	if !c.Quiet {
		c.warn = p.warn
		for _, w := range in.Warnings {
			p.warn(w)
		}
	}
	ctx, _ := catchInterrupts()
	opening := cmp.Or(jobs, autoJobs)
	model, err := openUnless(ctx, func() (*synth.Model, error) {
		return c.openWith(func(o *synth.Options) { o.MaxLive = opening })
	})
	if err != nil {
		return err
	}
	defer model.Close()
	if opts.Identity, err = c.identity(model); err != nil {
		return err
	}
	if opts.Identity, err = c.wanted(p, opts.Identity); err != nil {
		return err
	}
	opts.SourceRate = model.Info().SampleRate
	opts.Voice = func(r *synth.Request) error {
		_, err := c.applyVoice(model, r)
		return err
	}
	opts.Jobs = cmp.Or(jobs, chooseJobs(model.Info(), memoryThere()))
	b := &batchRun{program: p, command: c, in: in, engine: batchEngine{model}}
	return b.run(ctx, opts)
}

// options puts the flags into the job's terms, as far as they do not need the model.
func (c *batchCommand) options(p *program) (batch.Options, error) {
	o := batch.Options{
		Dir: c.Out, Format: audio.Format(cmp.Or(c.Format, string(audio.WAV))), SampleRate: c.SampleRate, Loudness: c.Loudness, Trim: c.Trim,
		Captions: batch.Captions(c.Captions), RetryCut: c.RetryCut, FailFast: c.FailFast, Seed: c.Seed, ChapterGap: defaultChapterGap,
	}
	origin := p.parser.Origin
	if c.Out == "" {
		return o, usageErrorf("no folder for the audio: add --out DIR")
	}
	if info, err := os.Stat(c.Out); err == nil && !info.IsDir() {
		return o, usageErrorf("%s: %s is not a directory", origin("out"), c.Out)
	}
	if c.Seed < 0 {
		return o, usageErrorf("%s: %d, allowed are 0 and up", origin("seed"), c.Seed)
	}
	if l := c.Loudness; l != nil && !(*l >= batch.MinLoudness && *l <= batch.MaxLoudness) {
		return o, usageErrorf("%s: %v, allowed are %g to %g", origin("loudness"), *l, batch.MinLoudness, batch.MaxLoudness)
	}
	if c.Speed != nil {
		if o.Speed = *c.Speed; audio.CheckSpeed(o.Speed) != nil {
			return o, usageErrorf("%s: %v, allowed are 0.25 to 4", origin("speed"), o.Speed)
		}
	}
	if gap := time.Duration(c.Gap); gap < 0 || gap > maxSegmentGap {
		return o, usageErrorf("%s: %v, allowed are 0 to %v", origin("gap"), gap, maxSegmentGap)
	}
	if c.ChapterGap != nil {
		if c.Book == "" && origin("chapter-gap") == "--chapter-gap" {
			return o, usageErrorf("--chapter-gap: it needs --book")
		}
		if o.ChapterGap = time.Duration(*c.ChapterGap); o.ChapterGap < 0 || o.ChapterGap > batch.MaxChapterGap {
			return o, usageErrorf("%s: %v, allowed are 0 to %v", origin("chapter-gap"), o.ChapterGap, batch.MaxChapterGap)
		}
	}
	if o.SampleRate != 0 {
		if err := (audio.Encoding{Format: o.Format}).Check(o.SampleRate); err != nil {
			return o, usageErrorf("%s: %v", origin("sample-rate"), &plainError{err})
		}
	}
	var err error
	if o.Request, err = c.request(""); err != nil {
		return o, err
	}
	o.Request.Gap, o.Request.SegmentRunes = time.Duration(c.Gap), c.Segment
	return o, nil
}

// read reads the input or the book.
func (c *batchCommand) read(p *program) (*batch.Input, error) {
	path, isBook := c.Input, false
	switch {
	case c.Input != "" && c.Book != "":
		return nil, usageErrorf("%s and --book: give one of them", c.Input)
	case c.Book != "":
		path, isBook = c.Book, true
	case c.Input == "":
		return nil, usageErrorf("no input: mynah batch lines.txt --out DIR, or --book FILE")
	}
	form, err := c.form(path, isBook)
	if err != nil {
		return nil, err
	}
	var r io.Reader = p.stdin
	name := "standard input"
	if path != standardOutput {
		f, err := os.Open(path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", path, cause(err))
		}
		defer f.Close()
		r, name = f, path
	}
	in, err := batch.Read(r, form)
	if err != nil {
		return nil, usageErrorf("%s: %v", name, cause(err))
	}
	if isBook {
		in.Book = cmp.Or(strings.TrimSuffix(filepath.Base(path), filepath.Ext(path)), "book")
		if path == standardOutput {
			in.Book = "book"
		}
	}
	return in, nil
}

// form is how the input is written.
func (c *batchCommand) form(path string, isBook bool) (batch.Form, error) {
	form := batch.Form(c.InputFormat)
	switch {
	case isBook && (form == batch.Text || form == batch.Markdown):
		if form == batch.Text {
			form = batch.Book
		}
		return form, nil
	case isBook && form != "", !isBook && form == batch.Markdown:
		return "", usageErrorf("--input-format: %s, allowed are txt and md with --book, and txt, csv, tsv and jsonl without", form)
	case form != "":
		return form, nil
	}
	form, known := batch.FormOf(path, isBook)
	switch {
	case known:
		return form, nil
	case path == standardOutput:
		return "", usageErrorf("standard input needs --input-format")
	case isBook:
		return "", usageErrorf("--book: %s: the name tells no form; end it in .txt or .md, or add --input-format", path)
	}
	return "", usageErrorf("%s: the name tells no form; end it in .txt, .csv, .tsv or .jsonl, or add --input-format", path)
}

// readJobs reads the number of --jobs, 0 for auto.
func readJobs(p *program, s string) (int, error) {
	if s == "" || strings.EqualFold(s, "auto") {
		return 0, nil
	}
	n, err := strconv.Atoi(s)
	if err != nil || n < 1 || n > batch.MaxJobs {
		return 0, usageErrorf("%s: %q, allowed are 1 to %d, or auto", p.parser.Origin("jobs"), s, batch.MaxJobs)
	}
	return n, nil
}

// batchEngine gives a model's methods the types of package batch.
type batchEngine struct{ *synth.Model }

func (e batchEngine) Speak(ctx context.Context, r synth.Request) (batch.Stream, error) {
	s, err := e.Model.Speak(ctx, r)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// batchRun is one run of the command.
type batchRun struct {
	program *program
	command *batchCommand
	in      *batch.Input
	engine  batchEngine
	job     *batch.Job
}

func (b *batchRun) run(ctx context.Context, opts batch.Options) error {
	report := newBatchReport(b.program, b.command.Quiet, b.command.Progress)
	opts.Done = report.done
	job, err := batch.NewJob(b.in, opts)
	if err != nil {
		return usageOf(err)
	}
	b.job, report.job = job, job
	if !b.command.Quiet {
		b.warnOfScripts()
	}
	if b.command.DryRun {
		return b.dryRun(report)
	}
	log.SetOutput(io.Discard) // the FLAC decoder has a note there about every frame of 24 kHz
	run := func() (*batch.Result, error) { return job.Run(ctx, b.engine) }
	if b.command.NATS != "" {
		queue, err := b.queue(opts)
		if err != nil {
			return err
		}
		run = func() (*batch.Result, error) { return job.RunBy(ctx, queue) }
	}
	report.start()
	result, err := run()
	report.stop()
	report.end(result, err)
	if err != nil && result == nil {
		return err
	}
	return b.end(ctx, report, result, err)
}

// warnOfScripts tells of items that are to be made and have letters that the model cannot
// speak: of the first in full, of the others how many they are.
func (b *batchRun) warnOfScripts() {
	first, more := "", 0
	for _, p := range b.job.Plan() {
		if p.Action != batch.Make {
			continue
		}
		unknown := b.engine.UnknownScripts(p.Item.Text)
		switch {
		case unknown == "":
		case first == "":
			first = p.Item.Name() + ": " + unknown
		default:
			more++
		}
	}
	if more > 0 {
		first += fmt.Sprintf(" (and %d more like it)", more)
	}
	if first != "" {
		b.program.warn(first)
	}
}

// usageOf marks what NewJob refuses as the user's, unless it is the folder's.
func usageOf(err error) error {
	if strings.HasPrefix(err.Error(), "audio: ") {
		return usageErrorf("%v", &plainError{err})
	}
	return err
}

// dryRun prints what would be done.
func (b *batchRun) dryRun(report *batchReport) error {
	b.job.Check(b.engine)
	counts := map[batch.Action]int{}
	for _, p := range b.job.Plan() {
		counts[p.Action]++
		if report.json() {
			if err := report.print(newPlanEvent(p)); err != nil {
				return err
			}
			continue
		}
		line := fmt.Sprintf("%-4s  %s", p.Action, p.File)
		switch p.Action {
		case batch.Move:
			line += "  from " + p.From
		case batch.Fail:
			line = fmt.Sprintf("%-4s  %s: %s", p.Action, p.Item.Name(), p.Item.Problem)
		case batch.Make:
			line += fmt.Sprintf("  %d characters, seed %d", len([]rune(p.Item.Text)), p.Seed)
		}
		if _, err := fmt.Fprintln(b.program.stdout, oneLine(line)); err != nil {
			return err
		}
	}
	if report.json() {
		e := newProgressEvent("end", b.job.Progress(), nil)
		e.DryRun, e.Incomplete = true, false
		if err := report.print(e); err != nil {
			return err
		}
	}
	b.program.note("%d items: %d to make, %d to move, %d finished, %d that would fail; nothing was written",
		len(b.in.Items), counts[batch.Make], counts[batch.Move], counts[batch.Keep], counts[batch.Fail])
	if counts[batch.Fail] > 0 {
		return &exitError{code: exitPartly}
	}
	return nil
}

// end tells how it went, and returns the exit code's error.
func (b *batchRun) end(ctx context.Context, report *batchReport, r *batch.Result, err error) error {
	p := b.program
	if err == nil || ctx.Err() != nil {
		report.summary(r)
	}
	switch {
	case ctx.Err() != nil && (err == nil || errors.Is(err, context.Canceled)):
		return &exitError{exitFailed, fmt.Sprintf("interrupted: %d of %d items are finished; the same command goes on from there", r.Finished()-r.Failed, r.Total)}
	case err != nil:
		return &exitError{exitFailed, fmt.Sprintf("%s; %d of %d items are finished, the same command goes on from there", strings.TrimPrefix(err.Error(), "synth: "), r.Finished()-r.Failed, r.Total)}
	}
	failed := len(r.Failures) > 0 || r.Joined != nil && r.Joined.Error != ""
	if !failed && len(r.CutItems) == 0 {
		return nil
	}
	for _, each := range r.CutItems {
		if !b.command.Quiet {
			p.warn(fmt.Sprintf("%s was cut after %s, before the text had ended", each.File, frames(each.Frames)))
		}
	}
	if failed && len(r.Failures) == r.Total {
		return &exitError{exitFailed, "no item could be spoken"}
	}
	return &exitError{code: exitPartly}
}
