package tokenizer

import (
	"fmt"
	"strings"
)

// FileError says what is wrong in a tokenizer file, and where.
type FileError struct {
	File    string // name within the model directory
	Line    int    // from 1; 0 if the file as a whole is wrong
	Column  int    // in bytes, from 1; 0 if the line as a whole is wrong
	Problem string
}

func (e *FileError) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tokenizer: %s: ", e.File)
	if e.Line > 0 {
		fmt.Fprintf(&b, "line %d", e.Line)
		if e.Column > 0 {
			fmt.Fprintf(&b, ", column %d", e.Column)
		}
		b.WriteString(": ")
	}
	b.WriteString(e.Problem)
	return b.String()
}

// errorAt is a FileError at a byte of a file.
func errorAt(file, data string, pos int, format string, args ...any) *FileError {
	before := data[:min(pos, len(data))]
	return &FileError{
		File:    file,
		Line:    1 + strings.Count(before, "\n"),
		Column:  len(before) - strings.LastIndexByte(before, '\n'),
		Problem: fmt.Sprintf(format, args...),
	}
}

// clip shortens a text from a file for an error message.
func clip(s string) string {
	const most = 60
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + "..."
}
