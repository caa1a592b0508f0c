package main

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/mynah-tts/mynah/internal/bench"
	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/cpu"
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/profile"
	"github.com/mynah-tts/mynah/synth"
)

// benchCommand is `mynah bench`.
type benchCommand struct {
	Model string `help:"Checkpoint directory to measure, in the published Hugging Face layout, a file that mynah quantize wrote, or the name of a model that mynah pull fetched." placeholder:"MODEL" type:"path" unset:"synthetic weights of the 0.6B's sizes, and the built-in voice"`
	computeFlags
	Reference string `help:"Voice to imitate, for Base checkpoints: a JSON file with x_vector, or with codes and text as well." placeholder:"FILE" type:"path" unset:"none"`
	JSON      bool   `name:"json" help:"Print JSON."`
	config.Common
}

// Help is what the help of bench adds.
func (c *benchCommand) Help() string {
	return `Measures reading and multiplying on this machine with all threads, then a model, and prints the project's goals beside what was reached and the bound that follows from the machine: weights over the speed of reading, for the codec multiply-adds over the float32 peak if that is longer, for prefill that peak. Goals are for the published 0.6B on two cores with AVX-512; those of other precisions than the chosen one are left out.

Without a model, synthetic weights take its place, and the stages of the built-in voice are measured as well. Synthetic weights are the matrices and convolutions alone, without norms, attention, activations and sampling; those that stay as they are, are float32 for the codec and bfloat16 otherwise. Synthetic convolutions are summed plainly; a model does those of seven taps in less than half of that time. ` + "`go run ./tools/fullsize DIR`" + ` makes a whole checkpoint of the same sizes.

` + plainCodes + config.Precedence
}

// benchResult is all that bench has to say.
type benchResult struct {
	Processor string         `json:"processor"`
	Level     string         `json:"level"`
	Threads   int            `json:"threads"`
	Machine   bench.Machine  `json:"machine"`
	Kernels   []bench.Kernel `json:"kernels"`
	Model     string         `json:"model"`
	Precision string         `json:"precision"`
	FullSize  bool           `json:"full_size"` // the goals' sizes
	Stages    []bench.Stage  `json:"stages"`
	Voice     *benchVoice    `json:"built_in_voice,omitempty"`
	Notes     []string       `json:"notes"`
	Goals     []bench.Goal   `json:"goals"`
}

// benchVoice is what bench has to say of the built-in voice.
type benchVoice struct {
	Model     string        `json:"model"`
	Precision string        `json:"precision"`
	Stages    []bench.Stage `json:"stages"`
	RTF       float64       `json:"rtf"`
	TTFA      float64       `json:"ttfa_ms"`           // in the whole-text layout
	Streaming float64       `json:"ttfa_streaming_ms"` // in the streaming layout
}

// Run measures. The model goes first, so that its peak of memory is its own.
func (c *benchCommand) Run(p *program) error {
	if unknown := p.parser.UnknownVariables(); unknown != "" {
		p.note("warning: %s", unknown)
	}
	if err := checkLevel(); err != nil {
		return err
	}
	c.warn = p.warn
	r := &benchResult{Processor: cpu.Detect().Brand, Level: kernel.Level().String(), Threads: c.Threads, Notes: []string{}}
	if r.Threads == 0 {
		r.Threads, _ = cpu.Threads()
	}
	ctx, _ := catchInterrupts()
	measure := r.model
	if c.Model == "" {
		measure = r.synthetic
	}
	f, err := measure(ctx, c)
	if err != nil {
		return err
	}
	r.Stages, r.FullSize = []bench.Stage{f.Talker, f.Predictor, f.Codec}, f.FullSize()
	if c.Model == "" {
		if r.Voice, err = measureVoice(ctx, c, r.Threads); err != nil {
			return err
		}
	}
	r.Machine, r.Kernels = bench.Measure(r.Threads)
	r.Goals = bench.Goals(f, r.Machine, r.Kernels)
	if !r.FullSize {
		r.Notes = append(r.Notes, "this model has other sizes than the 0.6B, which the goals are for")
	}
	if c.JSON {
		return printJSON(p.stdout, r)
	}
	_, err = io.WriteString(p.stdout, r.String())
	return err
}

