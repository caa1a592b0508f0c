package config

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/alecthomas/kong"
)

// Precedence is a paragraph for the help of a program.
const Precedence = "Each setting is taken from the first of these that has it: the flag, the variable, the config file, the default. " +
	"The config file is TOML: --config, or MYNAH_CONFIG, or else mynah/config.toml in the user's config directory if it is there. " +
	"A key at its top is for all commands; one in the table of a command, such as [say] or [voices.add], for that one; [voices] is for all below voices."

// describe is the help of a flag: what it does, what is allowed, its default, and
// its names in environment and file.
func describe(v *kong.Value) string {
	if v.Flag == nil || v.Name == helpFlag {
		return v.Help
	}
	text := v.Help
	if allowed := v.Tag.Get("allowed"); allowed != "" {
		text += " Allowed: " + strings.ReplaceAll(allowed, ",", ", ") + "."
	}
	if bounds := v.Tag.Get("range"); bounds != "" {
		text += " Allowed: " + strings.ReplaceAll(bounds, ",", " to ") + "."
	}
	if initial := cmp.Or(v.Tag.Get("unset"), v.Default); initial != "" {
		text += " Default: " + initial + "."
	}
	if v.Name == configFlag {
		return fmt.Sprintf("%s (%s)", text, Variable(v.Name))
	}
	return fmt.Sprintf("%s (%s, %s)", text, Variable(settingName(v)), Key(settingName(v)))
}
