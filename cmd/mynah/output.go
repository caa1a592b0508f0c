package main

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"

	"golang.org/x/term"

	"github.com/mynah-tts/mynah/internal/audio"
)

// standardOutput is how standard output is named, on the command line and in
// messages.
const standardOutput = "-"

// formats are the forms of audio, by the name of --format and the file's extension.
var formats = map[string]audio.Format{"wav": audio.WAV, "pcm": audio.PCM}

// output is where the audio shall go.
type output struct {
	path   string // or standardOutput
	format audio.Format
}

// output resolves -o and --format, before anything is computed.
func (c *sayCommand) output(p *program) (output, error) {
	o := output{path: c.Output, format: formats[c.Format]}
	if o.path == "" || o.path == standardOutput {
		if term.IsTerminal(int(p.stdout.Fd())) {
			if o.path == "" {
				return o, usageErrorf("nowhere to put the audio: add -o hello.wav, or pipe it to a player: mynah say … | aplay")
			}
			return o, errTerminal
		}
		o.path = standardOutput
	}
	if o.format == "" {
		o.format = formatOf(o.path)
	}
	where := p.parser.Origin("output")
	if info, err := os.Stat(o.path); err == nil && o.path != standardOutput {
		switch {
		case info.IsDir():
			return o, usageErrorf("%s: %s is a directory", where, o.path)
		case info.Mode()&fs.ModeCharDevice != 0 && isTerminal(o.path):
			return o, errTerminal
		case !info.Mode().IsRegular() && o.format == "":
			o.format = audio.WAV // a device or a pipe; its name tells nothing
		}
	}
	if o.format == "" {
		return o, usageErrorf("%s: %s: the name tells no format; end it in .wav or .pcm, or add --format wav or pcm", where, o.path)
	}
	return o, nil
}

var errTerminal = usageErrorf("the output is a terminal, audio goes to a file or a pipe: -o hello.wav")

// formatOf is the format that a path's extension names, "" for none.
func formatOf(path string) audio.Format {
	if path == standardOutput {
		return audio.WAV
	}
	return formats[strings.TrimPrefix(strings.ToLower(filepath.Ext(path)), ".")]
}

// isTerminal reports whether a device is a terminal, such as /dev/tty.
func isTerminal(path string) bool {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return false
	}
	defer f.Close()
	return term.IsTerminal(int(f.Fd()))
}

// open begins the output.
func (o output) open(p *program, rate int) (*sink, error) {
	var to audio.Sink
	var err error
	if o.path == standardOutput {
		to, err = audio.NewStream(p.stdout, o.format, rate)
	} else {
		to, err = audio.Create(o.path, o.format, rate)
	}
	s := &sink{to: to, name: o.name()}
	return s, s.reword(err)
}

// name is the output in a message.
func (o output) name() string {
	if o.path == standardOutput {
		return "standard output"
	}
	return o.path
}

// sink is an audio.Sink that a signal may abort while another goroutine uses it.
type sink struct {
	name string
	mu   sync.Mutex
	to   audio.Sink
}

func (s *sink) write(samples []float32) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reword(s.to.Write(samples))
}

func (s *sink) close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.reword(s.to.Close())
}

// abort gives the output up, unless it is held by a write that does not return.
func (s *sink) abort() {
	if s.mu.TryLock() {
		defer s.mu.Unlock()
		_ = s.to.Abort() // an error or a signal is being reported already
	}
}

// reword puts an error into a user's terms: the output by its name, what is wrong,
// and no package of ours.
func (s *sink) reword(err error) error {
	var pathErr *fs.PathError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &pathErr):
		return fmt.Errorf("%s: %w", s.name, pathErr.Err)
	}
	return &plainError{err}
}

// plainError is an error of package audio without the package's name.
type plainError struct{ error }

func (e *plainError) Error() string { return strings.TrimPrefix(e.error.Error(), "audio: ") }
func (e *plainError) Unwrap() error { return e.error }
