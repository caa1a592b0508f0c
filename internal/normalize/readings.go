package normalize

import (
	"regexp"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	quotes  = `"'([` // that a word may begin with
	openers = `"'([{`
	closers = `.,;:!?"')]}…`
)

// wholeReadings are tokens that people read in a way of their own.
var wholeReadings = map[string]string{
	"24/7": "24 7", "50/50": "50 50", "9/11": "9 11", "AT&T": "A T and tee", "C++": "C plus plus", "C#": "C sharp", "F#": "F sharp",
	"and/or": "and or", "And/or": "And or",
}

const amount = `\d[\d,]*(?:\.\d+)?`

type pattern struct {
	token   *regexp.Regexp
	reading string
}

// patterns are tokens that are read as others. The first one that fits counts.
var patterns = []pattern{
	whenAll(`#(\d.*)`, "number ${1}"),
	whenAll(`#([A-Za-z].*)`, "${1}"),
	whenAll(`@([A-Za-z].*)`, "at ${1}"),
	whenAll(`~([$£€¥]?\d.*)`, "about ${1}"),
	whenAll(`v(\d+(?:\.\d+)+)`, "v ${1}"),
	whenAll(`(\d+(?:st|nd|rd|th))[-—](\d+(?:st|nd|rd|th))`, "${1} to ${2}"),
	whenAll(`(\d{1,2}:[0-5]\d):0?([1-9]|[1-5]\d)`, "${1} and ${2} seconds"),
	whenAll(`(\d+):(\d|[6-9]\d|\d{3,})`, "${1} to ${2}"),
	whenAll(`US(\$\d.*)`, "${1}"),
	whenAll(`([$£€¥])(\.\d+)`, "${1}0${2}"),
	whenAll(`(`+amount+`)([$£€¥])`, "${2}${1}"),
	whenAll(`-([$£€¥]\d.*)`, "minus ${1}"),
	whenAll(`([$£€¥])(`+amount+`)[-—][$£€¥]?(`+amount+`[kKmMB]?)`, "${1}${2} to ${1}${3}"),
	whenAll(`([$£€¥]`+amount+`)/([a-z]+)`, "${1} a ${2}"),
	whenAll(`([$£€¥]?`+amount+`[kKmMB%]?)\+`, "${1} plus"),
	whenAll(`https?://(?:www\.)?(.+?)/?`, "${1}"),
	whenAll(`(\d{1,2}/\d{1,2})/([5-9]\d)`, "${1}/19${2}"),
}

func whenAll(expr, reading string) pattern { return pattern{all(expr), reading} }

// all compiles a pattern for whole tokens.
func all(expr string) *regexp.Regexp { return regexp.MustCompile(`^(?:` + expr + `)$`) }

var (
	calculation = all(`\d+(?:\.\d+)?(?:[x*+=]\d+(?:\.\d+)?)+`)
	place       = all(`\d[\d,]*(?:st|nd|rd|th)`)
	model       = all(`([A-Z]{4,})-?(\d+)`)
	address     = regexp.MustCompile(`\]\((?:https?:|www\.|mailto:|[/#])[^()]*\)`)
	contraction = all(`["(\[]*[A-Z]+'[A-Z]{1,2}[.,;:!?")\]…]*`)

	signs = strings.NewReplacer("x", " by ", "*", " times ", "+", " plus ", "=", " equals ")
)

var coinsAlone = map[string]string{"$": "dollars", "£": "pounds", "€": "euros", "¥": "yen"}

// numbered are words with a Roman number behind them that is no king's.
var numbered = set(`act appendix article book bowl chapter class division level mark part phase scene section stage title type unit vatican volume war`)

// numerals are the Roman numbers from 2 to 20.
var numerals = func() map[string]int {
	m := make(map[string]int)
	for i, n := range strings.Fields("II III IV V VI VII VIII IX X XI XII XIII XIV XV XVI XVII XVIII XIX XX") {
		m[n] = i + 2
	}
	return m
}()

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// readable reports whether readings or lower may change the token: all but words of
// small letters, with a capital before them or not, and ordinary punctuation.
func readable(token string) bool {
	capitals, small := 0, 0
	for i := range len(token) {
		switch c := token[i]; {
		case isLower(c):
			small++
		case isUpper(c):
			capitals++
		case strings.IndexByte(`.,;:!?"'()-`, c) < 0:
			return true
		}
	}
	return capitals > 1 || capitals == 1 && small == 0 || capitals == 1 && len(token) > 1 && token[len(token)-1] == '.' && !isLetter(token[len(token)-2])
}

