package batch

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"strings"
	"unicode/utf8"
)

// Form is how an input is written.
type Form string

// The forms.
const (
	Text     Form = "txt"   // an item a line
	CSV      Form = "csv"   // with a header; commas, or semicolons if the header has no comma
	TSV      Form = "tsv"   // with a header; tabs, no quoting
	JSONL    Form = "jsonl" // an object a line, fields as in the speech API
	Book     Form = "book"  // chapters by lines such as "Chapter 3"
	Markdown Form = "md"    // chapters by headings
)

// Limits of an input.
const (
	// maxInputBytes bounds an input file, which is held in memory: the texts of some
	// 300 books.
	maxInputBytes = 256 << 20

	// maxItems bounds the items of one job.
	maxItems = 1_000_000
)

// FormOf is the form that the extension of a file's name stands for. book says that it is
// given as a book.
func FormOf(path string, book bool) (Form, bool) {
	extension := strings.ToLower(filepath.Ext(path))
	if book {
		switch extension {
		case ".txt":
			return Book, true
		case ".md", ".markdown":
			return Markdown, true
		}
		return "", false
	}
	switch extension {
	case ".txt":
		return Text, true
	case ".csv":
		return CSV, true
	case ".tsv", ".tab":
		return TSV, true
	case ".jsonl", ".ndjson":
		return JSONL, true
	}
	return "", false
}

// Read reads an input. What is wrong with one item is its Problem; an error means that
// the input as a whole cannot be read, and begins with the line where there is one.
func Read(r io.Reader, form Form) (*Input, error) {
	data, err := readAll(r)
	if err != nil {
		return nil, err
	}
	in := &Input{}
	switch form {
	case Text:
		err = in.readLines(data)
	case CSV, TSV:
		err = in.readTable(data, form)
	case JSONL:
		err = in.readObjects(data)
	case Book, Markdown:
		err = in.readBook(data, form)
	default:
		err = fmt.Errorf("form %q, allowed are txt, csv, tsv, jsonl, book and md", form)
	}
	if err != nil {
		return nil, err
	}
	switch n := len(in.Items); {
	case n == 0:
		return nil, errors.New("there is no item in it")
	case n > maxItems:
		return nil, fmt.Errorf("%d items, allowed are %d", n, maxItems)
	}
	in.check()
	return in, nil
}

// readAll reads a text file as editors and spreadsheets write it: without the byte order
// mark, with every line break as \n.
func readAll(r io.Reader) ([]byte, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxInputBytes+1))
	switch {
	case err != nil:
		return nil, err
	case len(data) > maxInputBytes:
		return nil, fmt.Errorf("over %d MiB, that is too much for one job", maxInputBytes>>20)
	case bytes.HasPrefix(data, []byte("\xFF\xFE")) || bytes.HasPrefix(data, []byte("\xFE\xFF")):
		return nil, errors.New("is UTF-16 (or UTF-32), wanted UTF-8")
	}
	if zero := bytes.IndexByte(data, 0); zero >= 0 {
		line := 1 + bytes.Count(data[:zero], []byte("\n"))
		return nil, fmt.Errorf("line %d has a zero byte: it is UTF-16 without a mark, or no text; wanted UTF-8", line)
	}
	data = bytes.TrimPrefix(data, []byte("\uFEFF"))
	data = bytes.ReplaceAll(data, []byte("\r\n"), []byte("\n"))
	if !bytes.Contains(data, []byte("\n")) {
		data = bytes.ReplaceAll(data, []byte("\r"), []byte("\n"))
	}
	return data, nil
}

// lines calls f with every line, counted from 1, without the white space around it.
func lines(data []byte, f func(n int, line string)) {
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		f(n, strings.TrimSpace(line))
	}
}

// readLines reads an item a line.
func (in *Input) readLines(data []byte) error {
	lines(data, func(n int, line string) {
		if line == "" {
			in.Blank++
			return
		}
		in.Items = append(in.Items, Item{Line: n, Text: line})
	})
	return nil
}

// invalidUTF8 is the problem of a line that is not UTF-8, "" if it is.
func invalidUTF8(line string) string {
	if utf8.ValidString(line) {
		return ""
	}
	at := 0
	for at < len(line) {
		r, size := utf8.DecodeRuneInString(line[at:])
		if r == utf8.RuneError && size == 1 {
			break
		}
		at += size
	}
	return fmt.Sprintf("byte %d of the line is not UTF-8", at+1)
}