// measureVoice measures the built-in voice.
func measureVoice(ctx context.Context, c *benchCommand, threads int) (*benchVoice, error) {
	own := &benchResult{Threads: threads}
	f, err := own.model(ctx, c)
	if err != nil {
		return nil, err
	}
	return &benchVoice{
		Model: own.Model, Precision: own.Precision, Stages: []bench.Stage{f.Talker, f.Predictor, f.Codec},
		RTF: f.RTF, TTFA: f.TTFAWhole, Streaming: f.TTFAStreaming,
	}, nil
}

// forms puts names of precisions into the terms of the measurements.
func (r *benchResult) forms(p synth.Precision) bench.Figures {
	r.Precision = fmt.Sprintf("talker %s, predictor %s, codec %s", p.Talker, p.Predictor, p.Codec)
	f := bench.Figures{TalkerForm: nn.Precision(p.Talker), PredictorForm: nn.Precision(p.Predictor), CodecForm: p.Codec}
	if p.Predictor == "int4" {
		f.PredictorForm = nn.Int4A8
	}
	return f
}

// synthetic measures synthetic weights. Matrices that stay as they are, are bfloat16.
func (r *benchResult) synthetic(_ context.Context, c *benchCommand) (bench.Figures, error) {
	p, err := choosePrecision(c.Precision, c.TalkerPrecision, c.PredictorPrecision, c.CodecPrecision)
	if err != nil {
		return bench.Figures{}, err
	}
	p.Talker, p.Predictor = cmp.Or(p.Talker, synth.DefaultPrecision.Talker), cmp.Or(p.Predictor, synth.DefaultPrecision.Predictor)
	p.Codec = synth.Float32Precision.Codec
	r.Model = "synthetic weights of the 0.6B's sizes"
	f := r.forms(p)
	talker, predictor := f.TalkerForm, f.PredictorForm
	for _, form := range []*nn.Precision{&talker, &predictor} {
		if *form == nn.F32 {
			*form = nn.BF16
		}
	}
	stages := bench.Synthetic(r.Threads, talker, predictor)
	f.Talker, f.Predictor, f.Codec = stages[0], stages[1], stages[2]
	f.RTF = (f.Talker.Time + f.Predictor.Time + f.Codec.Time) / frameMilliseconds
	r.Notes = append(r.Notes, "matrices and convolutions alone; a model does more, so this is what it can at best reach with these kernels")
	return f, nil
}

const frameMilliseconds = 80

// Sizes of the measurements of a model.
const (
	benchFrames     = 24
	benchFramesMax  = 5000 // ms; a machine that would need longer gets fewer frames
	benchFramesMin  = 6
	benchPositions  = 512
	benchPrefillMax = 6.0 // seconds; a machine that would need longer gets fewer positions
)

// model measures a checkpoint or the built-in voice: frames, first audio in both layouts, and a long prompt.
func (r *benchResult) model(ctx context.Context, c *benchCommand) (bench.Figures, error) {
	request := synth.Request{Text: profileText}
	var err error
	if c.Reference != "" {
		if request.Reference, err = readReference(c.Reference); err != nil {
			return bench.Figures{}, err
		}
	}
	recorder := profile.New(1)
	flags := modelFlags{Model: c.Model, computeFlags: c.computeFlags}
	model, err := flags.openRecorded(recorder, 1)
	if err != nil {
		return bench.Figures{}, err
	}
	defer model.Close()
	r.Model = modelName(model.Info().Name)
	f := r.forms(model.Info().Precision)

	l := audience{model: model, request: request, frames: benchFramesMin, recorder: recorder}
	run, err := record(ctx, &l, 1)
	if err != nil {
		return f, err
	}
	report := recorder.Report(run)
	if n := int(min(benchFrames, benchFramesMax/report.Row(profile.Frame).P50)); n > benchFramesMin {
		l.frames = n
		if run, err = record(ctx, &l, 1); err != nil {
			return f, err
		}
		report = recorder.Report(run)
	}
	f.Talker, f.Predictor, f.Codec = stageOf(report, profile.Talker), stageOf(report, profile.Residual), stageOf(report, profile.Codec)
	f.Predictor.Size = 0
	for _, step := range run.Steps {
		f.Predictor.Size = max(f.Predictor.Size, step.Bytes)
	}
	f.RTF, f.PeakMemory = report.Row(profile.Frame).P50/report.Budget, run.PeakMemory
	for _, each := range []struct {
		layout synth.Layout
		to     *float64
	}{{synth.LayoutWhole, &f.TTFAWhole}, {synth.LayoutStreaming, &f.TTFAStreaming}} {
		l.request.Layout, l.frames = each.layout, 1
		h, err := l.run(ctx, 1)
		if err != nil {
			return f, err
		}
		*each.to = float64(h.ttfa[0]) / 1e6
	}
	return f, r.prefill(ctx, &l, &f)
}

