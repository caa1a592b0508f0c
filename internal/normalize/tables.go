package normalize

import "strings"

var months = strings.Fields("January February March April May June July August September October November December")

var isMonth = set("January February March April May June July August September October November December")

var monthShort = map[string]int{"Jan": 0, "Feb": 1, "Mar": 2, "Apr": 3, "Jun": 5, "Jul": 6, "Aug": 7, "Sep": 8, "Sept": 8, "Oct": 9, "Nov": 10, "Dec": 11}

var dayShort = map[string]string{
	"Mon": "Monday", "Tue": "Tuesday", "Tues": "Tuesday", "Wed": "Wednesday", "Thu": "Thursday", "Thur": "Thursday", "Thurs": "Thursday",
	"Fri": "Friday", "Sat": "Saturday", "Sun": "Sunday",
}

// abbreviations are written with a full stop, wherever they stand.
var abbreviations = map[string]string{
	"mr.": "mister", "mrs.": "missis", "ms.": "miz", "dr.": "doctor", "prof.": "professor", "st.": "saint", "jr.": "junior",
	"sr.": "senior", "vs.": "versus", "etc.": "et cetera", "e.g.": "for example", "i.e.": "that is", "approx.": "approximately",
	"dept.": "department", "gov.": "governor", "gen.": "general", "capt.": "captain", "lt.": "lieutenant", "sgt.": "sergeant",
	"col.": "colonel", "rev.": "reverend", "hon.": "honorable", "inc.": "incorporated", "ltd.": "limited", "co.": "company",
	"corp.": "corporation", "ave.": "avenue", "blvd.": "boulevard", "rd.": "road", "apt.": "apartment", "mt.": "mount",
	"ft.": "feet", "in.": "inches", "oz.": "ounces", "lb.": "pounds", "lbs.": "pounds", "min.": "minutes", "sec.": "seconds",
	"hr.": "hour", "hrs.": "hours", "no.": "number", "vol.": "volume", "p.": "page", "pp.": "pages", "fig.": "figure",
	"est.": "established", "tel.": "telephone", "ext.": "extension", "misc.": "miscellaneous", "a.m.": "A M", "p.m.": "P M",
	"u.s.": "U S", "u.k.": "U K", "u.s.a.": "U S A", "d.c.": "D C", "ph.d.": "P H D", "p.s.": "P S", "b.c.": "B C", "a.d.": "A D",
}

// Some are ordinary words too: those of afterNumber and beforeNumber are abbreviations
// only beside a number, those of withCapital only with a capital and beside another.
var (
	afterNumber  = set("ft. in. oz. lb. lbs. min. sec. hr. hrs.")
	beforeNumber = set("no. p. pp. fig. vol. ext. apt. tel.")
	withCapital  = set("st. co. mt. gen. col. hon. est.")
)

// A full stop is the end of a sentence too if one of starters follows, but not behind
// neverLast, which stand before a name or a word.
var (
	starters  = set("The He She It They We You I This That These Those There Then But And So If When What Where Why How His Her My Our Their")
	neverLast = set("mr. mrs. ms. dr. prof. gov. gen. capt. lt. sgt. col. rev. hon. mt. vs. e.g. i.e. approx.")
)

var units = map[string]string{
	"km": "kilometers", "m": "meters", "cm": "centimeters", "mm": "millimeters", "kg": "kilograms", "g": "grams", "mg": "milligrams",
	"l": "liters", "ml": "milliliters", "lb": "pounds", "lbs": "pounds", "oz": "ounces", "ft": "feet", "mi": "miles",
	"mph": "miles per hour", "km/h": "kilometers per hour", "kph": "kilometers per hour", "hz": "hertz", "khz": "kilohertz",
	"mhz": "megahertz", "ghz": "gigahertz", "kb": "kilobytes", "mb": "megabytes", "gb": "gigabytes", "tb": "terabytes",
	"kw": "kilowatts", "w": "watts", "v": "volts", "ms": "milliseconds", "s": "seconds", "min": "minutes", "h": "hours",
	"hrs": "hours", "°c": "degrees Celsius", "°f": "degrees Fahrenheit", "°": "degrees", "am": "A M", "pm": "P M", "sq": "square",
	"k": "thousand", "x": "times", "bn": "billion",
}

// singular has the units that do not lose an s behind 1.
var singular = map[string]string{
	"feet": "foot", "inches": "inch", "miles per hour": "mile per hour", "kilometers per hour": "kilometer per hour",
	"degrees Celsius": "degree Celsius", "degrees Fahrenheit": "degree Fahrenheit", "times": "times",
}

var symbols = map[string]string{
	"&": "and", "+": "plus", "=": "equals", "@": "at", "%": "percent", "#": "number", "/": "slash", "*": "times", "<": "less than",
	">": "greater than", "~": "about", "°": "degrees", "→": "to",
}

// addressSigns are the parts of addresses that are not read as they are written.
var addressSigns = map[string]string{"@": "at", ".": "dot", "/": "slash", "_": "underscore", "-": "dash", "www": "W W W", "io": "I O", "edu": "E D U"}

var scaleWords = set("hundred thousand million billion trillion")

var roman = map[string]string{
	"II": "the second", "III": "the third", "IV": "the fourth", "VI": "the sixth", "VII": "the seventh", "VIII": "the eighth",
	"IX": "the ninth", "XIV": "the fourteenth", "XVI": "the sixteenth",
}

// wordLike are capitals that are read as a word.
var wordLike = set("NASA NATO UNESCO UNICEF AIDS OPEC LASER RADAR PIN RAM ROM GIF JPEG WIFI")

// shortWords are words that are short enough to be taken for initials when they are
// written in capitals.
var shortWords = set(`A AM AN AND ANY ARE AS ASK AT BAD BE BED BIG BOX BOY BUS BUT BUY BY CAN CAR CAT CRY CUP CUT DAY DID DO DOG EAR EAT EGG END EYE FAR FEW FLY FOR FUN GET GO GOD GOT GUY
	HAD HAS HAT HE HER HEY HI HIM HIS HIT HOT HOW I ICE IF IN IS IT ITS JOB JOY KEY KID LAW LAY LEG LET LIE LOT LOW MAD MAN MAP MAY ME MEN MET MOM MY NEW NO NOR NOT NOW OF OFF OH OIL
	OLD ON ONE OR OUR OUT OWN PAY PUT RAN RED RUN SAD SAT SAW SAY SEA SEE SET SHE SIT SIX SKY SO SON SUN TAX TEA TEN THE TIE TO TOO TOP TRY TWO UP USE VAN WAR WAS WAY WE WET WHO WHY WIN
	WON YES YET YOU`)

// counted are words with a number of people, steps, ... before them that is no year.
var counted = set("dollars people meters miles feet pounds kilometers calories words steps times")

// Numbers of three digits behind pairedBehind are read in pairs, and long ones behind
// spelledBehind digit by digit.
var (
	pairedBehind  = set("room flight bus highway route")
	spelledBehind = set("code pin zip account order number serial")
)
