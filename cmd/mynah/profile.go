package main

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/mynah-tts/mynah/internal/audio"
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
	voicesFlags
	Streams   int    `help:"Utterances that are computed together and read at once." placeholder:"N" range:"1,64" default:"1"`
	Frames    int    `help:"Frames of each stream." placeholder:"N" range:"1,10000" default:"50"`
	Text      string `help:"What the streams say." placeholder:"TEXT" unset:"a sentence of 30 tokens"`
	Layout    string `help:"How the model is given the text: a token with each frame, or all of it first." allowed:"streaming,whole" placeholder:"NAME" unset:"streaming for Base checkpoints, otherwise whole"`
	Voice     string `setting:"profile-voice" help:"Preset voice of the checkpoint, or a voice that is kept." placeholder:"NAME" unset:"the checkpoint's first"`
	Reference string `help:"Voice to imitate, for Base checkpoints: a JSON file with x_vector, or with codes and text as well." placeholder:"FILE" type:"path" unset:"none"`

	Format     string `help:"What each reader turns its frames into, which the encode row times; opus and aac need a program ffmpeg on PATH." allowed:"pcm,wav,flac,mp3,opus,aac" placeholder:"NAME" default:"pcm"`
	Parity     bool   `setting:"profile-parity" help:"Speak once more beside the same checkpoint in float32, given the same inputs, and say how far code 0, residual codes and samples are from its own."`
	ParityWith string `help:"With --parity and a packed file: the checkpoint directory that it was packed from." placeholder:"DIR" type:"path" unset:"none"`

	JSON  string `name:"json" setting:"json-file" help:"File for the figures as JSON, - is standard output in place of the table." placeholder:"FILE" type:"path" unset:"none"`
	Trace string `help:"File for all spans as a Chrome trace, which Perfetto opens." placeholder:"FILE" type:"path" unset:"none"`
	HTML  string `name:"html" help:"File for one page with plots." placeholder:"FILE" type:"path" unset:"none"`
	config.Common
}

// Help is what the help of profile adds.
func (c *profileCommand) Help() string {
	return fmt.Sprintf(`Utterances of %d frames go before, to warm up, and are left out. A round makes a frame of each stream: stages are timed a round, and the predictor's row is the sum of its residual steps. GB/s and GMAC/s count the weights that a stage reads and multiplies by, in the median time; what else it reads is not counted. RTF is the time of all rounds over the audio of all frames; it leaves prefill out.

The listeners' rows are what each reader meets with: TTFA from its request to its first frame; RTF, the time from its first frame to its last over the audio between; the gap from one frame to the next, prefill of others included; and the lag, how long a player must hold back the first frame so as never to run dry. Encoding is timed on the reader's side, beside the next round.

With --parity the same utterances are spoken once more, untimed. The float32 model hears the same rows and is given the same codes in every frame. Residual codes are compared behind the same hidden state, and end to end behind its own.

`, warmUpFrames) + plainCodes + config.Precedence
}

// Run records.
func (c *profileCommand) Run(p *program) error {
	if unknown := p.parser.UnknownVariables(); unknown != "" {
		p.note("warning: %s", unknown)
	}
	if err := c.locate(); err != nil {
		return err
	}
	request := synth.Request{Text: c.Text, Voice: c.Voice, Layout: synth.Layout(c.Layout)}
	if c.Text == "" {
		request.Text = profileText
	}
	if c.Reference != "" {
		var err error
		if request.Reference, err = readReference(c.Reference); err != nil {
			return err
		}
	}
	if err := cmp.Or(c.checkOutputs(), c.checkParity()); err != nil {
		return err
	}
	format, err := audio.ParseFormat(c.Format)
	if err != nil {
		return usageErrorf("%s: %v", p.parser.Origin("format"), &plainError{err})
	}
	c.warn = p.warn
	recorder := profile.New(min(maxSpans, c.Streams*c.Frames*(2*profile.MaxSteps+8)))
	model, err := c.openRecorded(recorder, c.Streams)
	if err != nil {
		return err
	}
	defer model.Close()
	if _, err := c.applyVoice(model, &request); err != nil {
		return err
	}
	ctx, _ := catchInterrupts()
	l := audience{model: model, request: request, frames: c.Frames, format: format, recorder: recorder}
	run, err := record(ctx, &l, c.Streams)
	if err != nil {
		return err
	}
	report := recorder.Report(run)
	if c.Parity {
		recorder.Freeze() // a twin takes time that is not the model's
		if report.Parity, err = c.parity(ctx, l); err != nil {
			return err
		}
	}
	return c.write(p, recorder, report)
}

