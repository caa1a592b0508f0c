package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/term"

	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/osfile"
	"github.com/mynah-tts/mynah/synth"
)

// codecCommand is `mynah codec`.
type codecCommand struct {
	Encode codecEncodeCommand `cmd:"" help:"Turn a recording into a file of codes."`
	Decode codecDecodeCommand `cmd:"" help:"Turn a file of codes into a recording."`
}

// codesForm explains the file, in the help of both.
const codesForm = `A file of codes is JSON: {"sample_rate": 24000, "frame_rate": 12.5, "codebook_size": 2048, "samples": 48000, "codes": [[16 numbers], …]}, a list for each frame of 80 ms. Numbers are below codebook_size; a codec of another size does not take them. samples is the length of the sound, whose end the last frame may go beyond; decode makes just as many, or all of the frames if it is left out. codes alone is needed: a reference file of mynah say can be decoded too.`

// codecFlags choose a codec.
type codecFlags struct {
	Model          string `help:"Checkpoint directory, packed file or name of a fetched model whose codec is used." placeholder:"PATH" type:"path" unset:"the built-in voice"`
	CodecPrecision string `help:"How the decoder's matrices are held." allowed:"f32,bf16,int8" placeholder:"NAME" unset:"f32, or what a packed file holds"`
	Threads        int    `help:"Threads that compute. 0 takes a thread for each physical core that the process may use." placeholder:"N" range:"0,256" unset:"0"`
	Quiet          bool   `short:"q" help:"Print errors only."`
}

// start is what both commands begin with.
func (f *codecFlags) start(p *program) (context.Context, *interrupts, error) {
	if unknown := p.parser.UnknownVariables(); unknown != "" && !f.Quiet {
		p.warn(unknown)
	}
	ctx, signals := catchInterrupts()
	err := checkLevel()
	if err == nil {
		f.Model, err = locateModel(f.Model)
	}
	return ctx, signals, err
}

// codecEncodeCommand is `mynah codec encode`.
type codecEncodeCommand struct {
	In  string `arg:"" help:"Recording: WAV, MP3 or FLAC, of any rate; - is standard input." type:"path"`
	Out string `arg:"" help:"File of codes to write, - is standard output." type:"path"`
	codecFlags
	config.Common
}

// Help is what the help of codec encode adds.
func (c *codecEncodeCommand) Help() string {
	return `The recording becomes mono at the codec's rate, 24 kHz, and every 80 ms of it a frame of 16 codes, the last part of a frame included. A file at the place of the output is written over if it is one of codes alone.

` + codesForm + "\n\n" + plainCodes + config.Precedence
}

// Run encodes.
func (c *codecEncodeCommand) Run(p *program) error {
	ctx, _, err := c.start(p)
	if err != nil {
		return err
	}
	if c.Out == standardOutput && term.IsTerminal(int(p.stdout.Fd())) {
		return usageErrorf("the output is a terminal, codes go to a file or a pipe")
	}
	if err := c.checkOutput(); err != nil {
		return err
	}
	if named := formatOf(c.Out); !c.Quiet && named != "" && c.Out != standardOutput {
		p.warn(fmt.Sprintf("%s is named like %s and will hold codes as JSON", c.Out, named))
	}
	in, name, err := p.openInput(c.In)
	if err != nil {
		return err
	}
	defer in.Close()
	model, err := synth.OpenCodec(c.Model, true, c.CodecPrecision, c.Threads)
	if err != nil {
		return err
	}
	defer model.Close()
	rate := model.SampleRate()
	samples, warnings, err := readRecording(name, in, float64(model.MaxSamples())/float64(rate), audio.ReadSound)
	if err != nil {
		return err
	}
	if samples, err = audio.Resample(samples, audio.ClipRate, rate); err != nil {
		return err
	}
	if !c.Quiet {
		for _, w := range warnings {
			p.warn(w)
		}
	}
	codes, err := model.Encode(ctx, samples)
	if errors.Is(err, context.Canceled) {
		return &exitError{exitFailed, fmt.Sprintf("interrupted, %s was not written", c.Out)}
	}
	if err != nil {
		return err
	}
	return c.write(p, model, codes, len(samples))
}

// checkOutput refuses to write over what is no file of codes.
func (c *codecEncodeCommand) checkOutput() error {
	if err := overInput(c.Out, c.Out, c.In); err != nil || c.Out == standardOutput {
		return err
	}
	if holdsSomething(c.Out) && !isCodesFile(c.Out) {
		return usageErrorf("%s is there and is no file of codes alone: it is not written over", c.Out)
	}
	return nil
}