// readings returns a token as the tokens that people read in its place; before is the
// one before it.
func readings(token, before string) string {
	if strings.Contains(token, "](") {
		token = linked(token)
	}
	token = stopInside(token)
	rest := strings.TrimLeft(token, openers)
	core := strings.TrimRight(rest, closers)
	return token[:len(token)-len(rest)] + reading(core, before) + rest[len(core):]
}

// linked takes the address from a link of Markdown.
func linked(token string) string {
	link := address.ReplaceAllString(token, "")
	if at := strings.IndexByte(link, '['); at >= 0 && link != token {
		return strings.TrimSuffix(link[:at], "!") + link[at+1:]
	}
	return link
}

// stopInside moves a full stop behind closing signs before them, where numbers and
// abbreviations have it: (3). is read as (3.)
func stopInside(token string) string {
	inner, found := strings.CutSuffix(token, ".")
	word := strings.TrimRight(inner, `)]}"'`)
	if !found || word == inner || strings.IndexFunc(token, func(r rune) bool { return r < utf8.RuneSelf && (isUpper(byte(r)) || isDigit(byte(r))) }) < 0 {
		return token
	}
	if last, _ := utf8.DecodeLastRuneInString(word); !strings.ContainsRune(".!?…", last) {
		return word + "." + inner[len(word):]
	}
	return inner
}

// reading returns a token without its outer punctuation as people read it. The rules
// of core say less, as they are those of the voice's teacher.
func reading(core, before string) string {
	if words, ok := wholeReadings[core]; ok {
		return words
	}
	if n, ok := numerals[core]; ok {
		if numbered[strings.ToLower(before)] {
			return strconv.Itoa(n)
		}
		if roman[core] == "" && len(core) > 1 && beginsUpper(before) {
			return "the " + ordinal(cardinal(int64(n)))
		}
	}
	if endsDigit(before) {
		switch {
		case core == "W" || core == "V" || core == "L":
			return strings.ToLower(core)
		case coinsAlone[core] != "":
			return coinsAlone[core]
		case len(before) <= 2 && (len(before) == 1 || isDigit(before[0])) && fraction.MatchString(core):
			return "and " + core // 1 1/2
		}
	}
	if !hasDigit(core) && strings.IndexByte(core, '#') < 0 && strings.IndexByte(core, '@') < 0 && !strings.HasPrefix(core, "http") {
		return core
	}
	if place.MatchString(core) {
		return strings.ReplaceAll(core, ",", "")
	}
	if calculation.MatchString(core) {
		return signs.Replace(core)
	}
	if m := model.FindStringSubmatch(core); m != nil && readAsWord(m[1]) {
		return m[1][:1] + strings.ToLower(m[1][1:]) + "-" + m[2] // COVID-19
	}
	for _, p := range patterns {
		if m := p.token.FindStringSubmatchIndex(core); m != nil {
			return string(p.token.ExpandString(nil, p.reading, core, m))
		}
	}
	return core
}

// lower returns a word in capitals that is no initials as a word that begins with one.
func lower(token string) string {
	capitals := 0
	for i := range len(token) {
		if isUpper(token[i]) {
			capitals++
		}
	}
	if capitals < 2 || !shouted(token) && !contraction.MatchString(token) {
		return token
	}
	token = strings.ToLower(token)
	first := len(token) - len(strings.TrimLeft(token, quotes))
	if first < len(token) && isLower(token[first]) {
		return token[:first] + strings.ToUpper(token[first:first+1]) + token[first+1:]
	}
	return token
}

// shouted reports whether a token is a word in capitals that is read as one.
func shouted(token string) bool {
	var b strings.Builder
	for _, r := range strings.TrimSuffix(token, "'s") {
		if r < utf8.RuneSelf && isLetter(byte(r)) {
			if isLower(byte(r)) {
				return false
			}
			b.WriteRune(r)
		}
	}
	letters := b.String()
	_, n := utf8.DecodeLastRuneInString(token)
	around := strings.Trim(strings.Replace(token, letters, "", 1), `"'()[].,;:!?…—`)
	return (around == "" || around == "s") && !strings.Contains(token[:len(token)-n], ".") && readAsWord(letters)
}

// readAsWord reports whether letters in capitals are a word: not what is too short or
// has no vowel behind its first letter.
func readAsWord(letters string) bool {
	if numerals[letters] != 0 || len(letters) < 2 {
		return false
	}
	return shortWords[letters] || wordLike[letters] || len(letters) > 3 && strings.ContainsAny(letters[1:], "AEIOUY")
}
