package text

import "unicode/utf8"

// scanner finds where the segments of a text end. It takes one code point at a time
// and never looks back at the text, so that its answer cannot depend on how the text
// arrived; each code point costs a bounded amount of work and the scanner itself has
// a fixed size. It counts offsets only: the text is its caller's.
type scanner struct {
	from [sentence + 1]int // see Limits.byStrength
	ends []int             // offsets of the segment ends found; the caller takes them

	cluster cluster
	pos     int // end of the last complete cluster

	// The segment under way.
	start int
	count int  // characters from its first letter or number on
	said  bool // it has a letter or number

	// The sentence, the line and the token under way. A token ends at white space.
	words     int  // tokens of the sentence that have something to say
	lowercase bool // the sentence begins with a small letter
	line      int  // characters of the line
	quoted    bool // within ASCII double quotes
	cue       bool // the token before is of cues
	word      word
	token     gap // what a gap behind the token would be
	inToken   bool
	blankFrom int // where the white space that ends the text begins, or -1

	gap  gap  // the gap that waits for what follows
	open bool // there is one
	peek bool // its next word is under way
}

func newScanner(l Limits, pos int) scanner {
	s := scanner{from: l.byStrength(), pos: pos, start: pos, blankFrom: -1}
	s.word.reset(true)
	return s
}

// add takes the next code point, which has size bytes in the text.
func (s *scanner) add(r rune, size int) {
	c := &s.cluster
	if c.runes > 0 {
		if (r|c.last >= utf8.RuneSelf || c.last == '\r') && c.joins(r) {
			c.join(r, size)
			return
		}
		s.step()
	}
	c.start(r, size)
}

// finish takes the end of the text: the segment under way ends, if there is one.
func (s *scanner) finish() {
	if s.cluster.runes > 0 {
		s.step()
	}
	if s.peek {
		s.decideByWord(false)
	}
	if s.said {
		s.cut(s.pos, s.count)
	}
}

// settled returns up to where the text is known to belong to the segment under way.
func (s *scanner) settled() int {
	if !s.said {
		return s.start
	}
	switch {
	case s.open && (!s.peek || s.gap.count >= s.from[sentence]):
		return s.gap.hold
	case s.blankFrom >= 0:
		return s.blankFrom
	}
	return s.pos
}

// step takes the cluster, which is complete.
func (s *scanner) step() {
	switch c := s.cluster.class; {
	case c.said():
		s.speak(c)
	case c == space, c == newline:
		s.blank(c)
	case c == glue:
		s.glue()
	case c != ignorable || !s.inToken:
		s.mark(c)
	case s.peek && s.word.letters >= maxPeek:
		s.decideByWord(false)
	case s.peek:
		s.word.letters++ // the look-ahead is bounded
	}
	s.pos += s.cluster.size
	s.line += s.cluster.runes
	if s.said {
		s.count += s.cluster.runes
	}
	s.cluster.runes = 0
}

// glue takes a no-break space. It is part of its token, but in a gap and behind a
// sentence end, where it is as good as white space.
func (s *scanner) glue() {
	if s.inToken && s.token.tail.strongest() < sentence {
		if s.peek {
			s.decideByWord(false)
		}
		s.symbol()
		s.blankStart()
		return
	}
	s.blank(glue)
}

// speak takes a letter or number.
func (s *scanner) speak(c class) {
	s.blankFrom = -1
	switch {
	case s.inToken && !s.peek && s.token.tail == noTail && s.count < s.from[hard]: // the most of all text
	case s.peek && s.goesOn(c):
	case s.peek:
		s.decideByWord(false)
		s.gapInToken(c)
	case s.open && s.gap.wantsWord(c) && s.count < s.from[hard]:
		s.peek = true
		s.beginToken(c)
	case s.open:
		s.word.reset(true)
		s.decide(nextWord{class: c, first: s.cluster.first, word: &s.word})
		s.beginToken(c)
	case s.inToken:
		s.gapInToken(c)
	default:
		s.beginToken(c)
	}
	if (c == wide) != (s.token.before == wide) { // これはNo. 5です
		s.word.reset(s.word.n == 0)
	}
	s.word.add(s.cluster.first, c)
	s.token.before = c
	s.said = true
}