// write writes the codes of so many samples.
func (c *codecEncodeCommand) write(p *program, model *synth.Codec, codes [][]int32, n int) error {
	form := formOf(model)
	file := codesFile{SampleRate: form.rate, FrameRate: form.frameRate(), Codebook: form.codebook, Samples: &n, Codes: codes}
	if err := p.writeAside(c.Out, file.bytes()); err != nil {
		return err
	}
	if !c.Quiet && c.Out != standardOutput {
		p.note("%s: %s of %d codes, %.2f s", c.Out, frames(len(codes)), form.groups, float64(n)/float64(form.rate))
	}
	return nil
}

// codecDecodeCommand is `mynah codec decode`.
type codecDecodeCommand struct {
	In  string `arg:"" help:"File of codes, - is standard input." type:"path"`
	Out string `arg:"" help:"Audio file to write, - is standard output." type:"path"`

	Format string `help:"Form of the audio." allowed:"wav,pcm,flac,mp3,opus,aac" placeholder:"NAME" unset:"the extension of the file, wav on standard output"`
	codecFlags
	config.Common
}

// Help is what the help of codec decode adds.
func (c *codecDecodeCommand) Help() string {
	return codesForm + "\n\nA file at the place of the output is written over if it is audio.\n\n" + plainCodes + config.Precedence
}

// Run decodes.
func (c *codecDecodeCommand) Run(p *program) error {
	ctx, signals, err := c.start(p)
	if err != nil {
		return err
	}
	say := sayCommand{Output: c.Out, Format: c.Format, Quiet: c.Quiet, input: c.In}
	out, err := say.output(p)
	if err != nil {
		return err
	}
	in, name, err := p.openInput(c.In)
	if err != nil {
		return err
	}
	defer in.Close()
	model, err := synth.OpenCodec(c.Model, false, c.CodecPrecision, c.Threads)
	if err != nil {
		return err
	}
	defer model.Close()
	file, err := readCodes(name, in, formOf(model))
	if err != nil {
		return err
	}
	if err := c.decode(ctx, p, signals, model, file, out); err != nil {
		var bad *codec.CodeError
		if errors.As(err, &bad) {
			return usageErrorf("%s: frame %d: code %d is %d, allowed are 0 to %d with this codec", name, bad.Frame, bad.Group, bad.Code, bad.Bound-1)
		}
		return err
	}
	if !c.Quiet && out.path != standardOutput {
		p.note("%s: %.2f s of %s", out.name(), float64(*file.Samples)/float64(model.SampleRate()), frames(len(file.Codes)))
	}
	return nil
}

// decode puts out the sound of a file's codes.
func (c *codecDecodeCommand) decode(ctx context.Context, p *program, signals *interrupts, model *synth.Codec, file *codesFile, out output) error {
	sink, err := out.open(p, model.SampleRate())
	if err != nil {
		return err
	}
	defer sink.abort()
	signals.onSecond(sink.abort)
	left := *file.Samples
	err = model.Decode(ctx, file.Codes, func(samples []float32) error {
		n := min(left, len(samples))
		left -= n
		return sink.write(samples[:n])
	})
	if errors.Is(err, context.Canceled) {
		return &exitError{exitFailed, fmt.Sprintf("interrupted, %s is not complete", out.name())}
	}
	if err != nil {
		return err
	}
	return sink.close()
}

// openInput opens a file to be read, or standard input for "-", and tells its name for
// messages.
func (p *program) openInput(path string) (io.ReadCloser, string, error) {
	if path == standardOutput {
		return io.NopCloser(p.stdin), "standard input", nil
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, "", fmt.Errorf("%s: %w", path, cause(err))
	}
	return f, path, nil
}

// writeAside writes a file that appears when it is complete, or standard output for "-".
// What is no regular file, such as a pipe, is written to as it is.
func (p *program) writeAside(path string, data []byte) (err error) {
	if path == standardOutput {
		_, err := p.stdout.Write(data)
		return err
	}
	defer func() {
		if err != nil {
			err = fmt.Errorf("%s: cannot write: %w", path, cause(err))
		}
	}()
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return os.WriteFile(path, data, 0o644)
	}
	f, err := osfile.CreatePending(path)
	if err != nil {
		return err
	}
	if _, err := f.Write(data); err != nil {
		_ = f.Abort() // the first error is the one to report
		return err
	}
	return f.Commit()
}
