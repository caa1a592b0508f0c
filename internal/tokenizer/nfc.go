package tokenizer

import (
	"slices"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Normalisation to NFC. The tables are those of x/text, the walk is ours: x/text
// follows the "stream-safe" variant, which puts U+034F into runs of more than 30
// combining marks, and the reference does not.
//
// A text is a row of segments: a segment begins with a character that never joins
// with what is before it. Segments are normalised each on its own.

// nfc returns s, which must be valid UTF-8, in normalisation form C.
func nfc(s string) string {
	if norm.NFC.IsNormalString(s) {
		return s
	}
	out := make([]byte, 0, len(s)+len(s)/4)
	for len(s) > 0 {
		n := segment(s)
		out = appendNFC(out, s[:n])
		s = s[n:]
	}
	return string(out)
}

// segment returns the length of the first segment of s.
func segment(s string) int {
	_, n := utf8.DecodeRuneInString(s)
	for n < len(s) {
		if s[n] < utf8.RuneSelf {
			return n
		}
		p := norm.NFC.PropertiesString(s[n:])
		if p.BoundaryBefore() {
			return n
		}
		n += p.Size()
	}
	return n
}

// mark is a character with its canonical combining class; 0 is a starter.
type mark struct {
	r   rune
	ccc uint8
}

// appendNFC appends the normal form of one segment: decompose, order the marks,
// compose.
func appendNFC(dst []byte, seg string) []byte {
	if norm.NFC.IsNormalString(seg) {
		return append(dst, seg...)
	}
	marks := make([]mark, 0, 32)
	for len(seg) > 0 {
		p := norm.NFC.PropertiesString(seg)
		if d := p.Decomposition(); d != nil {
			for len(d) > 0 {
				r, n := utf8.DecodeRune(d)
				marks = append(marks, mark{r, norm.NFC.Properties(d).CCC()})
				d = d[n:]
			}
		} else { // Hangul syllables stay whole: taking them apart and joining them again changes nothing
			r, _ := utf8.DecodeRuneInString(seg)
			marks = append(marks, mark{r, p.CCC()})
		}
		seg = seg[p.Size():]
	}
	for i := 0; i < len(marks); {
		j := i
		for j < len(marks) && marks[j].ccc != 0 {
			j++
		}
		slices.SortStableFunc(marks[i:j], func(a, b mark) int { return int(a.ccc) - int(b.ccc) })
		i = j + 1
	}
	for _, m := range compose(marks) {
		dst = utf8.AppendRune(dst, m.r)
	}
	return dst
}

// compose joins, in place, each mark with the starter before it where the pair
// has a composite and no mark between them blocks it.
func compose(marks []mark) []mark {
	starter := -1
	var class uint8 // of the last mark kept after the starter; 0 if none was
	out := marks[:0]
	for _, m := range marks {
		if starter >= 0 && (class < m.ccc || class == 0) {
			if r, ok := composite(out[starter].r, m.r); ok {
				out[starter].r = r
				continue
			}
		}
		if m.ccc == 0 {
			starter = len(out)
		}
		class = m.ccc
		out = append(out, m)
	}
	return out
}

// composite returns the character that a starter and a mark join into. The marks
// already joined into a have classes not above that of b, so that the normal form
// of the two characters is the composite itself if there is one.
func composite(a, b rune) (rune, bool) {
	var pair, joined [4 * utf8.UTFMax]byte
	in := utf8.AppendRune(utf8.AppendRune(pair[:0], a), b)
	out := norm.NFC.Append(joined[:0], in...)
	r, n := utf8.DecodeRune(out)
	return r, n == len(out)
}
