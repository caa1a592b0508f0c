package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/profile"
	"github.com/mynah-tts/mynah/synth"
)

// quantizeCommand is `mynah quantize`.
type quantizeCommand struct {
	Dir string `arg:"" help:"Checkpoint directory, in the published Hugging Face layout, or the name of a model that mynah pull fetched."`
	Out string `arg:"" help:"File to write. Only a packed file is written over."`

	Precision          string `help:"What the matrices are packed as." allowed:"f32,default,fast" placeholder:"NAME" unset:"default"`
	TalkerPrecision    string `help:"The talker's alone. int4-a16 and int4-a8 are packed alike: a file can be run as either." allowed:"f32,bf16,int4-a16,int4-a8" placeholder:"NAME" unset:"that of --precision; default and fast are int4-a8"`
	PredictorPrecision string `help:"The code predictor's alone." allowed:"f32,int8,int4" placeholder:"NAME" unset:"that of --precision; default is int8, fast int4"`
	CodecPrecision     string `help:"The codec decoder's alone." allowed:"f32,bf16,int8" placeholder:"NAME" unset:"that of --precision; default is f32, fast int8"`
	Quiet              bool   `short:"q" help:"Print errors only."`
	config.Common
}

// Help is what the help of quantize adds.
func (c *quantizeCommand) Help() string {
	return `The file holds all that is needed to speak: mynah say --model OUT. The same seed gives the same audio from it as from the directory at the same precision. It is written aside, read and compared with its checksums, and renamed when it is right: until then a file of that name stays as it is.

The printed error of int8 is the sum of squared differences between packed weights and the checkpoint's, relative to the sum of squared weights. Codes of int4 are chosen so that products change least: their error is that of the products with the rows that they were chosen by, and behind it stands what it would be if each group's codes spanned its minimum and maximum.

` + plainCodes + config.Precedence
}

// Run packs.
func (c *quantizeCommand) Run(p *program) error {
	if unknown := p.parser.UnknownVariables(); unknown != "" && !c.Quiet {
		p.note("warning: %s", unknown)
	}
	precision, err := choosePrecision(c.Precision, c.TalkerPrecision, c.PredictorPrecision, c.CodecPrecision)
	if err != nil {
		return err
	}
	if c.Dir, err = locateModel(c.Dir); err != nil {
		return err
	}
	if err := c.checkOut(); err != nil {
		return err
	}
	ctx, _ := catchInterrupts()
	begun := time.Now()
	packing, err := synth.Pack(ctx, c.Dir, c.Out, precision)
	if errors.Is(err, context.Canceled) {
		return &exitError{exitFailed, fmt.Sprintf("interrupted, %s was not written", c.Out)}
	}
	if err != nil || c.Quiet {
		return err
	}
	var b strings.Builder
	table(&b, "packed "+oneLine(c.Dir), [][2]string{
		{"file", fmt.Sprintf("%s, %s in %.1f s", c.Out, size(packing.Bytes), time.Since(begun).Seconds())},
		{"talker", packing.Precision.Talker + packingError(packing.Talker.Stored, packing.Talker.Plain)},
		{"predictor", packing.Precision.Predictor + packingError(packing.Predictor.Stored, packing.Predictor.Plain)},
		{"codec", packing.Precision.Codec},
		{"parity", packingParity(packing.Parity)},
		{"source", "sha256 " + packing.Source},
	})
	_, err = fmt.Fprint(p.stdout, b.String())
	return err
}

// checkOut refuses, before any computing, a file that cannot be written. What stands at
// its place is looked at where it is replaced.
func (c *quantizeCommand) checkOut() error {
	if c.Out == "" || c.Out == standardOutput {
		return usageErrorf("OUT: %q, wanted the name of a file", c.Out)
	}
	at := c.Out
	if target, err := filepath.EvalSymlinks(at); err == nil {
		at = target // a link stays one: what it leads to is replaced
	}
	probe, err := os.CreateTemp(filepath.Dir(at), ".mynah-*.tmp")
	if err != nil {
		var pathErr *fs.PathError
		if errors.As(err, &pathErr) {
			err = pathErr.Err
		}
		return fmt.Errorf("%s: cannot write: %w", c.Out, err)
	}
	probe.Close()
	return os.Remove(probe.Name())
}

// packingError words what packing changed, if it did.
func packingError(stored, plain float64) string {
	switch {
	case stored == 0:
		return ""
	case stored == plain:
		return fmt.Sprintf(" (squared error %.3g)", stored)
	}
	return fmt.Sprintf(" (squared error %.3g, %.3g on plain grids)", stored, plain)
}

// packingParity words how far the packed model is from float32.
func packingParity(p *profile.Parity) string {
	if p == nil {
		return "not measured"
	}
	return fmt.Sprintf("%s: code 0 %s; residual codes %s; codec, %v", frames(int(p.Frames)), agreement(p.Talker), agreement(p.Residual), p.Codec)
}

func agreement(a profile.Agreement) string {
	return fmt.Sprintf("top-1 %.1f %%, KL %.4f", 100*a.Top1, a.KL)
}
