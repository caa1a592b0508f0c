package normalize

import (
	"strings"
	"unicode/utf8"
)

// item is a token that is to be read.
type item struct {
	token    string
	core     string // token without outer punctuation
	before   string // the core of the token before it
	previous string // that token
}

// bare returns a token without its outer punctuation, but for full stops.
func bare(token string) string {
	return strings.TrimRight(strings.TrimLeft(token, `"“”([{'«`), `"“”)]}'»,;:!?…`)
}

// waits reports whether the reading hangs on the token behind it, or on there being
// none.
func (t item) waits() bool {
	if _, ok := monthShort[strings.TrimSuffix(t.token, ",")]; ok {
		return true
	}
	name := strings.TrimRight(t.core, ".")
	if hasDigit(name) {
		first, _ := utf8.DecodeRuneInString(name)
		return strings.ContainsRune(currencies, first) || strings.IndexByte(name, ':') > 0 || isYear(strings.TrimLeft(name, "-+"))
	}
	if name == t.core {
		return false
	}
	if t.mayAbbreviate(strings.ToLower(t.core)) {
		return true
	}
	_, month := monthShort[name]
	return month || dayShort[name] != "" || isDotted(t.core)
}

// mayAbbreviate reports whether the token is an abbreviation, as far as what stands
// before it says; low is the core in small letters.
func (t item) mayAbbreviate(low string) bool {
	switch {
	case abbreviations[low] == "":
		return false
	case afterNumber[low]:
		return endsDigit(t.before)
	case withCapital[low]:
		return isUpper(t.core[0])
	}
	return true
}

// abbreviates reports whether the token is an abbreviation.
func (t item) abbreviates(low, after string) bool {
	switch {
	case !t.mayAbbreviate(low):
		return false
	case beforeNumber[low]:
		return beginsDigit(after)
	case withCapital[low]:
		return beginsUpper(after) || beginsUpper(t.before)
	}
	return true
}

// isDotted reports whether core is single letters with a full stop behind each: B. or
// U.S.
func isDotted(core string) bool {
	for i := range len(core) {
		if i%2 == 0 && !isLetter(core[i]) || i%2 == 1 && core[i] != '.' {
			return false
		}
	}
	return len(core) > 1 && len(core)%2 == 0 && (len(core) > 2 || isUpper(core[0]))
}

// words returns what is said for the token, with its punctuation. last says that it is
// the last one of the text, first that nothing has been said yet.
func (t item) words(after item, last, first bool) string {
	words := strings.TrimSpace(collapse(t.spoken(after.core, last)))
	if month, ok := t.month(after); ok {
		words = month
	}
	if (last || t.ends(after)) && strings.HasSuffix(strings.TrimRight(t.token, `"')`), ".") && words != "" && !stopped(words) {
		words += "."
	}
	if words != "" && isLower(words[0]) && t.capital(words, first) {
		words = strings.ToUpper(words[:1]) + words[1:]
	}
	return words
}

// stopped reports whether words end a sentence.
func stopped(words string) bool {
	r, _ := utf8.DecodeLastRuneInString(strings.TrimRight(words, `"')`))
	return strings.ContainsRune(".!?…", r)
}

// ends reports whether a full stop of an abbreviation ends a sentence too.
func (t item) ends(after item) bool {
	word := strings.TrimLeft(after.token, quotes)
	n := 0
	for n < len(word) && isLetter(word[n]) {
		n++
	}
	return starters[word[:n]] && !strings.HasSuffix(after.token, "I.") && !neverLast[strings.ToLower(strings.Trim(t.token, `"'()[]`))]
}

// capital reports whether words, which begin with a small letter, get a capital:
// because the token has one, or because a number begins the text.
func (t item) capital(words string, first bool) bool {
	word := strings.TrimLeft(t.token, quotes)
	if word != "" && isUpper(word[0]) && !strings.HasPrefix(words, "the ") {
		return true
	}
	return first && beginsDigit(strings.TrimLeft(t.token, `"'([$£€`))
}

// month returns the name of a month that is short without a full stop, beside a number.
func (t item) month(after item) (string, bool) {
	name, comma := strings.CutSuffix(t.token, ",")
	month, ok := monthShort[name]
	dated := len(t.previous) <= 2 && endsDigit(t.previous) && isDigit(t.previous[0])
	if !ok || !dated && (comma || !beginsDigit(after.token)) {
		return "", false
	}
	return months[month] + t.token[len(name):], true
}

// spoken returns the token as words with its punctuation; it may have more spaces than
// it should. It is "" if the token before says it already.
func (t item) spoken(after string, last bool) string {
	core := t.core
	if core == "" {
		if t.token == "…" || strings.ContainsAny(t.token, ".,!?;:—") {
			return t.token
		}
		return ""
	}
	at := strings.Index(t.token, core)
	lead, trail := t.token[:at], t.token[at+len(core):]
	name := strings.TrimRight(core, ".")
	if scaleWords[name] && price.MatchString(t.before) {
		if name != core {
			return "." + trail
		}
		return trail
	}
	if name == core {
		return lead + speak(core, t.before, strings.TrimRight(after, ".")) + trail
	}
	low := strings.ToLower(core)
	month, isShort := monthShort[name]
	switch {
	case t.abbreviates(low, after):
		said := abbreviations[low]
		if low == "st." && beginsUpper(t.before) && !beginsUpper(after) {
			said = "street"
		}
		return lead + said + stop(last) + trail
	case isShort && beginsDigit(after):
		return lead + months[month] + trail
	case dayShort[name] != "" && (name != "Sat" && name != "Sun" || beginsDigit(after) || after == "and" || after == "at"):
		return lead + dayShort[name] + trail
	case isDotted(core) && len(core) == 2 && !last:
		return lead + core[:1] + trail // an initial
	case isDotted(core) && len(core) > 2:
		return lead + spell(strings.ToUpper(strings.ReplaceAll(core, ".", ""))) + stop(last) + trail
	}
	if name == "" {
		return lead + core + trail
	}
	return lead + speak(name, t.before, strings.TrimRight(after, ".")) + core[len(name):] + trail
}

func stop(last bool) string {
	if last {
		return "."
	}
	return ""
}

// collapse makes runs of spaces single ones.
func collapse(s string) string {
	if !strings.Contains(s, "  ") {
		return s
	}
	return strings.Join(strings.Fields(s), " ")
}

// spell puts spaces between letters.
func spell(letters string) string { return strings.Join(strings.Split(letters, ""), " ") }
