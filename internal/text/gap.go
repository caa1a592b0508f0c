package text

// The strength of a gap: what kind of place to cut the text it is.
const (
	hard = iota // between any two grapheme clusters
	blank
	clause
	sentence
)

// tail is the mark that the token under way ends with, or the gap begins with.
type tail uint8

const (
	noTail tail = iota
	dotTail
	queryTail
	ellipsisTail
	wideTail
	commaTail
	wideCommaTail
	dashTail
)

// next returns the tail after one more cluster of class c, and whether c belongs to
// a tail at all. Of several marks the strongest sentence end holds; a comma or dash
// behind it takes it back ("etc.,").
func (t tail) next(c class) (tail, bool) {
	switch c {
	case dot:
		switch t {
		case queryTail, wideTail, ellipsisTail:
			return t, true
		case dotTail:
			return ellipsisTail, true
		}
		return dotTail, true
	case query:
		return queryTail, true
	case ellipsis:
		if t == wideTail || t == queryTail {
			return t, true
		}
		return ellipsisTail, true
	case wideStop:
		return wideTail, true
	case comma:
		return commaTail, true
	case wideComma:
		return wideCommaTail, true
	case dash:
		return dashTail, true
	}
	return t, false
}

// strongest returns the strongest that a gap with white space behind the tail may be.
func (t tail) strongest() int {
	switch t {
	case dotTail, queryTail, ellipsisTail, wideTail:
		return sentence
	case commaTail, wideCommaTail, dashTail:
		return clause
	}
	return blank
}

// gap is a place between two clusters where the segment may end, and what decides
// it. It lies behind the white space and, as a rule, behind what else has nothing to
// say; brackets, quotes and bullets that stand before the next word go with that.
type gap struct {
	at, count int // offset in the text, characters of the segment before it
	hold      int // offset of the white space before it: text from here on waits
	tail      tail
	closed    bool  // a bracket or quote follows the mark
	bracket   bool  // and it is a Japanese one
	dashed    bool  // a dash stands in the gap
	kind      abbr  // of the word before a single full stop
	before    class // of the last letter or number before the gap
	spaced    bool  // there is white space
	glued     bool  // there are no-break spaces only
	lines     int   // line ends; a paragraph end counts as two
	line      int   // characters of the line that ended first
	lead      int   // clusters behind at
	leadTail  tail
	leadClass class // the last of lead
	lowercase bool  // the sentence before began with a small letter
}

// nextWord is what stands behind a gap.
type nextWord struct {
	class class // of its first letter or number
	first rune
	word  *word // as far as it was read, if wantsWord
	stop  bool  // a full stop follows the word
}

// wantsWord reports whether the gap cannot be decided by the first letter of the
// word behind it.
func (g *gap) wantsWord(next class) bool {
	return g.spaced && g.tail == dotTail && next == upper && g.lines < 2 &&
		(g.kind == withStarter || g.kind == ordinal || g.kind == cuedOrdinal)
}

// strength decides what the gap is, given what follows.
func (g *gap) strength(n nextWord) int {
	switch {
	case g.lines >= 2:
		return sentence
	case !g.spaced:
		return g.unspaced(n)
	}
	g.dashed = g.dashed || g.leadTail == dashTail
	st := blank
	switch g.tail {
	case wideTail:
		st = sentence
	case queryTail:
		st = sentence
		if n.class == lower && (g.closed || g.dashed) {
			st = clause // "Stop!" he said.
		}
	case ellipsisTail:
		st = sentence
		if n.class == lower {
			st = clause
		}
	case dotTail:
		st = g.fullStop(n)
	case commaTail, wideCommaTail, dashTail:
		st = clause
	}
	st = max(st, g.lineEnd(n, st))
	if g.glued && st < sentence {
		return hard
	}
	return st
}

// fullStop decides a single full stop with white space behind it.
func (g *gap) fullStop(n nextWord) int {
	switch kind := g.kind; {
	case kind == never:
		return blank
	case kind == ordinary, kind == notDigit && n.class != digit:
		// Whoever begins sentences with small letters may have begun another.
		if n.class == lower && (!g.lowercase || g.closed || g.dashed) {
			return clause
		}
		return sentence
	case kind == notDigit, n.class == lower:
		return blank
	case kind == notLower:
		return sentence
	case kind == withStarter:
		if n.class == upper && starters[string(n.word.bytes())] && !n.stop {
			return sentence
		}
		return blank
	case n.class == digit, n.class == upper && n.word.month():
		return blank
	case kind == cuedOrdinal && n.class == upper && !starters[string(n.word.bytes())]:
		return blank
	}
	return sentence
}

// lineEnd says what a line end in the gap makes of it: a sentence end if the line is
// too short to have been wrapped, unless the text plainly goes on.
func (g *gap) lineEnd(n nextWord, st int) int {
	switch {
	case g.lines == 0, n.class == lower, g.tail == dotTail && g.kind == never:
		return st
	case g.tail.strongest() == clause, g.line >= wrapLine:
		return max(st, clause)
	}
	return sentence
}

// unspaced decides a gap without white space.
func (g *gap) unspaced(n nextWord) int {
	inNumber := g.before == digit && n.class == digit
	switch g.tail {
	case wideTail:
		if g.bracket && 0x3041 <= n.first && n.first <= 0x3096 {
			return clause // 「行くぞ！」と言った。
		}
		return sentence
	case queryTail:
		if n.class == wide {
			return sentence
		}
	case dotTail:
		if g.before == wide && n.class == wide {
			return sentence
		}
	case ellipsisTail, commaTail:
		if n.class == wide {
			return clause
		}
	case wideCommaTail, dashTail:
		if !inNumber {
			return clause
		}
	}
	return hard
}
