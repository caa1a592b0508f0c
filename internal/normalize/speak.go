package normalize

import (
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	price    = all(`[$£€¥]` + amount)
	scaled   = all(`([$£€¥])(` + amount + `)(k|K|m|M|bn|B)?`)
	hourly   = all(`(\d{1,2}):(\d\d)(?::(\d\d))?(am|pm|AM|PM)?`)
	meridiem = all(`(?i)[ap]\.?m\.?`)
	isoDate  = all(`(\d{4})-(\d\d)-(\d\d)`)
	usDate   = all(`(\d{1,2})/(\d{1,2})/(\d{4}|\d\d)`)
	phone    = all(`\+?\d?[-. ]?\(?\d{3}\)?[-. ]\d{3}[-. ]\d{4}|\d{3}-\d{4}|\d{3}-\d{2}-\d{4}`)
	fraction = all(`(\d+)/(\d+)`)
	nth      = all(`(\d+)(st|nd|rd|th)`)
	decade   = all(`'?(\d\d)s|(\d{4})s`)
	span     = all(`(` + amount + `)[-–—](` + amount + `)(%?)`)
	quantity = all(`([-−+]?)(` + amount + `|\.\d+)(%|°[CF]?|[A-Za-z/]+)?`)
	version  = all(`(?:\d{1,3}\.){3}\d{1,3}|\d+\.\d+\.\d+`)
	mail     = all(`[A-Za-z0-9._-]+@[A-Za-z0-9.-]+\.[a-z]+`)
	site     = all(`(?:www\.)?[a-z0-9-]+(?:\.[a-z0-9-]+)*\.(?:com|org|net|edu|gov|io)(?:/\S*)?`)
	parts    = regexp.MustCompile(`[A-Za-z]+|\d+|[@./_-]`)
	named    = all(`([A-Za-z]+)-?(\d+)`)
	compound = all(`(\d+)-([A-Za-z].*)`)
)

// moneyScales are the letters behind an amount.
var moneyScales = map[string]string{"k": "thousand", "m": "million", "bn": "billion", "b": "billion"}

// speak returns one token without its outer punctuation as words; before and after are
// its neighbours, as bare as it is.
func speak(core, before, after string) string {
	numeric := hasDigit(core)
	if numeric {
		for _, rule := range []func(core, before, after string) string{speakMoney, speakTime, speakDate, speakParts, speakQuantity} {
			if words := rule(core, before, after); words != "" {
				return words
			}
		}
	}
	if strings.IndexByte(core, '.') > 0 && (mail.MatchString(core) || site.MatchString(core)) {
		return speakAddress(core)
	}
	if endsDigit(before) && (units[core] != "" || utf8.RuneCountInString(core) == 2 && units[strings.ToLower(core)] != "") {
		return unit(before, core)
	}
	if roman[core] != "" && beginsUpper(before) {
		return roman[core]
	}
	if core == "OK" {
		return "okay"
	}
	if words := speakInitials(core); words != "" {
		return words
	}
	if numeric {
		return speakMixed(core)
	}
	if words, ok := symbols[core]; ok {
		return words
	}
	return strings.TrimSpace(join(core))
}

func speakMoney(core, _, after string) string {
	m := scaled.FindStringSubmatch(core)
	if m == nil {
		return ""
	}
	scale := moneyScales[strings.ToLower(m[3])]
	if scale == "" && scaleWords[after] {
		scale = after
	}
	return money(m[1], m[2], scale)
}

func speakTime(core, _, after string) string {
	m := hourly.FindStringSubmatch(core)
	if m == nil || m[2] >= "60" {
		return ""
	}
	tail := ""
	switch {
	case m[4] != "":
		tail = " " + spell(strings.ToUpper(m[4]))
	case meridiem.MatchString(after):
		tail = " "
	}
	return strings.TrimSpace(clock(value(m[1]), value(m[2]), tail))
}

func speakDate(core, _, _ string) string {
	var day, month, years int64
	if m := isoDate.FindStringSubmatch(core); m != nil {
		years, month, day = value(m[1]), value(m[2]), value(m[3])
	} else if m := usDate.FindStringSubmatch(core); m != nil {
		month, day, years = value(m[1]), value(m[2]), value(m[3])
		if len(m[3]) == 2 {
			years += 2000
		}
	}
	if month < 1 || month > 12 || day < 1 || day > 31 {
		return ""
	}
	words := months[month-1] + " " + ordinal(cardinal(day))
	if years != 0 {
		words += " " + year(years)
	}
	return words
}

// speakParts reads numbers of a form of their own: telephones, fractions, places,
// decades and spans.
func speakParts(core, _, _ string) string {
	if phone.MatchString(core) {
		return digits(core)
	}
	if m := fraction.FindStringSubmatch(core); m != nil {
		if bottom := strings.TrimLeft(m[2], "0"); bottom != "" && len(bottom) < 3 {
			return speakFraction(m[1], value(bottom))
		}
	}
	if m := nth.FindStringSubmatch(core); m != nil {
		return ordinal(whole(m[1]))
	}
	if m := decade.FindStringSubmatch(core); m != nil {
		words := cardinal(value(m[1]))
		if m[2] != "" {
			words = year(value(m[2]))
		}
		if stem, ok := strings.CutSuffix(words, "y"); ok {
			return stem + "ies"
		}
		return words + "s"
	}
	if m := span.FindStringSubmatch(core); m != nil {
		words := end(m[1]) + " to " + end(m[2])
		if m[3] != "" {
			words += " percent"
		}
		return words
	}
	return ""
}

