package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/cpu"
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/profile"
	"github.com/mynah-tts/mynah/synth"
)

// What profile and bench speak when nothing else is asked for: one sentence of about
// 30 tokens.
const (
	profileText = "The boats came back to the harbour before the rain, and nobody had seen them leave in the grey light of that early morning."
	profileSeed = 42
)

// warmUpFrames are computed before anything is recorded: they bring weights and
// scratch into memory.
const warmUpFrames = 2

// maxSpans bounds the memory of a recording to 32 MiB; histograms go on beyond it.
const maxSpans = 1 << 20

// profileCommand is `mynah profile`.
type profileCommand struct {
	modelFlags
	Streams   int    `help:"Utterances that take turns, frame by frame." placeholder:"N" range:"1,64" default:"1"`
	Frames    int    `help:"Frames of each stream." placeholder:"N" range:"1,10000" default:"50"`
	Text      string `help:"What the streams say." placeholder:"TEXT" unset:"a sentence of 30 tokens"`
	Layout    string `help:"How the model is given the text: a token with each frame, or all of it first." allowed:"streaming,whole" placeholder:"NAME" unset:"streaming for Base checkpoints, otherwise whole"`
	Reference string `help:"Voice to imitate, for Base checkpoints: a JSON file with x_vector, or with codes and text as well." placeholder:"FILE" type:"path" unset:"none"`

	JSON  string `name:"json" help:"File for the figures as JSON, - is standard output in place of the table." placeholder:"FILE" type:"path" unset:"none"`
	Trace string `help:"File for all spans as a Chrome trace, which Perfetto opens." placeholder:"FILE" type:"path" unset:"none"`
	HTML  string `name:"html" help:"File for one page with plots." placeholder:"FILE" type:"path" unset:"none"`
	config.Common
}

// Help is what the help of profile adds.
func (c *profileCommand) Help() string {
	return fmt.Sprintf("An utterance of %d frames goes before, to warm up, and is left out. The predictor's row is the sum of a frame's residual steps. GB/s and GMAC/s count the weights that a stage reads and multiplies by, in the median time; what else it reads is not counted. RTF is the computing time of all frames over their audio.\n\n", warmUpFrames) + config.Precedence
}

// Run records.
func (c *profileCommand) Run(p *program) error {
	if unknown := p.parser.UnknownVariables(); unknown != "" {
		p.note("warning: %s", unknown)
	}
	request := synth.Request{Text: c.Text, Layout: synth.Layout(c.Layout)}
	if c.Text == "" {
		request.Text = profileText
	}
	if c.Reference != "" {
		var err error
		if request.Reference, err = synth.ReadReference(c.Reference); err != nil {
			return err
		}
	}
	if err := c.checkOutputs(); err != nil {
		return err
	}
	c.warn = p.warn
	recorder := profile.New(min(maxSpans, c.Streams*c.Frames*(2*profile.MaxSteps+8)))
	model, err := c.openRecorded(recorder)
	if err != nil {
		return err
	}
	defer model.Close()
	ctx, _ := catchInterrupts()
	run, err := record(ctx, model, recorder, request, c.Streams, c.Frames)
	if err != nil {
		return err
	}
	return c.write(p, recorder, recorder.Report(run))
}

// checkOutputs refuses, before any computing, files that cannot be written and files
// that are named twice.
func (c *profileCommand) checkOutputs() error {
	used := map[string]string{}
	for _, f := range []struct{ flag, path string }{{"--json", c.JSON}, {"--trace", c.Trace}, {"--html", c.HTML}} {
		if f.path == "" {
			continue
		}
		if other, twice := used[f.path]; twice {
			return usageErrorf("%s and %s are both %s", other, f.flag, f.path)
		}
		used[f.path] = f.flag
		if f.path == standardOutput {
			continue
		}
		if info, err := os.Stat(f.path); err == nil && info.IsDir() {
			return usageErrorf("%s: %s is a directory", f.flag, f.path)
		}
		if info, err := os.Stat(filepath.Dir(f.path)); err != nil || !info.IsDir() {
			return usageErrorf("%s: directory %s does not exist", f.flag, filepath.Dir(f.path))
		}
	}
	return nil
}

