package main

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"syscall"
	"unicode"

	"github.com/alecthomas/kong"

	"github.com/mynah-tts/mynah/internal/config"
	"github.com/mynah-tts/mynah/internal/osfile"
	"github.com/mynah-tts/mynah/synth"
)

// Exit codes.
const (
	exitDone   = 0
	exitFailed = 1
	exitUsage  = 2
	exitPartly = 3
)

// plainCodes explains the exit codes of most commands.
const plainCodes = "Exit codes: 0 done; 1 failed or interrupted; 2 the command or a value in it is wrong.\n\n"

// report prints an error, if there is one, and returns its exit code.
func (p *program) report(err error) int {
	if err == nil {
		return exitDone
	}
	var exit *exitError
	if errors.As(err, &exit) {
		if exit.message != "" {
			p.note("%s", exit.message)
		}
		return exit.code
	}
	var request *synth.RequestError
	if errors.As(err, &request) {
		p.note("%s: %s", p.nameOf(request.Param), request.Message)
		return exitUsage
	}
	if osfile.Is(err, syscall.EPIPE) {
		return exitFailed
	}
	// The more telling of what kong wraps around an error of a variable or a file.
	var setting *config.Error
	if errors.As(err, &setting) {
		p.note("%s", setting)
		return exitUsage
	}
	p.note("%s", strings.TrimPrefix(err.Error(), "synth: "))
	var parse *kong.ParseError
	if errors.As(err, &parse) {
		return exitUsage
	}
	return exitFailed
}

// exitError is an error with an exit code of its own. Without a message it is quiet.
type exitError struct {
	code    int
	message string
}

func (e *exitError) Error() string { return e.message }

func usageErrorf(format string, args ...any) error {
	return &exitError{exitUsage, fmt.Sprintf(format, args...)}
}

// note writes one line to standard error.
func (p *program) note(format string, args ...any) {
	fmt.Fprintf(p.stderr, "mynah: %s\n", oneLine(fmt.Sprintf(format, args...)))
}

// warn writes a warning to standard error.
func (p *program) warn(message string) { p.note("warning: %s", message) }

// oneLine escapes what could break the line or act on a terminal.
func oneLine(s string) string {
	var b strings.Builder
	for _, r := range strings.ToValidUTF8(s, "\uFFFD") {
		if unicode.IsPrint(r) {
			b.WriteRune(r)
			continue
		}
		b.WriteString(strings.Trim(strconv.QuoteRune(r), "'"))
	}
	return b.String()
}

// nameOf tells where a request's parameter was set, by the engine's name of it.
func (p *program) nameOf(param string) string {
	switch param {
	case "input":
		return "text"
	case "instructions":
		param = "instruct"
	}
	return p.parser.Origin(strings.ReplaceAll(param, "_", "-"))
}

// explain adds a way out to mistakes on the command line that are hard to see.
func explain(err error, args []string) error {
	var parse *kong.ParseError
	if !errors.As(err, &parse) {
		return err
	}
	message := err.Error()
	switch {
	case message == "unknown flag --version":
		return usageErrorf("%s (mynah version tells it)", message)
	case strings.HasPrefix(message, "unknown flag"):
		for _, arg := range args {
			first, _, isText := strings.Cut(arg, " ")
			if isText && strings.HasPrefix(first, "-") && !strings.Contains(first, "=") {
				return usageErrorf("text that begins with a hyphen goes behind --: mynah say -o hello.wav -- \"- and so on\"")
			}
		}
	case strings.HasPrefix(message, "unexpected argument ") && len(args) > 0 && args[0] == "say":
		// The message would show the text.
		return usageErrorf("the text stands in two places: put all of it before the flags, or behind them")
	case strings.HasPrefix(message, "unexpected argument ") && parse.Context != nil && parse.Context.Selected() == nil:
		return usageErrorf("unknown command %s (mynah help lists them)", strings.TrimPrefix(message, "unexpected argument "))
	}
	return err
}
