package safetensors

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// maxShown bounds how many bytes of a name or text taken from a file an error message repeats.
const maxShown = 160

// TensorError says that one tensor of a file is missing or not what was wanted. Its text is one line:
// "safetensors: FILE: tensor NAME: PROBLEM FOUND, wanted WANTED".
type TensorError struct {
	File    string // name in the file system given to Open; the index when a tensor is in none of the shards
	Tensor  string
	Problem string // what was looked at: "shape", "dtype", "missing", ...
	Found   string // empty when there is nothing to show
	Wanted  string
}

func (e *TensorError) Error() string {
	return line(e.File, " tensor "+printable(e.Tensor)+":", e.Problem, e.Found, e.Wanted)
}

// FileError says that a file as a whole cannot be used. Its text is one line:
// "safetensors: FILE: PROBLEM FOUND, wanted WANTED".
type FileError struct {
	File    string
	Problem string
	Found   string
	Wanted  string
	Err     error // the cause from the file system, if there is one
}

func (e *FileError) Error() string {
	s := line(e.File, "", e.Problem, e.Found, e.Wanted)
	if e.Err != nil {
		s += ": " + oneLine(e.Err.Error())
	}
	return s
}

// Unwrap returns the cause from the file system, so that errors.Is(err, fs.ErrNotExist) works.
func (e *FileError) Unwrap() error { return e.Err }

func line(file, tensor, problem, found, wanted string) string {
	var b strings.Builder
	b.WriteString("safetensors: " + printable(file) + ":" + tensor + " " + problem)
	if found != "" {
		b.WriteString(" " + found)
	}
	if wanted != "" {
		b.WriteString(", wanted " + wanted)
	}
	return b.String()
}

// printable returns a name as it stands if it is plain, else quoted, and shortened when it is very long: names come
// from files, and an error must stay one readable line.
func printable(s string) string {
	long := len(s) > maxShown
	if long {
		s = strings.ToValidUTF8(s[:maxShown], "")
	}
	plain := s != "" && utf8.ValidString(s) &&
		strings.IndexFunc(s, func(r rune) bool { return !unicode.IsGraphic(r) || unicode.IsSpace(r) || r == '"' }) < 0
	if !plain {
		s = strconv.Quote(s)
	}
	if long {
		s += "..."
	}
	return s
}

func oneLine(s string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, s)
}

func fileErr(file, problem, found, wanted string) error {
	return &FileError{File: file, Problem: problem, Found: found, Wanted: wanted}
}

func bytesOf[T int | int64 | uint64](n T) string { return fmt.Sprintf("%d bytes", n) }