// goesOn reports whether a word that a gap waits for goes on and may do so. At its
// hard limit a segment does not wait: it ends at the gap if it might have ended there.
func (s *scanner) goesOn(c class) bool {
	if s.count >= s.from[hard] {
		if s.gap.count >= s.from[sentence] {
			s.cut(s.gap.at, s.gap.count)
		}
		if s.count >= s.from[hard] {
			s.cut(s.pos, s.count)
		}
		s.open, s.peek = false, false
		return true
	}
	return (c == lower || c == upper || c == letter) && s.word.letters < maxPeek
}

// beginToken begins a token with its first letter or number.
func (s *scanner) beginToken(c class) {
	if s.words == 0 {
		s.lowercase = c == lower
	}
	s.words++
	s.word.reset(true)
	s.token = gap{}
	s.inToken = true
}

// gapInToken takes the gap before a letter or number in the middle of a token, and
// keeps the word: "U." and "S" are one.
func (s *scanner) gapInToken(c class) {
	t := &s.token
	st := hard
	if t.tail != noTail {
		st = t.unspaced(nextWord{class: c, first: s.cluster.first})
		if t.tail == dotTail && !t.closed && s.word.n > 0 && st < sentence {
			s.word.add('.', dot)
			s.word.letters--
		} else {
			s.word.reset(false)
		}
		*t = gap{before: t.before}
	}
	if st == sentence {
		s.words, s.lowercase = 1, c == lower
		s.word.reset(true)
	}
	if s.said && s.count >= s.from[st] {
		s.cut(s.pos, s.count)
	}
}

// symbol takes what neither says nor marks anything within a token.
func (s *scanner) symbol() {
	s.token = gap{before: symbol}
	s.word.reset(false)
}

// blank takes white space.
func (s *scanner) blank(c class) {
	if s.peek {
		s.decideByWord(false)
	}
	switch {
	case !s.open:
		s.openGap(true)
		s.gap.glued = true
	case s.gap.lead > 0 && s.leadGoesOn(c):
		s.gap.lead++
		s.blankStart()
		return
	case s.gap.lead > 0:
		s.absorb()
	}
	s.blankStart()
	g := &s.gap
	g.spaced = true
	g.glued = g.glued && c == glue
	if c == newline {
		if g.lines == 0 {
			g.line = s.line
		}
		s.line, s.quoted = -s.cluster.runes, false
		g.lines++
		if s.cluster.first == '\u2029' {
			g.lines++
		}
	}
	s.moveGap()
	g.hold = s.blankFrom
}

func (s *scanner) blankStart() {
	if s.blankFrom < 0 {
		s.blankFrom = s.pos
	}
}

// moveGap puts the gap behind the cluster under way.
func (s *scanner) moveGap() {
	s.gap.at = s.pos + s.cluster.size
	s.gap.count = s.count
	if s.said {
		s.gap.count += s.cluster.runes
	}
	s.gap.hold = s.gap.at
}

// openGap opens the gap behind the token, before the cluster under way.
func (s *scanner) openGap(spaced bool) {
	g := &s.gap
	*g = s.token
	g.at, g.count, g.hold = s.pos, s.count, s.pos
	g.spaced = spaced
	g.lowercase = s.lowercase
	if g.tail == dotTail {
		g.kind = s.word.abbrKind(s.words == 1, s.cue, g.closed)
	}
	if s.inToken {
		s.cue = s.word.whole && s.word.n <= maxCue && g.tail == noTail && cues[string(s.word.bytes())]
	}
	s.open, s.inToken = true, false
	s.token = gap{}
	s.word.reset(true)
}