func end(text string) string {
	if isYear(text) {
		return year(value(text))
	}
	return number(text)
}

func speakFraction(top string, bottom int64) string {
	one := strings.TrimLeft(top, "0") == "1"
	name := ordinal(cardinal(bottom))
	switch bottom {
	case 2:
		return whole(top) + " " + plural(one, "half", "halves")
	case 4:
		name = "quarter"
	}
	return whole(top) + " " + plural(one, name, name+"s")
}

// speakQuantity reads numbers with a sign before or a unit behind them, or none.
func speakQuantity(core, before, after string) string {
	m := quantity.FindStringSubmatch(core)
	if m == nil || m[3] != "" && m[3] != "%" && units[strings.ToLower(m[3])] == "" {
		if version.MatchString(core) {
			return speakVersion(core)
		}
		return ""
	}
	words := ""
	switch m[3] {
	case "":
		words = plain(m[2], before, after)
	case "%":
		words = number(m[2]) + " percent"
	default:
		words = number(m[2]) + " " + unit(m[2], m[3])
	}
	switch m[1] {
	case "-", "−":
		return "minus " + words
	case "+":
		return "plus " + words
	}
	return words
}

// plain reads a number by itself, which may be a day, a year, a room or a code.
func plain(text, before, after string) string {
	month := strings.TrimRight(before, ".")
	_, short := monthShort[month]
	low := strings.ToLower(before)
	whole := strings.Trim(text, "0123456789") == ""
	n := value(text[:min(len(text), maxNamed)])
	switch {
	case !whole:
	case (short || isMonth[month]) && len(text) <= 2 && 1 <= n && n <= 31:
		return ordinal(cardinal(n))
	case isYear(text) && !counted[strings.ToLower(after)]:
		return year(n)
	case pairedBehind[low] && len(text) == 3:
		if n%100 == 0 {
			return ones[n/100] + " hundred"
		}
		return ones[n/100] + pair(n%100)
	case spelledBehind[low] && len(text) >= 5:
		return digits(text)
	}
	return number(text)
}

func unit(value, unit string) string {
	name := units[strings.ToLower(unit)]
	if value != "1" && value != "one" {
		return name
	}
	if one, ok := singular[name]; ok {
		return one
	}
	return strings.TrimSuffix(name, "s")
}

func speakVersion(core string) string {
	numbers := strings.Split(core, ".")
	for i, n := range numbers {
		numbers[i] = whole(n)
	}
	return strings.Join(numbers, " dot ")
}

func speakAddress(core string) string {
	words := parts.FindAllString(core, -1)
	for i, w := range words {
		switch name, ok := addressSigns[w]; {
		case ok:
			words[i] = name
		case isDigit(w[0]) && len(w) < 5:
			words[i] = whole(w)
		case isDigit(w[0]):
			words[i] = digits(w)
		}
	}
	return strings.Join(words, " ")
}

// speakInitials spells two to six capitals, with an s of the plural or genitive.
func speakInitials(core string) string {
	letters, more := strings.CutSuffix(core, "s")
	if more {
		letters = strings.TrimSuffix(letters, "'")
	}
	if len(letters) < 2 || len(letters) > 6 || wordLike[letters] {
		return ""
	}
	for i := range len(letters) {
		if !isUpper(letters[i]) {
			return ""
		}
	}
	if more {
		return spell(letters) + "'s"
	}
	return spell(letters)
}

// speakMixed reads tokens of letters and digits.
func speakMixed(core string) string {
	if m := named.FindStringSubmatch(core); m != nil {
		name := m[1]
		if len(name) < 4 && strings.ToUpper(name) == name {
			name = spell(name)
		}
		return name + " " + number(m[2])
	}
	if m := compound.FindStringSubmatch(core); m != nil {
		return number(m[1]) + "-" + m[2]
	}
	core = join(core)
	var b strings.Builder
	for i := 0; i < len(core); {
		n := i
		for n < len(core) && isDigit(core[n]) {
			n++
		}
		if n > i {
			b.WriteString(" " + number(core[i:n]) + " ")
			i = n
			continue
		}
		b.WriteByte(core[i])
		i++
	}
	return strings.TrimSpace(b.String())
}

// join reads & between words as and, and takes / from there.
func join(core string) string {
	if !strings.ContainsAny(core, "&/") {
		return core
	}
	var b strings.Builder
	last := rune(0)
	for i, r := range core {
		next, _ := utf8.DecodeRuneInString(core[i+utf8.RuneLen(r):])
		between := isWord(last) && isWord(next)
		switch {
		case r == '&' && between:
			b.WriteString(" and ")
		case r == '/' && between:
			b.WriteByte(' ')
		default:
			b.WriteRune(r)
		}
		last = r
	}
	return b.String()
}
