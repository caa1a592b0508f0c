package config

import (
	"reflect"
	"strings"

	"github.com/alecthomas/kong"
)

// resolver gives kong the values of flags that are not on the command line. It
// keeps where each came from, for messages about values that turn out wrong later.
type resolver struct {
	variables map[string]string // the environment
	file      *file             // nil without one
	origins   map[string]string // by flag
}

// Validate is part of kong.Resolver; files are checked when they are read.
func (r *resolver) Validate(*kong.Application) error { return nil }

// Resolve returns the text of a flag's value, or nil to leave it to its default.
func (r *resolver) Resolve(_ *kong.Context, parent *kong.Path, flag *kong.Flag) (any, error) {
	text, where := r.lookup(parent.Node(), flag)
	if text == "" {
		return nil, nil
	}
	// Try the value here, where the error can say whence it came.
	scan := kong.Scan().PushTyped(text, kong.FlagValueToken)
	scratch := reflect.New(flag.Target.Type()).Elem()
	if err := flag.Mapper.Decode(&kong.DecodeContext{Value: flag.Value, Scan: scan}, scratch); err != nil {
		return nil, &Error{where, err.Error()}
	}
	r.origins[flag.Name] = where
	return text, nil
}

// lookup finds a flag's text and its place: the variable, or the file's line. Empty
// values count as none.
func (r *resolver) lookup(command *kong.Node, flag *kong.Flag) (text, where string) {
	if flag.Name == helpFlag {
		return "", ""
	}
	variable := Variable(settingName(flag.Value))
	if text := r.variables[variable]; text != "" {
		return text, variable
	}
	if r.file == nil || flag.Name == configFlag {
		return "", ""
	}
	key := Key(settingName(flag.Value))
	for table := path(command); ; table = above(table) {
		full := join(table, key)
		if s, ok := r.file.settings[full]; ok {
			return s.text, r.file.at(s.line) + ": " + full
		}
		if table == "" {
			return "", ""
		}
	}
}

// path is the table of a command: "say", or "voices.add" for a command below one.
func path(command *kong.Node) string {
	if command == nil {
		return ""
	}
	return strings.ReplaceAll(command.Path(), " ", ".")
}

// above is the table around a table.
func above(table string) string { return table[:max(0, strings.LastIndex(table, "."))] }

// settings lists the keys that each table of a config file may have. The table of a command
// that has commands below it takes the keys of all of them, and the top, "", of all there are.
func settings(app *kong.Application) map[string][]string {
	known := map[string][]string{"": nil}
	var walk func(*kong.Node)
	walk = func(n *kong.Node) {
		table := path(n)
		if _, ok := known[table]; !ok {
			known[table] = nil
		}
		for _, flag := range n.Flags {
			if flag.Name == helpFlag || flag.Name == configFlag {
				continue
			}
			key := Key(settingName(flag.Value))
			for t := table; ; t = above(t) {
				known[t] = append(known[t], key)
				if t == "" {
					break
				}
			}
		}
		for _, child := range n.Children {
			walk(child)
		}
	}
	walk(app.Node)
	return known
}
