package server

import "github.com/mynah-tts/mynah/synth"

// languageOf is a checkpoint's name of a language that a client named by its code, with a
// region or without, or by that name. None is none.
func languageOf(param, given string, info synth.Info) (string, *Error) {
	if given == "" {
		return "", nil
	}
	name, ok := info.Language(given)
	if !ok {
		return "", invalid(param, "%s, allowed are %s", quoted(given), list(info.LanguageCodes()))
	}
	return name, nil
}
