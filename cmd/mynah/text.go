package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/term"
)

// maxTextBytes bounds what is read before the engine counts characters: several
// times what it takes.
const maxTextBytes = 1 << 20

// text returns what to say: the arguments, or a file, or standard input.
func (c *sayCommand) text(p *program) (string, error) {
	given := strings.Join(c.Text, " ")
	if c.Clone == standardOutput && (given == "-" || given == "" && (c.File == "" || c.File == "-")) {
		return "", usageErrorf("%s: standard input is for the recording: give the text, or --file FILE", p.parser.Origin("clone"))
	}
	switch {
	case len(c.Text) > 0 && c.File != "" && p.parser.Origin("file") == "--file":
		return "", usageErrorf("a text and --file: give one of them")
	case given == "-":
		return readText("standard input", p.stdin)
	case len(c.Text) > 0:
		return given, nil
	case c.File == "-":
		return readText("standard input", p.stdin)
	case c.File != "":
		f, err := os.Open(c.File)
		if err != nil {
			return "", fmt.Errorf("text file %s: %w", c.File, cause(err))
		}
		defer f.Close()
		return readText("text file "+c.File, f)
	case term.IsTerminal(int(p.stdin.Fd())):
		return "", usageErrorf("nothing to say: give a text, --file FILE, or - to type it")
	}
	return readText("standard input", p.stdin)
}

// readText reads a text as editors and shells write it: a byte order mark, CRLF and
// the line break at its end are no part of it.
func readText(name string, r io.Reader) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxTextBytes+1))
	switch {
	case err != nil:
		return "", fmt.Errorf("%s: %w", name, cause(err))
	case len(data) > maxTextBytes:
		return "", usageErrorf("%s: over %d bytes, that is too much at once", name, maxTextBytes)
	case bytes.HasPrefix(data, []byte("\xFF\xFE")) || bytes.HasPrefix(data, []byte("\xFE\xFF")):
		return "", usageErrorf("%s: is UTF-16, wanted UTF-8", name)
	}
	text := strings.TrimPrefix(string(data), "\uFEFF")
	text = strings.TrimRight(strings.ReplaceAll(text, "\r\n", "\n"), "\n")
	if text == "" {
		return "", usageErrorf("%s: is empty, nothing to say", name)
	}
	return text, nil
}

// cause strips the operation and path of a file error that the caller words anew.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}
