package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"os"
	"slices"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/synth"
)

// cloneFlags name a recording to speak like.
type cloneFlags struct {
	Clone         string `help:"Recording of the voice to imitate, for Base checkpoints: WAV, MP3 or FLAC, five to fifteen seconds of one person; - is standard input." placeholder:"FILE" type:"path" unset:"none"`
	CloneText     string `help:"What is said in the recording, word by word: with it the voice is imitated more closely." placeholder:"TEXT" unset:"none, the timbre alone is imitated"`
	CloneTextFile string `help:"File (UTF-8) with that text." placeholder:"FILE" type:"path" unset:"none"`
}

// clip is a recording on its way to a voice.
type clip struct {
	synth.Clip
	data     []byte   // the file, if it was to be kept
	textFrom string   // where the text was given
	warnings []string // of the file, and then of the sound
}

// rival is a flag that says the same thing as another one in another way.
type rival struct {
	name  string
	value *string
}

// settleVoice leaves one flag that says whose voice speaks, and one that says what is said in
// the recording.
func (c *sayCommand) settleVoice(p *program) error {
	cloning := c.Clone != ""
	if err := settle(p, rival{"clone", &c.Clone}, rival{"reference", &c.Reference}, rival{"voice", &c.Voice}); err != nil {
		return err
	}
	texts := []rival{{"clone-text", &c.CloneText}, {"clone-text-file", &c.CloneTextFile}}
	if cloning && c.Clone == "" {
		// The text of a recording that gave way goes with it.
		for _, t := range texts {
			if !p.onLine(t.name) {
				*t.value = ""
			}
		}
	}
	return settle(p, texts...)
}

// settle empties rivals that are not on the command line if another one is: variables and the
// config file are for many runs, the command line is for this one. Two of one rank are refused.
func settle(p *program, rivals ...rival) error {
	given := slices.DeleteFunc(rivals, func(r rival) bool { return *r.value == "" })
	if slices.ContainsFunc(given, func(r rival) bool { return p.onLine(r.name) }) {
		given = slices.DeleteFunc(given, func(r rival) bool {
			gives := !p.onLine(r.name)
			if gives {
				*r.value = ""
			}
			return gives
		})
	}
	if len(given) > 1 {
		return usageErrorf("%s and %s: give one of them", p.parser.Origin(given[0].name), p.parser.Origin(given[1].name))
	}
	return nil
}

// onLine reports whether a flag that has a value has it from the command line.
func (p *program) onLine(flag string) bool { return p.parser.Origin(flag) == "--"+flag }

// read reads the recording and its text, before the model is opened; nil is none. The bytes
// of the file are there as well if it is to be kept.
func (f *cloneFlags) read(p *program, keep bool) (*clip, error) {
	switch {
	case f.Clone == "" && f.CloneText == "" && f.CloneTextFile == "":
		return nil, nil
	case f.Clone == "":
		return nil, usageErrorf("a text of a recording, and no recording: add --clone FILE")
	case f.CloneTextFile == standardOutput:
		return nil, usageErrorf("%s: standard input is not for this text, name a file", p.parser.Origin("clone-text-file"))
	}
	c := &clip{Clip: synth.Clip{Text: f.CloneText}, textFrom: p.parser.Origin("clone-text")}
	if f.CloneTextFile != "" {
		c.textFrom = "text file " + f.CloneTextFile
		file, err := os.Open(f.CloneTextFile)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.textFrom, cause(err))
		}
		defer file.Close()
		if c.Text, err = readText(c.textFrom, file); err != nil {
			return nil, err
		}
	}
	return c, c.load(p, f.Clone, keep)
}

// load reads the recording, from standard input if its name is -.
func (c *clip) load(p *program, path string, keep bool) (err error) {
	name, from := path, io.Reader(p.stdin)
	if path == standardOutput {
		name = "standard input"
	} else {
		file, err := os.Open(path)
		if err != nil {
			return fmt.Errorf("%s: %w", path, cause(err))
		}
		defer file.Close()
		from = file
	}
	if keep {
		if c.data, err = io.ReadAll(io.LimitReader(from, maxClipBytes+1)); err != nil {
			return fmt.Errorf("%s: %w", name, cause(err))
		}
		from = bytes.NewReader(c.data)
	}
	c.Rate = audio.ClipRate
	c.Samples, c.warnings, err = readRecording(name, from, maxClipSeconds, audio.ReadClip)
	return err
}

// readClip is audio.ReadClip or audio.ReadSound.
type readClip func(io.Reader, audio.Limits) ([]float32, audio.ClipInfo, error)

// readRecording reads a recording of any kind that is known as mono samples at
// audio.ClipRate. Warnings are about the file.
func readRecording(name string, r io.Reader, seconds float64, read readClip) (samples []float32, warnings []string, err error) {
	log.SetOutput(io.Discard) // decoders of others have notes there
	samples, info, err := read(r, audio.Limits{Bytes: maxClipBytes, Seconds: seconds})
	var bad *audio.ClipError
	switch {
	case errors.As(err, &bad):
		return nil, nil, usageErrorf("%s: %s", name, bad.Text)
	case err != nil:
		return nil, nil, fmt.Errorf("%s: %w", name, cause(errors.Unwrap(err)))
	}
	if info.Truncated {
		warnings = append(warnings, fmt.Sprintf("%s ends in the middle, %.1f s of it are taken", name, info.Seconds))
	}
	if info.Damaged {
		warnings = append(warnings, fmt.Sprintf("%s is damaged: parts of it are missing, %.1f s are taken", name, info.Seconds))
	}
	if info.Antiphase {
		warnings = append(warnings, fmt.Sprintf("the channels of %s cancel each other, the loudest is taken", name))
	}
	return samples, warnings, nil
}

// hear makes a voice of a recording, for a request.
func (c *clip) hear(ctx context.Context, p *program, model *synth.Model) (*synth.Reference, error) {
	ref, warnings, err := model.Listen(ctx, c.Clip)
	c.warnings = append(c.warnings, warnings...)
	var refused *synth.RequestError
	switch {
	case errors.Is(err, context.Canceled):
		return nil, &exitError{exitFailed, "interrupted while the recording was being heard"}
	case errors.As(err, &refused) && refused.Param == "ref_text":
		return nil, usageErrorf("%s: %s", c.textFrom, refused.Message)
	case errors.As(err, &refused):
		return nil, usageErrorf("%s: %s", p.parser.Origin("clone"), refused.Message)
	}
	return ref, err
}
