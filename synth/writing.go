package synth

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"unicode"
)

// A checkpoint that never heard a script makes noise of it, and ends as if it had spoken.
// So a text is refused if more than half of its letters are of scripts that no language of
// the checkpoint is written in; a sign of Chinese, Japanese or Korean, which is spoken as a
// syllable, counts as two letters. Digits, marks, emoji, letters of no script (µ, 𝐀) and
// Greek ones that stand alone (10 Ω, π) count on neither side; a foreign name in a text is
// left to the model.

// foreignLetters is how many letters a text in pieces has at least before it is refused
// while it may still go on: more than a name or a title that a text begins with, and less
// than a language model writes in two seconds. Nothing is spoken before that.
const foreignLetters = 64

// scriptsOf has the Unicode scripts of the languages of the published checkpoints, by the
// names of codec_language_id.
var scriptsOf = func() map[string][]string {
	list := map[string][]string{
		"chinese": {"Han"}, "japanese": {"Han", "Hiragana", "Katakana"}, "korean": {"Hangul", "Han"}, "russian": {"Cyrillic"},
	}
	for _, name := range []string{"english", "french", "german", "italian", "portuguese", "spanish"} {
		list[name] = []string{"Latin"}
	}
	return list
}()

// dialectOf has the languages of the published dialects.
var dialectOf = map[string]string{"beijing_dialect": "chinese", "sichuan_dialect": "chinese"}

// writing is what the languages of a checkpoint are written in. A nil *writing refuses
// nothing.
type writing struct {
	languages []string // as a sentence names them, sorted
	tables    []*unicode.RangeTable
}

// syllabic are the scripts of which a sign is a syllable.
var syllabic = []*unicode.RangeTable{unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul}

// syllable is how many letters a sign of a syllable counts for.
const syllable = 2

// writingOf returns the scripts of the languages that config.json names. It is nil, so that
// nothing is refused, if there are none or one is not known; and if all of the published
// languages are there: checkpoints that were tuned for further languages keep that list.
func writingOf(ids map[string]int) *writing {
	languages := map[string]bool{}
	for name := range ids {
		if language, ok := dialectOf[name]; ok {
			name = language
		}
		if scriptsOf[name] == nil {
			return nil
		}
		languages[name] = true
	}
	if len(languages) == 0 || len(languages) == len(scriptsOf) {
		return nil
	}
	w := &writing{tables: []*unicode.RangeTable{unicode.Latin}} // every language has names and abbreviations in it
	for _, name := range slices.Sorted(maps.Keys(languages)) {
		w.languages = append(w.languages, strings.ToUpper(name[:1])+name[1:])
		for _, script := range scriptsOf[name] {
			w.tables = append(w.tables, unicode.Scripts[script])
		}
	}
	return w
}

// check refuses a text that is not written in the checkpoint's scripts.
func (w *writing) check(s string) error {
	if w == nil {
		return nil
	}
	t := tally{writing: w}
	for _, r := range s {
		t.add(r)
	}
	return t.refusal()
}

// UnknownScripts is a sentence about a text that the checkpoint takes, though letters of it
// are of scripts that no language of the checkpoint is written in; "" if there are none. They
// may be spoken as noise.
func (m *Model) UnknownScripts(s string) string {
	clean, err := cleanText("input", s)
	if err != nil {
		return ""
	}
	return m.writing.unknown(clean)
}

func (w *writing) unknown(s string) string {
	if w == nil {
		return ""
	}
	t := tally{writing: w}
	for _, r := range s {
		t.add(r)
	}
	if t.foreign == 0 || t.isForeign() {
		return "" // nothing to tell, or refused
	}
	var names []string
	for _, name := range slices.Sorted(maps.Keys(t.scripts)) {
		names = append(names, strings.ReplaceAll(name, "_", " "))
	}
	return fmt.Sprintf("the text has letters of %s script, which may come out as noise: this checkpoint speaks %s only", enumerated(names), enumerated(w.languages))
}

// tally counts the letters of a text as it becomes known.
type tally struct {
	writing *writing
	head    []rune // of the text, what a message shows of it
	letters int
	known   int // letters of the checkpoint's scripts, syllables weighted
	foreign int // of others
	greek   int // letters of the Greek word under way; one alone is a symbol
	scripts map[string]int
	last    string // the script of the last foreign letter
}

// add counts a character.
func (t *tally) add(r rune) {
	if t.writing == nil {
		return
	}
	if len(t.head) <= abridgedRunes {
		t.head = append(t.head, r)
	}
	switch {
	case unicode.IsMark(r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r): // fillers of Hangul are not seen
	case !unicode.IsLetter(r):
		t.greek = 0
	case unicode.In(r, t.writing.tables...):
		t.greek = 0
		t.letters++
		t.known += weight(r)
	case unicode.In(r, unicode.Common, unicode.Inherited):
		t.greek = 0
	case !unicode.Is(unicode.Greek, r):
		t.greek = 0
		t.addForeign(r, 1)
	default:
		if t.greek++; t.greek > 1 {
			t.addForeign(r, max(1, 4-t.greek)) // the first letter counts with the second one
		}
	}
}

// addForeign counts n letters like r.
func (t *tally) addForeign(r rune, n int) {
	if t.scripts == nil {
		t.scripts = map[string]int{}
	}
	t.last = scriptOf(r, t.last)
	t.letters += n
	t.foreign += n * weight(r)
	t.scripts[t.last] += n * weight(r)
}

// weight is how many letters a letter counts for.
func weight(r rune) int {
	if unicode.In(r, syllabic...) {
		return syllable
	}
	return 1
}

// scriptOf returns the script of a letter, which may be that of the last one.
func scriptOf(r rune, last string) string {
	if table := unicode.Scripts[last]; table != nil && unicode.Is(table, r) {
		return last
	}
	for name, table := range unicode.Scripts {
		if unicode.Is(table, r) {
			return name
		}
	}
	return "an unknown" // of a Unicode version that lists the letter and not its script
}

// isForeign tells whether more than half of the letters are foreign.
func (t *tally) isForeign() bool { return t.foreign > t.known }

// mayBeForeign is isForeign if a Greek letter at the end of what is known begins a word.
func (t *tally) mayBeForeign() bool {
	if t.greek == 1 {
		return t.foreign+2 > t.known
	}
	return t.isForeign()
}

// isSettled tells whether a text in pieces is refused before its end.
func (t *tally) isSettled() bool { return t.isForeign() && t.letters >= foreignLetters }

// refusal is the *RequestError of a text that ends here, or nil.
func (t *tally) refusal() error {
	if !t.isForeign() {
		return nil
	}
	most := slices.MaxFunc(slices.Sorted(maps.Keys(t.scripts)), func(a, b string) int { return t.scripts[a] - t.scripts[b] })
	is := "is"
	if t.scripts[most] < t.foreign+t.known {
		is = "is mostly"
	}
	return requestErrorf("input", "%q %s in %s script; this checkpoint speaks %s only", abridged(string(t.head)), is, strings.ReplaceAll(most, "_", " "), enumerated(t.writing.languages))
}

// enumerated joins words as a sentence does.
func enumerated(words []string) string {
	if n := len(words) - 1; n > 0 {
		return fmt.Sprintf("%s and %s", strings.Join(words[:n], ", "), words[n])
	}
	return words[0]
}
