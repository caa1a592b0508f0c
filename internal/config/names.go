package config

import (
	"slices"
	"strings"

	"github.com/alecthomas/kong"
)

// Prefix begins the name of every variable that is a setting.
const Prefix = "MYNAH_"

// settingTag names the setting of a flag that means something else in other commands,
// so that variable and key mean one thing: setting:"json-file" for a flag --json.
const settingTag = "setting"

// settingName is the name of a flag's setting, of which variable and key are made.
func settingName(flag *kong.Value) string {
	if name := flag.Tag.Get(settingTag); name != "" {
		return name
	}
	return flag.Name
}

// Variable returns the environment variable of a flag: "top-p" is MYNAH_TOP_P.
func Variable(flag string) string {
	return Prefix + strings.ToUpper(strings.ReplaceAll(flag, "-", "_"))
}

// Key returns the config file's key of a flag: "top-p" is top_p.
func Key(flag string) string { return strings.ReplaceAll(flag, "-", "_") }

// maxTypos is how many letters a misspelt name may be away from the right one for
// an error to suggest it.
const maxTypos = 2

// didYouMean returns the end of a sentence about an unknown name: the known name
// nearest to it as a question, or nothing.
func didYouMean(name string, known []string) string {
	best, distance := "", maxTypos+1
	for _, k := range slices.Sorted(slices.Values(known)) {
		if d := typos(name, k); d < distance && d < len(k) {
			best, distance = k, d
		}
	}
	if best == "" {
		return ""
	}
	return ", did you mean " + best + "?"
}

// typos is the Levenshtein distance of two names in bytes.
func typos(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		corner := row[0]
		row[0] = i + 1
		for j := range len(b) {
			replaced := corner
			if a[i] != b[j] {
				replaced++
			}
			corner = row[j+1]
			row[j+1] = min(replaced, row[j]+1, corner+1)
		}
	}
	return row[len(b)]
}
