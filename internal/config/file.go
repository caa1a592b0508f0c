package config

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/BurntSushi/toml"
)

// maxFileBytes bounds a config file.
const maxFileBytes = 1 << 20

// DefaultPath returns where the config file is looked for when nothing names one:
// mynah/config.toml in the user's config directory ($XDG_CONFIG_HOME, or ~/.config,
// on Linux). It is "" if there is no such directory.
func DefaultPath() string {
	dir, err := os.UserConfigDir()
	if err != nil {
		return ""
	}
	return filepath.Join(dir, "mynah", "config.toml")
}

// file is a config file that was read.
type file struct {
	path     string
	settings map[string]setting // by key, for example "top_p" or "say.top_p"
}

// setting is one value of a config file, in the words of the command line.
type setting struct {
	text string
	line int
}

// readFile reads a config file and checks its keys; known holds the allowed keys of
// every table, "" being the top of the file.
func readFile(path string, known map[string][]string) (*file, error) {
	data, err := readBounded(path)
	if err != nil {
		return nil, &Error{path, err.Error()}
	}
	f := &file{path: path, settings: map[string]setting{}}
	var top map[string]toml.Primitive
	md, err := toml.Decode(strings.TrimPrefix(data, "\uFEFF"), &top)
	if err != nil {
		return nil, f.syntax(err)
	}
	return f, f.take(&md, "", top, known)
}

func readBounded(path string) (string, error) {
	r, err := os.Open(path)
	if err != nil {
		return "", cause(err)
	}
	defer r.Close()
	data, err := io.ReadAll(io.LimitReader(r, maxFileBytes+1))
	if err != nil {
		return "", cause(err)
	}
	if len(data) > maxFileBytes {
		return "", fmt.Errorf("over %d bytes, this is no config file", maxFileBytes)
	}
	return string(data), nil
}

// cause strips the operation and path of a file error that the caller words anew.
func cause(err error) error {
	var pathErr *fs.PathError
	if errors.As(err, &pathErr) {
		return pathErr.Err
	}
	return err
}

// syntax puts the place of a TOML error in front.
func (f *file) syntax(err error) error {
	var parse toml.ParseError
	if errors.As(err, &parse) {
		return &Error{f.at(parse.Position.Line), parse.Message}
	}
	return &Error{f.path, err.Error()}
}

func (f *file) at(line int) string { return f.path + ":" + strconv.Itoa(line) }

// take files the values of one table, in the order of the file so that the first
// mistake is the one reported.
func (f *file) take(md *toml.MetaData, table string, entries map[string]toml.Primitive, known map[string][]string) error {
	type entry struct {
		key   string
		value any
		line  int
	}
	var sorted []entry
	for key, p := range entries {
		value, line := open(md, p, maxTables)
		sorted = append(sorted, entry{key, value, line})
	}
	slices.SortFunc(sorted, func(a, b entry) int { return a.line - b.line })
	for _, e := range sorted {
		full := join(table, e.key)
		_, isTable := e.value.(map[string]any)
		if _, ok := known[full]; ok && isTable {
			var inner map[string]toml.Primitive
			if err := md.PrimitiveDecode(entries[e.key], &inner); err != nil {
				return f.syntax(err)
			}
			if err := f.take(md, full, inner, known); err != nil {
				return err
			}
			continue
		}
		if !slices.Contains(known[table], e.key) {
			return &Error{f.at(e.line), unknownKey(table, e.key, known, isTable)}
		}
		text, err := plain(e.value)
		if err != nil {
			return &Error{f.at(e.line) + ": " + full, err.Error()}
		}
		f.settings[full] = setting{text, e.line}
	}
	return nil
}

// unknownKey words the refusal of a key, or of a table that is no command.
func unknownKey(table, key string, known map[string][]string, isTable bool) string {
	if isTable {
		var tables []string
		for name := range known {
			if name != "" {
				tables = append(tables, name)
			}
		}
		full := join(table, key)
		return fmt.Sprintf("unknown table %q%s", full, didYouMean(full, tables))
	}
	in := ""
	if table != "" {
		in = " in table " + table
	}
	return fmt.Sprintf("unknown key %q%s%s", key, in, didYouMean(key, known[table]))
}

func join(table, key string) string {
	if table == "" {
		return key
	}
	return table + "." + key
}

// plain returns a value as one would write it on the command line.
func plain(value any) (string, error) {
	switch v := value.(type) {
	case string:
		return v, nil
	case bool:
		return strconv.FormatBool(v), nil
	case int64:
		return strconv.FormatInt(v, 10), nil
	case float64:
		return strconv.FormatFloat(v, 'g', -1, 64), nil
	}
	return "", errors.New("wanted one text, number, true or false")
}

// maxTables is how many tables deep a line is looked for: more than any command is.
const maxTables = 8

// open returns the value of a key and its line. A table that only its tables tell of, such as
// codec in [codec.encode], is where the first of these is.
func open(md *toml.MetaData, p toml.Primitive, depth int) (value any, line int) {
	var o opener
	var parse toml.ParseError
	if errors.As(md.PrimitiveDecode(p, &o), &parse) {
		line = parse.Position.Line
	}
	var inner map[string]toml.Primitive
	if _, isTable := o.value.(map[string]any); !isTable || line > 0 || depth == 0 || md.PrimitiveDecode(p, &inner) != nil {
		return o.value, line
	}
	for _, p := range inner {
		if _, at := open(md, p, depth-1); at > 0 && (line == 0 || at < line) {
			line = at
		}
	}
	return o.value, line
}

// opener is shown a value and refuses it: the refusal is where the TOML library
// tells a value's line.
type opener struct{ value any }

func (o *opener) UnmarshalTOML(value any) error {
	o.value = value
	return errors.New("opened")
}
