package prompt

import (
	"maps"
	"slices"
	"strings"
)

// languageCodes are the ISO 639-1 codes of the languages that published checkpoints
// speak, by the names that checkpoints give them.
var languageCodes = map[string]string{
	"chinese": "zh", "english": "en", "japanese": "ja", "korean": "ko", "german": "de",
	"french": "fr", "russian": "ru", "portuguese": "pt", "spanish": "es", "italian": "it",
}

// LanguageCodes returns the ISO 639-1 codes of languages given by their names, sorted;
// those that have none are left out.
func LanguageCodes(names []string) []string {
	codes := []string{}
	for _, name := range names {
		if code, ok := languageCodes[strings.ToLower(name)]; ok {
			codes = append(codes, code)
		}
	}
	slices.Sort(codes)
	return codes
}

// PublishedLanguages are the names of the languages that published checkpoints speak, sorted.
func PublishedLanguages() []string { return slices.Sorted(maps.Keys(languageCodes)) }

// FindLanguage returns which of the names is meant by one in any case, or by an
// ISO 639-1 code with a region or without ("en", "pt-BR", "zh_CN").
func FindLanguage(names []string, given string) (string, bool) {
	code, _, _ := strings.Cut(strings.ReplaceAll(given, "_", "-"), "-")
	i := slices.IndexFunc(names, func(name string) bool {
		return strings.EqualFold(name, given) || code != "" && strings.EqualFold(languageCodes[strings.ToLower(name)], code)
	})
	if i < 0 {
		return "", false
	}
	return names[i], true
}