// leadGoesOn reports whether white space in the lead belongs to it: behind an
// opening mark, behind a bullet, which stands first in its line, and behind the dash
// of a speech.
func (s *scanner) leadGoesOn(c class) bool {
	g := &s.gap
	dashed := g.leadTail == dashTail && g.tail.strongest() == sentence // — Да! — Нет!
	bullet := g.lines > 0 && (g.leadTail == noTail || g.leadTail == dashTail)
	return c != newline && g.lead < maxLead && (dashed || bullet || g.leadClass == opening)
}

// absorb gives the lead to what is before the gap: it turned out to stand alone.
func (s *scanner) absorb() {
	g := &s.gap
	switch {
	case g.leadTail == noTail && g.leadClass == closing:
		g.closed = true
	case g.leadTail == noTail:
	case g.leadTail == dashTail && g.tail.strongest() == sentence:
		g.dashed = true
	default:
		g.tail, g.closed, g.dashed, g.kind = g.leadTail, false, false, ordinary
	}
	g.lead, g.leadTail = 0, noTail
}

// mark takes anything else that has nothing to say.
func (s *scanner) mark(c class) {
	if s.peek {
		s.decideByWord(c == dot)
	}
	switch {
	case s.open:
		s.leadMark(c)
	case s.inToken:
		s.tokenMark(c)
	default: // the text begins with it
		s.openGap(false)
		s.leadMark(c)
	}
	s.blankFrom = -1
	if s.cluster.first == '"' {
		s.quoted = !s.quoted
	}
}

// leadMark takes a mark behind a gap. Too many of them go with the text before it.
func (s *scanner) leadMark(c class) {
	g := &s.gap
	g.lead++
	if g.lead > maxLead {
		s.moveGap()
		return
	}
	switch r := s.cluster.first; {
	case r == '-', r == '–':
		c = dash
	case c == quote && r >= utf8.RuneSelf:
		c = opening
	}
	g.leadClass = c
	if t, ok := g.leadTail.next(c); ok {
		g.leadTail = t
	}
}

// tokenMark takes a mark within a token.
func (s *scanner) tokenMark(c class) {
	t := &s.token
	if c == quote {
		c = s.quoteClass()
	}
	if t.closed && c == dot && t.tail == dotTail { // (e.g.).
		t.tail = noTail
		s.word.reset(false)
	}
	if mark, ok := t.tail.next(c); ok {
		t.tail, t.closed, t.bracket = mark, false, false
		return
	}
	switch {
	case t.tail == noTail:
		s.symbol()
	case c == opening:
		s.openGap(false)
		s.leadMark(c)
	case c == closing:
		t.closed = true
		t.bracket = s.cluster.first == '」' || s.cluster.first == '』'
	case c == decor:
	default:
		s.symbol()
	}
}

// quoteClass tells whether a quote behind a mark closes or opens. It closes, for what
// it would open needs white space before it, except behind marks that need none.
func (s *scanner) quoteClass() class {
	t := s.token.tail
	switch {
	case t != wideTail && t != wideCommaTail && t != dashTail:
		return closing
	case s.cluster.first == '"' && s.quoted, s.cluster.first == '\'':
		return closing
	}
	return opening
}

// decide closes the gap, as what follows is known.
func (s *scanner) decide(n nextWord) {
	st := s.gap.strength(n)
	if st == sentence {
		s.endSentence(s.peek)
	}
	if s.said && (s.gap.count >= s.from[st] || s.count >= s.from[hard] && !s.peek) {
		s.cut(s.gap.at, s.gap.count)
	}
	s.open, s.peek = false, false
}

// decideByWord closes the gap that waited for the word under way, which is complete
// or long enough. A full stop may follow it.
func (s *scanner) decideByWord(stop bool) {
	s.decide(nextWord{class: upper, word: &s.word, stop: stop})
}

// endSentence begins a sentence, whose first word may have been read to decide it.
func (s *scanner) endSentence(begun bool) {
	s.words, s.lowercase, s.cue = 0, false, false
	if begun {
		s.words = 1
	}
}

// cut ends the segment at an offset that count of its characters stand before.
func (s *scanner) cut(at, count int) {
	s.ends = append(s.ends, at)
	s.start = at
	s.count -= count
}
