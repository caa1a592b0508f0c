package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"
	"sync"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/term"

	"github.com/mynah-tts/mynah/internal/audio"
)

// standardOutput is how standard output is named, on the command line and in
// messages.
const standardOutput = "-"

// output is where the audio shall go, and how.
type output struct {
	path     string // or standardOutput
	encoding audio.Encoding
}

// output resolves -o and the flags of the encoding, before anything is computed.
func (c *sayCommand) output(p *program) (output, error) {
	o := output{path: c.Output, encoding: audio.Encoding{Format: audio.Format(c.Format), SampleRate: c.SampleRate}}
	if o.path == "" || o.path == standardOutput {
		if term.IsTerminal(int(p.stdout.Fd())) {
			if o.path == "" {
				return o, usageErrorf("nowhere to put the audio: add -o hello.wav, or pipe it to a player: mynah say … | aplay")
			}
			return o, errTerminal
		}
		o.path = standardOutput
	}
	format := &o.encoding.Format
	if *format == "" {
		*format = formatOf(o.path)
	}
	where := c.outputOrigin(p)
	if err := overInput(where, o.path, c.File, c.Clone, c.CloneTextFile, c.Reference, c.Model, c.input); err != nil {
		return o, err
	}
	if info, err := os.Stat(o.path); err == nil && o.path != standardOutput {
		switch {
		case info.IsDir():
			return o, usageErrorf("%s: %s is a directory", where, o.path)
		case info.Mode()&fs.ModeCharDevice != 0 && isTerminal(o.path):
			return o, errTerminal
		case !info.Mode().IsRegular() && *format == "":
			*format = audio.WAV // a device or a pipe; its name tells nothing
		}
	}
	if *format == "" {
		return o, usageErrorf("%s: %s: the name tells no format; end it in %s, or add --format", where, o.path, extensions())
	}
	if err := c.checkEncoding(p, &o.encoding); err != nil {
		return o, err
	}
	if o.path != standardOutput && holdsSomething(o.path) && !isAudioFile(o.path, *format) {
		return o, usageErrorf("%s: %s is there and is no audio: it is not written over", where, o.path)
	}
	if named := formatOf(o.path); !c.Quiet && named != "" && !strings.EqualFold(string(named), string(*format)) && o.path != standardOutput {
		p.warn(fmt.Sprintf("%s is named like %s and will hold %s", o.path, named, *format))
	}
	return o, nil
}

// overInput refuses an output that is one of the files that are read.
func overInput(where, output string, inputs ...string) error {
	info, err := os.Stat(output)
	if err != nil || output == standardOutput || !info.Mode().IsRegular() {
		return nil
	}
	for _, input := range inputs {
		if input == "" || input == standardOutput {
			continue
		}
		if other, err := os.Stat(input); err == nil && os.SameFile(info, other) {
			return usageErrorf("%s: %s is a file that is read: it would be written over", where, output)
		}
	}
	return nil
}

// holdsSomething reports whether a path is that of a regular file that is not empty. Such a
// file is written over only by what is of its kind.
func holdsSomething(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Size() > 0
}

// isAudioFile reports whether a file begins like one that holds audio. Bare samples begin
// like anything: in their place whatever is no text is taken for such.
func isAudioFile(path string, format audio.Format) bool {
	f, err := os.Open(path)
	if err != nil {
		return true // writing will tell
	}
	defer f.Close()
	head := make([]byte, 512)
	n, _ := io.ReadFull(f, head)
	head = head[:n]
	for _, mark := range []string{"RIFF", "RF64", "fLaC", "OggS", "ID3"} {
		if bytes.HasPrefix(head, []byte(mark)) {
			return true
		}
	}
	if n > 1 && head[0] == 0xff && head[1]&0xe0 == 0xe0 && head[1]&0x06 != 0x06 {
		return true // a frame of MP3 or AAC, and no UTF-16
	}
	return format == audio.PCM && !isText(head)
}

// isText reports whether bytes are UTF-8 that can be printed; the last character may be cut.
func isText(head []byte) bool {
	for len(head) > 0 {
		r, size := utf8.DecodeRune(head)
		switch {
		case r == utf8.RuneError && size == 1:
			return !utf8.FullRune(head)
		case unicode.IsControl(r) && !unicode.IsSpace(r):
			return false
		}
		head = head[size:]
	}
	return true
}

// outputOrigin names where the output was given: a flag of say, the argument of codec decode.
func (c *sayCommand) outputOrigin(p *program) string {
	if c.input != "" {
		return "<out>"
	}
	return p.parser.Origin("output")
}

// checkEncoding refuses what cannot be made here, as far as that does not depend on
// the checkpoint.
func (c *sayCommand) checkEncoding(p *program, e *audio.Encoding) error {
	where := c.outputOrigin(p)
	if c.Format != "" {
		where = p.parser.Origin("format")
	}
	if _, err := audio.ParseFormat(string(e.Format)); err != nil {
		return usageErrorf("%s: %v", where, &plainError{err})
	}
	if c.Speed != nil {
		e.Speed = *c.Speed
		if audio.CheckSpeed(e.Speed) != nil {
			return usageErrorf("%s: %v, allowed is 0.25 to 4", p.parser.Origin("speed"), e.Speed)
		}
	}
	if c.SampleRate != 0 {
		if err := e.Check(c.SampleRate); err != nil {
			return usageErrorf("%s: %v", p.parser.Origin("sample-rate"), &plainError{err})
		}
	}
	return nil
}

var errTerminal = usageErrorf("the output is a terminal, audio goes to a file or a pipe: -o hello.wav")

// formatOf is the format that a path's extension names, "" for none.
func formatOf(path string) audio.Format {
	if path == standardOutput {
		return audio.WAV
	}
	format, _ := audio.FormatOf(path)
	return format
}

// extensions lists the extensions of all formats that can be made here.
func extensions() string {
	var list []string
	for _, format := range audio.Formats() {
		list = append(list, audio.Extensions(format)...)
	}
	last := len(list) - 1
	return strings.Join(list[:last], ", ") + " or " + list[last]
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

// open begins the output, for samples of rate Hz.
func (o output) open(p *program, rate int) (*sink, error) {
	var to audio.Sink
	var err error
	if o.path == standardOutput {
		to, err = audio.NewEncoder(p.stdout, rate, o.encoding)
	} else {
		to, err = audio.CreateEncoder(o.path, rate, o.encoding)
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

// abortPatience is how long abort waits for an output that does not take what another
// process has encoded.
const abortPatience = time.Second

// abort gives the output up, unless it is held by a write that does not return.
func (s *sink) abort() {
	if !s.mu.TryLock() {
		return
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		defer s.mu.Unlock()
		_ = s.to.Abort() // an error or a signal is being reported already
	}()
	select {
	case <-done:
	case <-time.After(abortPatience):
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
