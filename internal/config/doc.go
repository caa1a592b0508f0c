// Package config fills the flags of a command from four places, the first that has
// a value winning: the command line, a MYNAH_… variable, a config file, the default
// in the flag's struct tag.
//
// A flag's name gives the names elsewhere: --top-p is MYNAH_TOP_P in the environment
// and top_p in the file. The file is TOML. A key at its top is for every command
// that has the flag; one in the table of a command is for that command alone and
// goes before; that of a command below another is [voices.add], and [voices] is for all
// that are below it:
//
//	model = "~/models/Qwen3-TTS-12Hz-0.6B-CustomVoice"
//	voice = "ryan"
//
//	[say]
//	format = "wav"
//
// Commands are structs with tags of github.com/alecthomas/kong; this package adds
// the tags allowed:"a,b" (the values of a text flag), range:"0,256" (bounds of a
// whole number), unset:"…" (what the help says of the default when there is no
// value) and type:"path" (a leading ~/ is the home directory). Embedding Common
// gives a command --config.
//
// An unknown key in the file is an error with its line, an unknown MYNAH_… variable
// a warning: a file is written for this program, an environment is not.
package config