// checkOutputs refuses, before any computing, files that cannot be written, files that
// are named twice, and files that are there and hold something else.
func (c *profileCommand) checkOutputs() error {
	used := map[string]string{}
	for _, f := range []struct{ flag, path, mark, kind string }{
		{"--json", c.JSON, `"budget_ms"`, "JSON of a profile"},
		{"--trace", c.Trace, `"traceEvents"`, "trace"},
		{"--html", c.HTML, "<title>mynah profile</title>", "page of a profile"},
	} {
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
		if holdsSomething(f.path) && !headHas(f.path, f.mark) {
			return usageErrorf("%s: %s is there and is no %s: it is not written over", f.flag, f.path, f.kind)
		}
	}
	return nil
}

// headHas reports whether a file's first 4 KiB have a mark in them.
func headHas(path, mark string) bool {
	f, err := os.Open(path)
	if err != nil {
		return true // writing will tell
	}
	defer f.Close()
	head := make([]byte, 4096)
	n, _ := io.ReadFull(f, head)
	return bytes.Contains(head[:n], []byte(mark))
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
func record(ctx context.Context, l *audience, streams int) (profile.Run, error) {
	warm := *l
	warm.frames = warmUpFrames
	if _, err := warm.run(ctx, streams); err != nil {
		return profile.Run{}, err
	}
	l.recorder.Reset()
	h, err := l.run(ctx, streams)
	if err != nil {
		return profile.Run{}, err
	}
	run := conditions(l.model)
	run.Streams, run.Format, run.PeakMemory = streams, string(l.format), kilobytes(field(os.DirFS("/"), "proc/self/status", "VmHWM"))
	run.Load, run.Steps = l.model.StageLoad()
	run.Load[profile.Prefill] = l.model.PromptLoad(h.promptRows)
	return run, nil
}

// parity has the streams spoken once more, beside a float32 twin.
func (c *profileCommand) parity(ctx context.Context, l audience) (*profile.Parity, error) {
	twin, err := c.openTwin()
	if err != nil {
		return nil, err
	}
	defer twin.Close()
	l.recorder, l.format, l.tracer = nil, "", twin.Tracer
	if _, err := l.run(ctx, c.Streams); err != nil {
		return nil, err
	}
	return twin.Parity()
}

func (c *profileCommand) openTwin() (*synth.Twin, error) {
	if c.Model == "" {
		return synth.OpenBuiltinTwin(c.Threads)
	}
	return synth.OpenTwin(c.Model, c.ParityWith, c.Threads)
}

// checkParity refuses what cannot be compared, before anything is computed.
func (c *profileCommand) checkParity() error {
	info, err := os.Stat(c.Model)
	isFile := c.Model != "" && err == nil && !info.IsDir()
	switch {
	case c.ParityWith != "" && !c.Parity:
		return usageErrorf("--parity-with is for --parity")
	case c.ParityWith != "" && !isFile:
		return usageErrorf("--parity-with is for packed files; a checkpoint is compared with itself")
	case c.Parity && isFile && c.ParityWith == "":
		return usageErrorf("--parity: %s is packed and has no float32 weights, add --parity-with DIR, the checkpoint that it was packed from", c.Model)
	}
	return nil
}

// conditions says what runs, and where.
func conditions(model *synth.Model) profile.Run {
	info := model.Info()
	return profile.Run{
		Model:     modelName(info.Name),
		Precision: fmt.Sprintf("talker %s, predictor %s, codec %s", info.Precision.Talker, info.Precision.Predictor, info.Precision.Codec),
		Processor: cpu.Detect().Brand, Level: kernel.Level().String(), Threads: info.Threads,
		FrameAudio: time.Duration(info.FrameSize) * time.Second / time.Duration(info.SampleRate),
	}
}
