package server

import (
	"slices"
	"strings"

	"github.com/mynah-tts/mynah/synth"
)

// languageCodes are the ISO 639-1 codes of the languages that published checkpoints
// speak, by the names that checkpoints give them. Other protocols name languages by them.
var languageCodes = map[string]string{
	"chinese": "zh", "english": "en", "japanese": "ja", "korean": "ko", "german": "de",
	"french": "fr", "russian": "ru", "portuguese": "pt", "spanish": "es", "italian": "it",
}

// codesOf are the codes of a checkpoint's languages, sorted.
func codesOf(info synth.Info) []string {
	codes := []string{}
	for _, name := range info.Languages {
		if code, ok := languageCodes[strings.ToLower(name)]; ok {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	return codes
}

// languageOf is a checkpoint's name of a language that a client named by its code, with a
// region or without, or by that name. None is none.
func languageOf(param, given string, info synth.Info) (string, *Error) {
	if given == "" {
		return "", nil
	}
	code, _, _ := strings.Cut(strings.ReplaceAll(given, "_", "-"), "-")
	for _, name := range info.Languages {
		if strings.EqualFold(name, given) || strings.EqualFold(languageCodes[strings.ToLower(name)], code) {
			return name, nil
		}
	}
	return "", invalid(param, "%s, allowed are %s", quoted(given), list(codesOf(info)))
}
