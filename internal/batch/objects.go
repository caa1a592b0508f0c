package batch

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
)

// readObjects reads JSON Lines.
func (in *Input) readObjects(data []byte) error {
	var ignored unused
	lines(data, func(n int, line string) {
		if line == "" {
			in.Blank++
			return
		}
		it := Item{Line: n}
		if it.Problem = invalidUTF8(line); it.Problem == "" {
			if err := readObject(&it, line, &ignored); err != nil {
				it.Problem = err.Error()
			}
		}
		in.Items = append(in.Items, it)
	})
	in.Warnings = ignored.warnings("field")
	return nil
}

// readObject reads the fields of one object. It goes on behind a wrong field, so that the
// item is known by its id all the same, and returns what was wrong first.
func readObject(it *Item, line string, ignored *unused) error {
	d := json.NewDecoder(bytes.NewReader([]byte(line)))
	if t, err := d.Token(); err != nil || t != json.Delim('{') {
		if err == nil || errors.Is(err, io.EOF) {
			return fmt.Errorf("%.20q… is no JSON object", line)
		}
		return syntaxError(d, err)
	}
	var first error
	fail := func(format string, args ...any) {
		if first == nil {
			first = fmt.Errorf(format, args...)
		}
	}
	seen := map[string]bool{}
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return syntaxError(d, err)
		}
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return syntaxError(d, err)
		}
		name := key.(string) // of an object the decoder yields nothing else
		f, known := fieldNamed(name)
		flag, isWide := jobWide[strings.ToLower(name)]
		switch {
		case isWide && string(value) != "null":
			fail("%s: it is not taken here, there is %s", name, flag)
		case isWide:
		case !known:
			ignored.add(name, it.Line)
		case seen[f.name]:
			fail("%s: it is there twice", f.name)
		default:
			seen[f.name] = true
			if err := f.setJSON(it, value); err != nil {
				fail("%s: %w", f.name, err)
			}
		}
	}
	if _, err := d.Token(); err != nil {
		return syntaxError(d, err)
	}
	if rest := strings.TrimSpace(line[d.InputOffset():]); rest != "" {
		return fmt.Errorf("%.20q behind the object", rest)
	}
	if !seen["input"] {
		fail("input: it is missing")
	}
	return first
}

// syntaxError words what is wrong with JSON, by its place in the line.
func syntaxError(d *json.Decoder, err error) error {
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &syntax):
		return fmt.Errorf("no valid JSON at byte %d: %w", syntax.Offset, err)
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return fmt.Errorf("no valid JSON: it ends at byte %d", d.InputOffset())
	}
	return fmt.Errorf("no valid JSON: %w", err)
}
