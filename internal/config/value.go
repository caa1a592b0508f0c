package config

import (
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"

	"github.com/alecthomas/kong"
)

// mappers read the values of flags. They replace kong's own, whose messages name Go
// types, whose integers may be octal, and which refuse "--seed -1".
func mappers() []kong.Option {
	number := kong.MapperFunc(decodeInt)
	return []kong.Option{
		kong.KindMapper(reflect.Bool, boolMapper{}),
		kong.KindMapper(reflect.Int, number),
		kong.KindMapper(reflect.Int64, number),
		kong.KindMapper(reflect.Float64, kong.MapperFunc(decodeFloat)),
		kong.KindMapper(reflect.String, kong.MapperFunc(decodeString)),
		kong.NamedMapper("path", kong.MapperFunc(decodePath)),
	}
}

// errNoValue refuses a flag with nothing behind it. An empty value is the same: it
// is what an unset shell variable leaves.
var errNoValue = errors.New("a value is missing")

// popValue takes the next word as a flag's value. A word that begins with a hyphen
// is the next flag, unless it is a number.
func popValue(ctx *kong.DecodeContext) (string, error) {
	token := ctx.Scan.Peek()
	if token.IsEOL() {
		return "", errNoValue
	}
	s := fmt.Sprint(token.Value)
	if token.Type == kong.UntypedToken && strings.HasPrefix(s, "-") && s != "-" {
		if _, err := strconv.ParseFloat(s, 64); err != nil {
			return "", fmt.Errorf("a value is missing, %q follows", s)
		}
	}
	ctx.Scan.Pop()
	if token.Type == kong.ShortFlagTailToken {
		s = strings.TrimPrefix(s, "=") // -o=FILE
	}
	if s == "" && ctx.Value.Flag != nil {
		return "", errNoValue
	}
	return s, nil
}

func decodeString(ctx *kong.DecodeContext, target reflect.Value) error {
	s, err := popValue(ctx)
	if err != nil {
		return err
	}
	if allowed := ctx.Value.Tag.Get("allowed"); allowed != "" {
		if s, err = choose(s, strings.Split(allowed, ",")); err != nil {
			return err
		}
	}
	target.SetString(s)
	return nil
}

// choose returns the allowed value that s names in any case.
func choose(s string, allowed []string) (string, error) {
	for _, a := range allowed {
		if strings.EqualFold(s, a) {
			return a, nil
		}
	}
	return "", fmt.Errorf("%q, allowed are %s", s, strings.Join(allowed, ", "))
}

func decodePath(ctx *kong.DecodeContext, target reflect.Value) error {
	s, err := popValue(ctx)
	if err != nil {
		return err
	}
	if s, err = expandHome(s); err != nil {
		return err
	}
	target.SetString(s)
	return nil
}

// expandHome puts the home directory in the place of a leading ~/: shells do not do it in
// files, nor everywhere in variables.
func expandHome(path string) (string, error) {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path, nil
	}
	home, err := os.UserHomeDir()
	if err != nil {
		return "", fmt.Errorf("%q: the home directory is not known", path)
	}
	return filepath.Join(home, rest), nil
}

func decodeInt(ctx *kong.DecodeContext, target reflect.Value) error {
	s, err := popValue(ctx)
	if err != nil {
		return err
	}
	n, err := strconv.ParseInt(s, 10, target.Type().Bits())
	if errors.Is(err, strconv.ErrRange) {
		return fmt.Errorf("%q is out of range", s)
	}
	if err != nil {
		return fmt.Errorf("%q, wanted a whole number", s)
	}
	if err := inRange(n, ctx.Value.Tag.Get("range")); err != nil {
		return err
	}
	target.SetInt(n)
	return nil
}

// inRange checks a number against a range tag, "lowest,highest".
func inRange(n int64, bounds string) error {
	if bounds == "" {
		return nil
	}
	var low, high int64
	if _, err := fmt.Sscanf(bounds, "%d,%d", &low, &high); err != nil {
		panic(fmt.Sprintf("config: range tag %q", bounds))
	}
	if n < low || n > high {
		return fmt.Errorf("%d, allowed are %d to %d", n, low, high)
	}
	return nil
}

func decodeFloat(ctx *kong.DecodeContext, target reflect.Value) error {
	s, err := popValue(ctx)
	if err != nil {
		return err
	}
	x, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return fmt.Errorf("%q, wanted a number", s)
	}
	target.SetFloat(x)
	return nil
}

// boolMapper reads switches, which need no value.
type boolMapper struct{}

func (boolMapper) IsBool() bool { return true }

func (boolMapper) Decode(ctx *kong.DecodeContext, target reflect.Value) error {
	if ctx.Scan.Peek().Type != kong.FlagValueToken {
		target.SetBool(true)
		return nil
	}
	s := fmt.Sprint(ctx.Scan.Pop().Value)
	switch strings.ToLower(s) {
	case "true", "1", "yes", "on":
		target.SetBool(true)
	case "false", "0", "no", "off":
		target.SetBool(false)
	default:
		return fmt.Errorf("%q, allowed are true and false", s)
	}
	return nil
}
