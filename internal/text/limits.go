package text

import "math"

// DefaultSentence is the default soft limit of a segment in characters (Unicode code
// points): some 20 seconds of speech. Much longer runs drift in tempo and timbre,
// much shorter ones lose the melody of the text around them.
const DefaultSentence = 300

// The look-ahead is bounded by these constants, so that the work for a character is,
// and so that a segment may be spoken before the text behind it is there.
const (
	// maxCluster is the most code points of a grapheme cluster. Real ones have up to a
	// dozen; what is longer (a letter under a hundred accents) may be cut.
	maxCluster = 32
	// maxLead is the most grapheme clusters without a letter or number (brackets,
	// quotes, a bullet) that a segment takes along before its first word.
	maxLead = 16
	// maxPeek is the most letters of a word that are read before the full stop in
	// front of it is decided: one more than the longest of the words known.
	maxPeek = 6
	// maxWord is the most bytes of a word that are kept to look it up.
	maxWord = 24
	// maxCue is the most bytes of the words of cues.
	maxCue = 4
	// wrapLine is the length in characters from which a line that ends without a mark
	// is taken for one that was wrapped, not for a heading, an item or a verse.
	wrapLine = 50
)

// Limits says how long a segment may become, in characters (Unicode code points).
// A segment ends at the first place of a kind behind that many characters:
// a sentence end, a clause mark, white space, and at last any grapheme cluster.
// A value of 0 or less sets no limit of its kind; the zero Limits never cut.
type Limits struct{ Sentence, Clause, Word, Hard int }

// DefaultLimits returns LimitsFor(DefaultSentence).
func DefaultLimits() Limits { return LimitsFor(DefaultSentence) }

// LimitsFor returns the limits for a soft limit: clauses from 1.5 times as many
// characters, white space from 2 times, anything from 2.5 times. A soft limit of 0
// or less means no limits.
func LimitsFor(sentence int) Limits {
	if sentence <= 0 {
		return Limits{}
	}
	if sentence > math.MaxInt/5 {
		return Limits{Sentence: sentence}
	}
	return Limits{sentence, (3*sentence + 1) / 2, 2 * sentence, (5*sentence + 1) / 2}
}

// SentenceLimits returns the limits that end a segment at each sentence end. A
// sentence of more than the default limits is cut as those would.
func SentenceLimits() Limits {
	l := DefaultLimits()
	l.Sentence = 1
	return l
}

// byStrength returns the count of characters from which a gap of each strength ends
// the segment. A sentence end is also a place to cut a clause, a word and a cluster.
func (l Limits) byStrength() (from [sentence + 1]int) {
	for i, most := range [...]int{l.Hard, l.Word, l.Clause, l.Sentence} {
		if most <= 0 {
			most = math.MaxInt
		}
		if from[i] = most; i > 0 {
			from[i] = min(most, from[i-1])
		}
	}
	return from
}
