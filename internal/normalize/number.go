package normalize

import (
	"strconv"
	"strings"
)

var ones = strings.Fields(`zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen
	eighteen nineteen`)

var tens = strings.Fields(`zero ten twenty thirty forty fifty sixty seventy eighty ninety`)

var scales = []struct {
	size int64
	name string
}{{1e12, "trillion"}, {1e9, "billion"}, {1e6, "million"}, {1000, "thousand"}}

// maxNamed is the most digits of a number that has a name; longer ones are read digit
// by digit.
const maxNamed = 15

var ordinals = map[string]string{"one": "first", "two": "second", "three": "third", "five": "fifth", "eight": "eighth", "nine": "ninth", "twelve": "twelfth"}

// cardinal returns a number of up to maxNamed digits as words.
func cardinal(n int64) string {
	switch {
	case n < 20:
		return ones[n]
	case n < 100 && n%10 == 0:
		return tens[n/10]
	case n < 100:
		return tens[n/10] + " " + ones[n%10]
	case n < 1000:
		return ones[n/100] + " hundred" + rest(n%100)
	}
	for _, s := range scales {
		if n >= s.size {
			return cardinal(n/s.size) + " " + s.name + rest(n%s.size)
		}
	}
	return ""
}

func rest(n int64) string {
	if n == 0 {
		return ""
	}
	return " " + cardinal(n)
}

// whole returns digits as the words of the number.
func whole(text string) string {
	text = strings.TrimLeft(text, "0")
	if len(text) > maxNamed {
		return digits(text)
	}
	return cardinal(value(text))
}

// value returns the number that digits are, or a large one if it is beyond int64.
func value(text string) int64 {
	if text == "" {
		return 0
	}
	n, _ := strconv.ParseInt(text, 10, 64)
	return n
}

// ordinal makes the words of a number those of its place: twenty one, twenty first.
func ordinal(number string) string {
	at := strings.LastIndexByte(number, ' ') + 1
	head, last := number[:at], number[at:]
	if word, ok := ordinals[last]; ok {
		return head + word
	}
	if stem, ok := strings.CutSuffix(last, "y"); ok {
		return head + stem + "ieth"
	}
	return head + last + "th"
}

// year returns a year of up to four digits as people say it: nineteen eighty four, two
// thousand five, nineteen hundred.
func year(n int64) string {
	if 2000 <= n && n < 2010 || n%1000 == 0 {
		return cardinal(n)
	}
	if n%100 == 0 {
		return cardinal(n/100) + " hundred"
	}
	return cardinal(n/100) + pair(n%100)
}

// pair returns the last two digits of a year, a time or a room behind the others.
func pair(n int64) string {
	if n < 10 {
		return " oh " + ones[n]
	}
	return " " + cardinal(n)
}

// isYear reports whether digits are those of a year from 1100 to 2099.
func isYear(text string) bool {
	if len(text) != 4 || strings.Trim(text, "0123456789") != "" {
		return false
	}
	return text[0] == '1' && text[1] != '0' || text[0] == '2' && text[1] == '0'
}

// digits returns each digit by its name; what stands between them is a pause.
func digits(text string) string {
	var b strings.Builder
	gap := ""
	for i := range len(text) {
		if !isDigit(text[i]) {
			if b.Len() > 0 {
				gap = ", "
			}
			continue
		}
		b.WriteString(gap)
		b.WriteString(ones[text[i]-'0'])
		gap = " "
	}
	return b.String()
}

// number returns a plain number with thousands commas and a decimal point as words.
func number(text string) string {
	text = strings.ReplaceAll(text, ",", "")
	if front, decimals, ok := strings.Cut(text, "."); ok {
		return whole(front) + " point " + digits(decimals)
	}
	if len(text) > 1 && text[0] == '0' {
		return digits(text)
	}
	return whole(text)
}

const currencies = "$£€¥"

type coins struct{ big, bigs, small, smalls string }

var currency = map[string]coins{
	"$": {"dollar", "dollars", "cent", "cents"},
	"£": {"pound", "pounds", "penny", "pence"},
	"€": {"euro", "euros", "cent", "cents"},
	"¥": {"yen", "yen", "sen", "sens"},
}

// money returns an amount as words; scale is thousand, million, ... or empty.
func money(sign, amount, scale string) string {
	coin := currency[sign]
	amount = strings.ReplaceAll(amount, ",", "")
	if scale != "" {
		return number(amount) + " " + scale + " " + coin.bigs
	}
	front, decimals, _ := strings.Cut(amount, ".")
	cents := value((decimals + "00")[:2])
	front = strings.TrimLeft(front, "0")
	big := whole(front) + " " + plural(front == "1", coin.big, coin.bigs)
	small := cardinal(cents) + " " + plural(cents == 1, coin.small, coin.smalls)
	switch {
	case cents == 0:
		return big
	case front == "":
		return small
	}
	return big + " and " + small
}

func plural(one bool, singular, plural string) string {
	if one {
		return singular
	}
	return plural
}

// clock returns a time of day as words; tail is A M or P M with a space before it, or a
// space if that follows in the text.
func clock(hour, minute int64, tail string) string {
	switch {
	case minute != 0:
		return cardinal(hour) + pair(minute) + tail
	case hour == 0 || hour > 12:
		return cardinal(hour) + " hundred" + tail
	case tail == "":
		return cardinal(hour) + " o'clock"
	}
	return cardinal(hour) + tail
}
