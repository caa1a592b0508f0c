package synth

import (
	"strings"

	"github.com/mynah-tts/mynah/talker/prompt"
)

// Language returns the checkpoint's name of a language that is given by its name, in any
// case, or by its ISO 639-1 code with a region or without ("en", "pt-BR").
func (i Info) Language(given string) (string, bool) { return prompt.FindLanguage(i.Languages, given) }

// LanguageCodes returns the ISO 639-1 codes of the checkpoint's languages, sorted.
func (i Info) LanguageCodes() []string { return prompt.LanguageCodes(i.Languages) }

// PublishedLanguageCodes returns the ISO 639-1 codes of all languages that published
// checkpoints speak, sorted.
func PublishedLanguageCodes() []string { return prompt.LanguageCodes(prompt.PublishedLanguages()) }

// LanguageName returns the one name of a language that may be given in any case or by its
// code ("EN" is "english"); what no published checkpoint speaks keeps its name, in lower case.
func LanguageName(given string) string {
	if name, ok := prompt.FindLanguage(prompt.PublishedLanguages(), given); ok {
		return name
	}
	return strings.ToLower(given)
}
