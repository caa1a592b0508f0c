package main

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"time"

	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/synth"
)

// sayCommand is `mynah say`.
type sayCommand struct {
	Text []string `arg:"" optional:"" help:"What to say; - reads standard input."`

	Output string `short:"o" help:"Audio file, or - for standard output." placeholder:"FILE" type:"path" unset:"standard output if it is a pipe or a file"`
	Format string `help:"Form of the audio. pcm is bare signed 16-bit little-endian samples; opus and aac need a program ffmpeg on PATH." allowed:"wav,pcm,flac,mp3,opus,aac" placeholder:"NAME" unset:"the extension of the file, wav on standard output"`

	SampleRate int      `help:"Samples of the audio a second, as far as the form has that rate." placeholder:"HZ" range:"8000,192000" unset:"the checkpoint's, 24000"`
	Speed      *float64 `help:"How fast to speak, 0.25 to 4 times; the pitch stays." placeholder:"X" unset:"1"`

	File string `help:"Text file (UTF-8) to say; - is standard input." placeholder:"FILE" type:"path" unset:"none"`
	modelFlags
	speechFlags
	cloneFlags
	serverFlags
	Quiet bool `short:"q" help:"Print errors only: no progress, no summary, no warnings."`
	config.Common

	input string // one more file that is read, for other commands
}

// Run speaks.
func (c *sayCommand) Run(p *program) error {
	if unknown := p.parser.UnknownVariables(); unknown != "" && !c.Quiet {
		p.note("warning: %s", unknown)
	}
	if err := c.settleVoice(p); err != nil {
		return err
	}
	out, err := c.output(p)
	if err != nil {
		return err
	}
	text, err := c.text(p)
	if err != nil {
		return err
	}
	if c.Server != "" {
		return c.ask(p, out, text)
	}
	recording, err := c.cloneFlags.read(p, false)
	if err != nil {
		return err
	}
	request, err := c.request(text)
	if err != nil {
		return err
	}
	ctx, signals := catchInterrupts()
	if !c.Quiet {
		c.warn = p.warn
	}
	progress := startProgress(p.stderr, c.Quiet)
	defer func() { progress.stop() }()
	model, err := openUnless(ctx, c.open)
	if err != nil {
		return err
	}
	defer model.Close()
	kept, err := c.applyVoice(model, &request)
	if err != nil {
		return err
	}
	var warnings []string
	if recording != nil {
		request.Reference, err = recording.hear(ctx, p, model)
		if err != nil {
			return err
		}
		warnings = recording.warnings
	}
	if unknown := model.UnknownScripts(text); unknown != "" {
		warnings = append(warnings, unknown)
	}
	if len(warnings) > 0 && !c.Quiet {
		progress.stop()
		for _, w := range warnings {
			p.warn(w)
		}
		progress = startProgress(p.stderr, c.Quiet)
	}
	s := &speech{program: p, out: out, progress: progress, quiet: c.Quiet, voice: kept}
	return s.run(ctx, signals, model, request)
}

// speech is one utterance on its way out.
type speech struct {
	program  *program
	out      output
	progress *progress
	quiet    bool
	voice    string // the name of a voice that is kept, which the engine does not know
	spedUp   bool   // what comes has the speed of the output already
	sink     *sink
	start    synth.Start
}

// run speaks a request to its end.
func (s *speech) run(ctx context.Context, signals *interrupts, model *synth.Model, request synth.Request) error {
	stream, err := model.Speak(ctx, request)
	if err != nil {
		return err
	}
	defer stream.Close()
	return s.hear(signals, model.Info().SampleRate, stream.Events())
}

// hear puts out what is spoken, of samples of a rate.
func (s *speech) hear(signals *interrupts, rate int, events iter.Seq2[synth.Event, error]) (err error) {
	out := s.out
	if s.spedUp {
		out.encoding.Speed = 0
	}
	if s.sink, err = out.open(s.program, rate); err != nil {
		return err
	}
	defer s.sink.abort()
	signals.onSecond(s.sink.abort)
	for event, err := range events {
		if err != nil {
			return err
		}
		switch e := event.(type) {
		case synth.Start:
			s.start = e
			s.start.Voice = cmp.Or(e.Voice, s.voice)
			s.progress.start()
		case synth.Audio:
			if err := s.sink.write(e.PCM); err != nil {
				return err
			}
			s.progress.frame(len(e.PCM), s.start.SampleRate, e.Computing)
		case synth.Done:
			return s.finish(e)
		}
	}
	return fmt.Errorf("the utterance ended without a result")
}

// finish completes the output and tells how it went.
func (s *speech) finish(done synth.Done) error {
	s.progress.stop()
	if done.FinishReason == synth.FinishCancelled {
		if s.out.path == standardOutput {
			return &exitError{exitFailed, fmt.Sprintf("interrupted after %s", frames(done.Frames))}
		}
		return &exitError{exitFailed, fmt.Sprintf("interrupted after %s, %s was not written", frames(done.Frames), s.out.path)}
	}
	if err := s.sink.close(); err != nil {
		return err
	}
	if !s.quiet {
		s.program.note("%s", summary(s.out, s.start, done))
	}
	if done.FinishReason != synth.FinishLength {
		return nil
	}
	cut := &exitError{code: exitPartly}
	if !s.quiet {
		cut.message = fmt.Sprintf("warning: cut after %s, before the text had ended", frames(done.Frames))
	}
	return cut
}

// summary is the line about a finished utterance. It does not hold the text.
func summary(out output, start synth.Start, done synth.Done) string {
	voice := ""
	if start.Voice != "" {
		voice = ", voice " + start.Voice
	}
	if speed := out.encoding.Speed; speed != 0 && speed != 1 {
		voice += fmt.Sprintf(", speed %v", speed)
		done.Audio = time.Duration(float64(done.Audio) / speed)
	}
	return fmt.Sprintf("%s: %.2f s of audio in %.2f s (RTF %.2f, first audio after %.2f s), %s%s, seed %d, finish %s",
		out.name(), done.Audio.Seconds(), done.Elapsed.Seconds(), done.RTF(), done.TTFA.Seconds(), frames(done.Frames), voice, done.Seed, done.FinishReason)
}

func frames(n int) string {
	if n == 1 {
		return "1 frame"
	}
	return fmt.Sprintf("%d frames", n)
}