// write writes what was asked for.
func (c *profileCommand) write(p *program, recorder *profile.Recorder, report *profile.Report) error {
	for _, f := range []struct {
		path  string
		write func(io.Writer) error
	}{{c.JSON, report.JSON}, {c.Trace, recorder.Trace}, {c.HTML, report.HTML}} {
		if f.path == "" {
			continue
		}
		if err := writeWhole(p, f.path, f.write); err != nil {
			return err
		}
	}
	if c.JSON == standardOutput || c.Trace == standardOutput || c.HTML == standardOutput {
		return nil
	}
	return report.Text(p.stdout)
}

// writeWhole writes to a file or standard output.
func writeWhole(p *program, path string, write func(io.Writer) error) error {
	var b bytes.Buffer
	if err := write(&b); err != nil {
		return err
	}
	if path == standardOutput {
		_, err := p.stdout.Write(b.Bytes())
		return err
	}
	if err := os.WriteFile(path, b.Bytes(), 0o644); err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return fmt.Errorf("%s: cannot write: %w", path, err)
	}
	return nil
}

// record warms a model up and then speaks with its recorder on.
func record(ctx context.Context, model *synth.Model, recorder *profile.Recorder, request synth.Request, streams, frames int) (profile.Run, error) {
	if _, err := speakTurns(ctx, model, request, 1, warmUpFrames); err != nil {
		return profile.Run{}, err
	}
	recorder.Reset()
	turns, err := speakTurns(ctx, model, request, streams, frames)
	if err != nil {
		return profile.Run{}, err
	}
	run := conditions(model)
	run.Streams, run.TTFA, run.PeakMemory = streams, turns.ttfa, kilobytes(field(os.DirFS("/"), "proc/self/status", "VmHWM"))
	run.Load, run.Steps = model.Load()
	run.Load[profile.Prefill] = model.PromptLoad(turns.promptRows)
	return run, nil
}

// conditions says what runs, and where.
func conditions(model *synth.Model) profile.Run {
	info := model.Info()
	return profile.Run{
		Model:     filepath.Base(info.Name),
		Precision: fmt.Sprintf("talker %s, predictor %s, codec %s", info.Precision.Talker, info.Precision.Predictor, info.Precision.Codec),
		Processor: cpu.Detect().Brand, Level: kernel.Level().String(), Threads: info.Threads,
		FrameAudio: time.Duration(info.FrameSize) * time.Second / time.Duration(info.SampleRate),
	}
}

// turns is what came of streams that took turns.
type turns struct {
	ttfa       []time.Duration // of each
	promptRows int
}

// speakTurns speaks several utterances of so many frames each, a frame of each in
// turn. One that ends early is followed by another, with another seed.
func speakTurns(ctx context.Context, model *synth.Model, request synth.Request, streams, frames int) (turns, error) {
	t := turns{}
	all := make([]*turn, streams)
	defer func() {
		for _, each := range all {
			if each != nil && each.stream != nil {
				each.stream.Close()
			}
		}
	}()
	for i := range all {
		all[i] = &turn{seed: profileSeed + int64(i), left: frames}
		if err := all[i].speak(ctx, model, request); err != nil {
			return t, err
		}
	}
	for left := streams; left > 0; {
		left = 0
		for _, each := range all {
			if each.left == 0 {
				continue
			}
			if err := each.next(ctx, model, request, &t); err != nil {
				return t, err
			}
			left += min(each.left, 1)
		}
	}
	return t, nil
}

// turn is one stream among others.
type turn struct {
	stream *synth.Stream
	begun  time.Time
	spoke  bool // there was a first frame
	seed   int64
	left   int // frames to come
}

func (u *turn) speak(ctx context.Context, model *synth.Model, request synth.Request) (err error) {
	request.Seed, request.MaxFrames = &u.seed, u.left
	if u.stream == nil {
		u.begun = time.Now()
	}
	u.stream, err = model.Speak(ctx, request)
	return err
}

// next takes one event.
func (u *turn) next(ctx context.Context, model *synth.Model, request synth.Request, t *turns) error {
	event, err := u.stream.Next()
	if err != nil {
		return err
	}
	switch e := event.(type) {
	case synth.Start:
		t.promptRows = e.PromptRows
	case synth.Audio:
		u.left--
		if !u.spoke {
			u.spoke = true
			t.ttfa = append(t.ttfa, time.Since(u.begun))
		}
	case synth.Done:
		if e.FinishReason == synth.FinishCancelled {
			return &exitError{exitFailed, "interrupted"}
		}
		if e.Frames == 0 {
			return fmt.Errorf("the utterance of seed %d has no frame", u.seed)
		}
		u.seed += 1 << 20
		return u.speak(ctx, model, request)
	}
	return nil
}
