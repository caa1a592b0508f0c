package synth

import (
	"strings"

	"github.com/mynah-tts/mynah/talker/prompt"
)

// Language returns the checkpoint's name of a language that is given by its name, in any
// case, or by its ISO 639-1 code with a region or without ("en", "pt-BR").
func (i Info) Language(given string) (string, bool) { return prompt.FindLanguage(i.Languages, given) }

// language returns what a request's prompt has for the language that the request names. One
// that leaves it to the model gets the language of a checkpoint that speaks a single one.
// Nothing else could be meant, and a prompt without the tag may be what the model has heard
// little of: the built-in voice heard it in a tenth of its training.
func (m *Model) language(given string) string {
	if names := m.info.Languages; len(names) == 1 && (given == "" || strings.EqualFold(given, prompt.Auto)) {
		return names[0]
	}
	return given
}

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