// stageOf puts a stage's row into a stage.
func stageOf(report *profile.Report, stage profile.Stage) bench.Stage {
	row, load := report.Row(stage), report.Load[stage]
	return bench.NewStage(row.Stage, load.Bytes, load.Bytes, load.MACs, row.P50)
}

// prefill measures a long prompt, of as many positions as the time allows: first one
// sentence, then as many sentences as that lets expect.
func (r *benchResult) prefill(ctx context.Context, l *audience, f *bench.Figures) error {
	l.request.Layout, l.request.SegmentRunes, l.frames = synth.LayoutWhole, -1, 1
	rows, positions := 0, benchPositions
	for _, last := range []bool{false, true} {
		if last {
			positions = min(positions, int(benchPrefillMax*f.Prefill))
			l.request.Text = strings.Repeat(profileText+" ", max(1, (positions+rows/2)/rows))
		}
		l.recorder.Reset()
		h, err := l.run(ctx, 1)
		if err != nil {
			return err
		}
		rows = h.promptRows
		f.Prefill = float64(rows) / l.recorder.Report(profile.Run{}).Row(profile.Prefill).P50 * 1e3
	}
	r.Notes = append(r.Notes, fmt.Sprintf("prefill was measured over %d positions", rows))
	return nil
}

func threads(n int) string {
	if n == 1 {
		return "1 thread"
	}
	return fmt.Sprintf("%d threads", n)
}

// String is the result as lines of text.
func (r *benchResult) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "machine: %s, kernels %s, %s\n", r.Processor, r.Level, threads(r.Threads))
	for _, read := range r.Machine.Reads {
		fmt.Fprintf(&b, "  read %3d MB over and over   %6.1f GB/s\n", read.Bytes/1e6, read.GBs)
	}
	fmt.Fprintf(&b, "  float32 multiply-adds      %6.1f GMAC/s, cached, by the convolution kernel\n", r.Machine.Peak)
	fmt.Fprintf(&b, "  those of 4 by 8 bits       %6.1f GMAC/s, cached, by the kernel of many rows\n\n", r.Machine.PeakInt4)
	fmt.Fprintln(&b, "single-row products in one piece")
	for _, k := range r.Kernels {
		fmt.Fprintf(&b, "  %-9s %4d MB            %6.1f GB/s, %.0f %% of the read speed\n", k.Name, k.Bytes/1e6, k.GBs, 100*k.Share)
	}
	fmt.Fprintf(&b, "\nmodel: %s, %s\n", r.Model, r.Precision)
	writeStages(&b, r.Stages)
	if v := r.Voice; v != nil {
		fmt.Fprintf(&b, "\nvoice: %s, %s\n", v.Model, v.Precision)
		writeStages(&b, v.Stages)
		fmt.Fprintf(&b, "  RTF %.3f, TTFA %.1f ms, %.1f ms in the streaming layout\n", v.RTF, v.TTFA, v.Streaming)
	}
	fmt.Fprintf(&b, "\n%s", bench.Table(r.Goals))
	for _, note := range r.Notes {
		fmt.Fprintf(&b, "note: %s\n", note)
	}
	return b.String()
}

func writeStages(b *strings.Builder, stages []bench.Stage) {
	for _, s := range stages {
		fmt.Fprintf(b, "  %-10s %8.2f ms, %6.1f GB/s, %6.1f GMAC/s (%.4g MB read, %.3g GMAC a frame)\n", s.Name, s.Time, s.GBs, s.GMACs, float64(s.Reads)/1e6, float64(s.MACs)/1e9)
	}
}
