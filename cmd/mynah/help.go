package main

import (
	"github.com/alecthomas/kong"

	"github.com/mynah-tts/mynah/internal/config"
)

// usage is what one sees who types the name alone.
const usage = `Usage: mynah COMMAND

  mynah say "Hello there." -o hello.wav      speak into a file, in the built-in voice
  mynah say "Hello there." -o - | aplay      speak as it is computed
  mynah serve                                speak over HTTP, by OpenAI's API
  mynah batch lines.txt --out folder         speak a file of texts, one a line
  mynah say --file story.txt -o story.wav --model DIR --voice NAME
  mynah pull Qwen/Qwen3-TTS-12Hz-0.6B-CustomVoice
                                             fetch a model, which --model then opens by its name
  mynah doctor                               what this machine can do
  mynah help                                 all commands
`

const description = `Speak with Qwen3-TTS checkpoints on ordinary CPUs.

  mynah say "Hello there." -o hello.wav

Exit codes: 0 done, 1 failed, 2 the command or a value in it is wrong, 3 partly done.`

// helpCommand is `mynah help [COMMAND]`, the same as `mynah [COMMAND] --help`.
type helpCommand struct {
	Command []string `arg:"" optional:"" help:"The command to explain."`
}

// Run prints the help.
func (c *helpCommand) Run(p *program) error {
	// Parsing does it, and ends the program; it comes back only from a wrong command.
	_, err := p.parser.Parse(append(c.Command, "--help"), nil)
	return explain(err, c.Command)
}

var (
	helpOptions = kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoAppDescFormat: true, WrapUpperBound: 100})
	helpGroups  = kong.ExplicitGroups([]kong.Group{
		{Key: "sampling", Title: "Sampling:"}, {Key: "limits", Title: "Limits:"}, {Key: "access", Title: "Access:"}, {Key: "log", Title: "Log:"}, {Key: "nats", Title: "Several machines:"},
	})
)

// Help is what the help of say adds.
func (c *sayCommand) Help() string {
	return `The text comes from the argument, from --file, or from standard input ("-", or no text at all and standard input is no terminal).

Audio goes to the file of -o, which appears when it is complete, and replaces audio of that name but nothing else; or, with -o -, to standard output as it is computed. Without -o it goes to standard output if that is a pipe or a file. 24 kHz, mono, 16 bits; a WAV on standard output has 0xFFFFFFFF for its sizes, for its length is not known when it begins.

Exit codes: 0 done; 1 failed, interrupted, or the reader of standard output went away; 2 the command or a value in it is wrong; 3 the audio is there, but was cut before the text had ended.

` + config.Precedence
}
