package text

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// abbr says what a full stop behind a word may be besides the end of a sentence.
type abbr uint8

const (
	ordinary    abbr = iota // the end, as a rule
	never                   // part of an abbreviation that wants another word, or a list marker
	notLower                // the end unless a small letter follows: etc.
	notDigit                // the end unless a number follows: No. 5
	withStarter             // the end only if a word follows that begins sentences: U.S., J., Inc.
	ordinal                 // a number of one or two digits: 3. Mai
	cuedOrdinal             // the same behind a German article or preposition
)

// abbreviations are those that texts to be read aloud have, in small letters and
// without the last full stop. All languages count at once. Words that also end
// sentences (Italian on., German Mag., Russian им.) are left out or want a number.
// Single letters and groups of up to two letters between full stops (U.S., p.m.)
// need no entry: see abbrKind.
var abbreviations = func() map[string]abbr {
	table := make(map[string]abbr)
	for kind, words := range map[abbr]string{
		never: `mr mrs ms mx dr prof st ste mt ft rev fr gen col maj capt cmdr lt sgt cpl pvt adm gov sen rep pres hon messrs supt
			sr vs viz approx cf al e.g i.e
			bzw ca evtl ggf inkl exkl vgl sog bspw hr hrn frl nr dipl ing tel univ gem mio mrd z.b d.h
			m mm mme mmes mlle mlles mgr pr
			ee sra srta sres sras dra dña ud uds ej av avda lic gral núm
			sig sig.ra sig.na dott dott.ssa prof.ssa avv geom egr spett p.es
			profa exmo exma exa
			ул кв проф акад тыс млн млрд напр т.е т.к
			bijv dhr mevr mw np tzn tj ul např tzv dvs`,
		notLower: `etc usw usf ecc std min sek jh mwst geb gest chr ex др пр гг руб коп см т.д т.п enz itd itp atd osv`,
		notDigit: `no nos vol vols ch chap fig figs sec sect art arts eq op pp par ver abs abb bd str
			jan feb mar apr jun jul aug sep sept oct okt nov dec dez
			pág págs pag pagg env éd стр рис ст godz kl`,
		withStarter: `inc ltd co corp jr esq bros dept assn ave blvd rd ph.d`,
	} {
		for _, w := range strings.Fields(words) {
			table[w] = kind
		}
	}
	return table
}()

// starters begin sentences and are no surnames: behind "U.S." or "Plan B." they show
// that the sentence has ended. None has more than maxPeek-1 letters.
var starters = set(`the he she it they we you i a but this that these those there then when what if and so not my his our
	der die das es er sie wir ich ein eine aber und dann
	il elle ils elles les mais nous vous
	pero gli ma ele ela mas
	он она оно они это но мы вы`)

// cues stand before a German ordinal.
var cues = set(`am der die das dem den des im vom zum zur bis ab seit beim`)

// monthStarts are the first three letters of the months that are written with a
// capital where the day has a full stop.
var monthStarts = set(`jan jän feb mär apr mai jun jul aug sep okt nov dez`)

func set(words string) map[string]bool {
	m := make(map[string]bool)
	for _, w := range strings.Fields(words) {
		m[w] = true
	}
	return m
}

// word is the run of letters, digits and single full stops that ends a token, in
// small letters. It is empty if it has no room for another character.
type word struct {
	text    [maxWord]byte
	n       int
	letters int
	long    bool
	whole   bool // nothing but openers stands before it in its token
	capital bool // all letters are capitals
	digits  bool // there are digits only
}

func (w *word) reset(whole bool) { *w = word{whole: whole, capital: true, digits: true} }

func (w *word) add(r rune, c class) {
	if w.long {
		return
	}
	if c == upper {
		r = unicode.ToLower(r)
	}
	w.capital = w.capital && (c == upper || r == '.')
	w.digits = w.digits && c == digit
	w.letters++
	switch {
	case w.n+utf8.UTFMax > maxWord:
		w.n, w.long = 0, true
	case r < utf8.RuneSelf:
		w.text[w.n] = byte(r)
		w.n++
	default:
		w.n += utf8.EncodeRune(w.text[w.n:], r)
	}
}

// bytes returns the word; it must not outlive a change of w.
func (w *word) bytes() []byte { return w.text[:w.n] }

// abbrKind tells what the full stop behind the word may be. first says that the word
// is the first of its sentence, cue that the one before it is of cues, and closed
// that a bracket or quote follows the full stop.
func (w *word) abbrKind(first, cue, closed bool) abbr {
	if w.n == 0 {
		return ordinary
	}
	if w.digits {
		switch {
		case w.whole && first && w.letters <= 3:
			return never
		case w.whole && cue && w.letters <= 2:
			return cuedOrdinal
		case w.whole && w.letters <= 2:
			return ordinal
		}
		return ordinary
	}
	if kind, ok := abbreviations[string(w.bytes())]; ok {
		return kind
	}
	switch initial := w.initial(); {
	case w.whole && first && w.capital && (initial || w.roman()):
		return never
	case bytes.HasSuffix(w.bytes(), []byte("str")): // Hauptstr. 5
		return notDigit
	case !closed && (initial || w.dotted()):
		return withStarter
	}
	return ordinary
}

// roman reports whether the word is a small Roman number, as lists have.
func (w *word) roman() bool { return w.n <= 5 && len(bytes.Trim(w.bytes(), "ivxlc")) == 0 }

// initial reports whether the word is a single letter that may stand for a name or a
// word: J., z., г., د. but neither 네 nor è, which are words.
func (w *word) initial() bool {
	r, n := utf8.DecodeRune(w.bytes())
	if n != w.n || r == 'я' || r >= 0x80 && w.digits || !unicode.IsLetter(r) {
		return false
	}
	return r < 0x80 || w.capital || unicode.In(r, unicode.Cyrillic, unicode.Greek, unicode.Arabic, unicode.Hebrew)
}

// dotted reports whether the word is groups of one or two letters with full stops
// between them: u.s, p.m, ph.d, ee.uu.
func (w *word) dotted() bool {
	group, dots := 0, 0
	for b := w.bytes(); len(b) > 0; {
		r, n := utf8.DecodeRune(b)
		b = b[n:]
		switch {
		case r == '.' && group > 0:
			dots, group = dots+1, 0
		case unicode.IsLetter(r) && group < 2:
			group++
		default:
			return false
		}
	}
	return dots > 0 && group > 0
}

// month reports whether the word may be a German month.
func (w *word) month() bool {
	end, letters := 0, 0
	for end < w.n && letters < 3 {
		_, n := utf8.DecodeRune(w.text[end:w.n])
		end, letters = end+n, letters+1
	}
	return monthStarts[string(w.text[:end])]
}
