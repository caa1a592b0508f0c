package config

import (
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"
)

// Common is embedded in every command that has settings.
type Common struct {
	Config string `help:"Config file (TOML)." placeholder:"FILE" type:"path"`
}

// The flags that are no settings: help is an answer, config says where they are.
const (
	helpFlag   = "help"
	configFlag = "config"
)

// Parser reads command lines.
type Parser struct {
	*kong.Kong
	resolver *resolver
	known    []string // further variables with our prefix
}

// New returns a parser for the commands in grammar, a pointer to a struct with
// kong's tags. known are the variables with our prefix that are no flags.
func New(grammar any, known []string, options ...kong.Option) (*Parser, error) {
	r := &resolver{origins: map[string]string{}}
	all := append(mappers(), kong.Resolvers(r), kong.ValueFormatter(describe))
	k, err := kong.New(grammar, append(all, options...)...)
	if err != nil {
		return nil, err
	}
	return &Parser{Kong: k, resolver: r, known: known}, nil
}

// Parse reads a command line into the grammar, taking what it leaves open from the
// environment ("NAME=value" strings) and the config file.
func (p *Parser) Parse(args, environ []string) (*kong.Context, error) {
	p.resolver.variables = variables(environ)
	trace, err := kong.Trace(p.Kong, args)
	if err == nil && trace.Error == nil && !p.asksHelp(trace) {
		if err := p.readFile(trace); err != nil {
			return nil, err
		}
	}
	return p.Kong.Parse(args)
}

// Origin says where a flag's value came from: the variable, the file with its line,
// or else the flag itself.
func (p *Parser) Origin(flag string) string {
	if where, ok := p.resolver.origins[flag]; ok {
		return where
	}
	return "--" + flag
}

// asksHelp reports whether --help is there: help needs no config file.
func (p *Parser) asksHelp(trace *kong.Context) bool {
	return slices.ContainsFunc(trace.Path, func(e *kong.Path) bool { return e.Flag != nil && e.Flag.Name == helpFlag })
}

// readFile reads the config file of a command that has --config. One that was named
// must exist.
func (p *Parser) readFile(trace *kong.Context) error {
	i := slices.IndexFunc(trace.Flags(), func(f *kong.Flag) bool { return f.Name == configFlag })
	if i < 0 {
		return nil
	}
	name, _ := trace.FlagValue(trace.Flags()[i]).(string)
	if name == "" {
		var err error
		if name, err = expandHome(p.resolver.variables[Variable(configFlag)]); err != nil {
			return &Error{Variable(configFlag), err.Error()}
		}
	}
	if name == "" {
		name = DefaultPath()
		// The home of a service's account may be no folder, such as /dev/null.
		if _, err := os.Stat(name); name == "" || errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) {
			return nil
		}
	}
	var err error
	p.resolver.file, err = readFile(name, settings(p.Model))
	return err
}

// variables picks our variables out of an environment.
func variables(environ []string) map[string]string {
	ours := map[string]string{}
	for _, v := range environ {
		if name, value, ok := strings.Cut(v, "="); ok && strings.HasPrefix(name, Prefix) {
			ours[name] = value
		}
	}
	return ours
}

// UnknownVariables returns one sentence about the MYNAH_… variables that mean
// nothing, or "".
func (p *Parser) UnknownVariables() string {
	known := append([]string{Variable(configFlag)}, p.known...)
	for _, key := range settings(p.Model)[""] {
		known = append(known, Variable(key))
	}
	var unknown []string
	for name := range p.resolver.variables {
		if !slices.Contains(known, name) {
			unknown = append(unknown, name)
		}
	}
	slices.Sort(unknown)
	switch len(unknown) {
	case 0:
		return ""
	case 1:
		return "unknown variable " + unknown[0] + " is ignored" + didYouMean(unknown[0], known)
	}
	return "unknown variables " + strings.Join(unknown, ", ") + " are ignored"
}
