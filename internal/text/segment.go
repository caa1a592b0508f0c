package text

import "unicode/utf8"

// Split cuts a text into segments, to be spoken one after the other. The segments,
// joined, are the text byte for byte, white space included, and each has something
// to say (see Speakable). A text with nothing to say has no segments.
//
// A segment ends as soon as it holds as many characters as the limits ask for and a
// place of that kind comes: nothing behind that place is looked at but the next few
// characters. What a sentence end is, see the comment of the package.
func Split(s string, l Limits) []string {
	sc := newScanner(l, 0)
	for i := 0; i < len(s); {
		r, n := rune(s[i]), 1
		if r >= utf8.RuneSelf {
			r, n = utf8.DecodeRuneInString(s[i:])
		}
		sc.add(r, n)
		i += n
	}
	sc.finish()
	segments := make([]string, len(sc.ends))
	at := 0
	for i, end := range sc.ends {
		segments[i] = s[at:end]
		at = end
	}
	return segments
}

// Sentences is Split by SentenceLimits: one segment for each sentence.
func Sentences(s string) []string { return Split(s, SentenceLimits()) }
