package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/voices"
	"github.com/mynah-tts/mynah/synth"
)

// voicesAddCommand is `mynah voices add`.
type voicesAddCommand struct {
	Name string `arg:"" help:"The voice's name, 1 to 64 characters."`
	Clip string `arg:"" help:"Recording of one person, WAV, MP3 or FLAC; five to fifteen seconds without music. - is standard input." type:"path"`

	Text     string `setting:"voice-text" help:"What is said in the clip, word by word: with it the voice is imitated more closely." placeholder:"TEXT" unset:"none, the timbre alone is imitated"`
	TextFile string `help:"File (UTF-8) with that text." placeholder:"FILE" type:"path" unset:"none"`

	Language    string `setting:"voice-language" help:"Language of requests in this voice that name none." placeholder:"NAME" unset:"none"`
	Description string `help:"What the voice is like, for people." placeholder:"TEXT" unset:"none"`
	Consent     string `help:"What the speaker agreed to, or where that is recorded." placeholder:"TEXT" unset:"none"`
	Replace     bool   `help:"Replace a voice of that name."`

	modelFlags
	voicesFlags
	keepFlags
	JSON  bool `name:"json" help:"Print what was kept as JSON."`
	Quiet bool `short:"q" help:"Print errors only."`
	config.Common
}

// Help is what the help of voices add adds.
func (c *voicesAddCommand) Help() string {
	return `The voice is heard by the encoders of --model, a Base checkpoint, and is kept for that checkpoint:

  mynah voices add anna anna.wav --text "What she says in it." --model DIR
  mynah say "Hello there." -o hello.wav --voice anna --model DIR

Only take voices of people who agreed to it.

` + plainCodes + config.Precedence
}

// The bounds of a clip: those of the engine, and of a file that holds as much.
const (
	maxClipSeconds = 120
	maxClipBytes   = 256 << 20
)

// Run hears the clip and keeps the voice.
func (c *voicesAddCommand) Run(p *program) error {
	if unknown := p.parser.UnknownVariables(); unknown != "" && !c.Quiet {
		p.warn(unknown)
	}
	name, err := voices.CheckName(c.Name)
	if err != nil {
		return plainVoices(err)
	}
	store, err := c.writable(p, c.MaxVoices)
	if err != nil {
		return err
	}
	if there, err := store.Get(name); err == nil && !c.Replace {
		return &exitError{exitFailed, fmt.Sprintf("there is a voice %q already in %s: --replace replaces it", there.Name, store.Dir())}
	}
	text, from, err := c.transcript(p)
	if err != nil {
		return err
	}
	samples, err := c.read(p)
	if err != nil {
		return err
	}
	if !c.Quiet {
		c.warn = p.warn
	}
	ctx, _ := catchInterrupts()
	profile, warnings, err := c.hear(ctx, synth.Clip{Samples: samples, Rate: audio.ClipRate, Text: text}, from)
	if err != nil {
		return err
	}
	profile.Name, profile.Seconds = name, float64(len(samples))/audio.ClipRate
	profile.Description, profile.Consent = c.Description, c.Consent
	kept, err := store.Add(profile, c.Replace)
	if err != nil {
		return plainVoices(err)
	}
	return c.report(p, store, kept, warnings)
}

// transcript is what the clip says, "" if that was not told, and where it was given.
func (c *voicesAddCommand) transcript(p *program) (text, from string, err error) {
	switch {
	case c.Text != "" && c.TextFile != "":
		return "", "", usageErrorf("--text and --text-file: give one of them")
	case c.TextFile == "":
		return c.Text, p.parser.Origin("text"), nil
	case c.TextFile == standardOutput:
		return "", "", usageErrorf("%s: standard input is for the clip, name a file", p.parser.Origin("text-file"))
	}
	from = "text file " + c.TextFile
	f, err := os.Open(c.TextFile)
	if err != nil {
		return "", "", fmt.Errorf("%s: %w", from, cause(err))
	}
	defer f.Close()
	text, err = readText(from, f)
	return text, from, err
}

// read reads the clip.
func (c *voicesAddCommand) read(p *program) ([]float32, error) {
	var r io.Reader = p.stdin
	if c.Clip != standardOutput {
		f, err := os.Open(c.Clip)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", c.clipName(), cause(err))
		}
		defer f.Close()
		r = f
	}
	samples, warnings, err := readRecording(c.clipName(), r, maxClipSeconds, audio.ReadClip)
	if !c.Quiet {
		for _, w := range warnings {
			p.warn(w)
		}
	}
	return samples, err
}

func (c *voicesAddCommand) clipName() string {
	if c.Clip == standardOutput {
		return "standard input"
	}
	return c.Clip
}

// hear has the model listen. Where the text of the clip was given is for messages.
func (c *voicesAddCommand) hear(ctx context.Context, clip synth.Clip, textFrom string) (voices.Profile, []string, error) {
	profile := voices.Profile{}
	model, err := c.openPlain(ctx)
	if err != nil {
		return profile, nil, err
	}
	defer model.Close()
	info := model.Info()
	if info.Kind != synth.Base {
		return profile, nil, usageErrorf("voices are heard by Base checkpoints, %s is %s: name one with --model", voices.ModelName(info.Name), info.Kind)
	}
	if profile.Language, err = voiceLanguage(c.Language, info); err != nil {
		return profile, nil, err
	}
	ref, warnings, err := model.Listen(ctx, clip)
	var refused *synth.RequestError
	switch {
	case ctx.Err() != nil:
		return profile, nil, &exitError{exitFailed, "interrupted, no voice was kept"}
	case errors.As(err, &refused) && refused.Param == "ref_text":
		return profile, nil, usageErrorf("%s: %s", textFrom, refused.Message)
	case errors.As(err, &refused):
		return profile, nil, usageErrorf("%s: %s", c.clipName(), refused.Message)
	case err != nil:
		return profile, nil, err
	}
	profile.Model, profile.Reference = voices.ModelName(info.Name), *ref
	profile.Digest, err = model.Digest()
	return profile, warnings, err
}

// voiceLanguage is a language as the checkpoint calls it, "" for auto.
func voiceLanguage(given string, info synth.Info) (string, error) {
	if given == "" || strings.EqualFold(given, "auto") {
		return "", nil
	}
	name, ok := info.Language(given)
	if !ok {
		return "", usageErrorf("--language: %q, this checkpoint has auto, %s", given, strings.Join(info.Languages, ", "))
	}
	return name, nil
}

// report tells what was kept.
func (c *voicesAddCommand) report(p *program, store *voices.Store, v voices.Voice, warnings []string) error {
	if !c.Quiet {
		for _, w := range warnings {
			p.warn(w)
		}
		how := "with its transcript"
		if v.Mode == voices.ModeVector {
			how = "the timbre alone, for there is no --text"
		}
		p.note("the voice %q is kept in %s: %.1f s, %s", v.Name, store.Dir(), v.Seconds, how)
	}
	if !c.JSON {
		return nil
	}
	return printJSON(p.stdout, struct {
		voiceLine
		Warnings []string `json:"warnings"`
	}{keptLine(&v, v.Digest), append([]string{}, warnings...)})
}
