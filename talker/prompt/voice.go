package prompt

import (
	"fmt"
	"sort"
	"strings"

	"github.com/mynah-tts/mynah/talker"
)

// NameError says that a request named a language or speaker that the checkpoint
// lacks, and what it has.
type NameError struct {
	Kind, Name string
	Allowed    []string
}

func (e *NameError) Error() string {
	if len(e.Allowed) == 0 {
		return fmt.Sprintf("%s %q: this checkpoint has none to choose from", e.Kind, e.Name)
	}
	return fmt.Sprintf("%s %q is not known; there is %s", e.Kind, e.Name, strings.Join(e.Allowed, ", "))
}

// Auto is the language that leaves the choice to the model.
const Auto = "auto"

// Languages returns the names a request may use, sorted, Auto left out. Dialects
// are not among them: they come with their speakers.
func Languages(cfg *talker.Config) []string {
	var names []string
	for name := range cfg.Languages {
		if !isDialect(cfg, name) {
			names = append(names, name)
		}
	}
	sort.Strings(names)
	return names
}

func isDialect(cfg *talker.Config, language string) bool {
	if strings.Contains(language, "dialect") {
		return true
	}
	for _, d := range cfg.Dialects {
		if string(d) == language {
			return true
		}
	}
	return false
}

// Speakers returns the names of the checkpoint's preset speakers, sorted.
func Speakers(cfg *talker.Config) []string {
	names := make([]string, 0, len(cfg.Speakers))
	for name := range cfg.Speakers {
		names = append(names, name)
	}
	sort.Strings(names)
	return names
}

// none stands for "no such row" among codec ids.
const none = -1

// resolve turns names, in any case, and codes of languages into codec ids: none for language auto or no
// speaker. A speaker with a dialect brings it along when the language is auto or
// chinese, and only then.
func resolve(cfg *talker.Config, language, speaker string) (languageID, speakerID int, err error) {
	languageID, speakerID = none, none
	given := strings.ToLower(language)
	if language = given; language == "" {
		language = Auto
	}
	if language != Auto {
		allowed, ok := Languages(cfg), false
		if language, ok = FindLanguage(allowed, language); !ok {
			return none, none, &NameError{"language", given, append([]string{Auto}, allowed...)}
		}
		languageID = cfg.Languages[language]
	}
	if speaker = strings.ToLower(speaker); speaker == "" {
		return languageID, none, nil
	}
	speakerID, ok := cfg.Speakers[speaker]
	if !ok {
		return none, none, &NameError{"speaker", speaker, Speakers(cfg)}
	}
	if d := cfg.Dialects[speaker]; d != "" && (language == Auto || language == "chinese") {
		languageID = cfg.Languages[string(d)]
	}
	return languageID, speakerID, nil
}
