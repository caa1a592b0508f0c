// Package text looks at text of users before anything is made of it: whether it is
// well-formed and within a limit, whether there is anything in it to say, and where
// to cut it into segments. It never shortens or changes text, but for a byte order
// mark at its start.
//
// # Segments
//
// Split cuts a whole text, a Segmenter one that arrives in pieces. Both ask the same
// scanner, which reads forward one character at a time, so that they agree however
// the text is cut. A segment ends at the first sentence end, clause mark, white space
// or grapheme cluster behind as many characters as Limits has for each; it is never
// ended later for a better place, since its beginning may have been spoken already.
// What has nothing to say (white space, "***", pictures) goes with the segment before
// it, if there is one; brackets, quotes, bullets and the dash of a speech that stand
// before a word go with that.
//
// A sentence ends
//   - behind . ! ? … and the closing quotes and brackets after them, with white space
//     behind; a full stop or … before a small letter ends a clause, unless the
//     sentence itself began with a small letter ("hello there. how are you?")
//   - behind 。！？； and the marks of other scripts (؟ ۔ । ։ ...), white space or not
//   - at a blank line, and at the end of a line of less than 50 characters unless a
//     small letter follows or a comma or abbreviation stands before
//
// and not behind abbreviations, initials, list numbers and German ordinals, nor within
// numbers, addresses and names of files, which have no white space behind the mark.
// All languages count at once, for nothing says which one a text is in.
//
// Some cases cannot be decided by a few characters. Where a full stop may be both,
// the sentence goes on: a pause that is missing does less harm than one in "Dr. Blue",
// and the clause limit bounds it. So "I met the Dr. She left." is one sentence, as is
// "It was Plan B. Paul left."; "In the U.S. The dollar" is two, as The begins
// sentences; "Platz 3. Danach" is two, but "der 3. Weg" one, as der stands before it.
// A sentence that begins with a number of up to three digits and a full stop begins a
// list item: "How many? 5. Good." ends behind "How many?" only.
package text

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limit is the most characters (Unicode code points) that a text may have. Name is
// how the user knows the limit: the field, flag or setting that is to blame.
type Limit struct {
	Name string
	Max  int
}

// InputError says why a text is refused. Its message is fit for the user.
type InputError struct {
	Offset  int // byte of the text, or -1 if the whole is meant
	Problem string
}

func (e *InputError) Error() string {
	if e.Offset < 0 {
		return "text: " + e.Problem
	}
	return fmt.Sprintf("text: byte %d: %s", e.Offset, e.Problem)
}

const byteOrderMark = "\uFEFF"

// Clean checks a text of a user: UTF-8, no NUL, and no more characters than limit
// allows. It returns the text without a byte order mark at its start, or an
// *InputError. Offsets count from the start of s, mark included.
func Clean(s string, limit Limit) (string, error) {
	clean := strings.TrimPrefix(s, byteOrderMark)
	mark := len(s) - len(clean)
	count := 0
	for i, r := range clean {
		switch {
		case r == 0:
			return "", &InputError{mark + i, "a NUL character"}
		case r == utf8.RuneError && !strings.HasPrefix(clean[i:], "\uFFFD"):
			problem := notUTF8(clean[i])
			if strings.HasPrefix(s, "\xff\xfe") || strings.HasPrefix(s, "\xfe\xff") {
				problem = "this is UTF-16, wanted UTF-8"
			}
			return "", &InputError{mark + i, problem}
		}
		count++
	}
	if count > limit.Max {
		return "", &InputError{-1, fmt.Sprintf("%d characters, %s allows %d", count, limit.Name, limit.Max)}
	}
	return clean, nil
}

// Speakable reports whether s holds anything to say: at least one letter or number
// of any script (Unicode categories L and N) that is seen.
func Speakable(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool {
		return (unicode.IsLetter(r) || unicode.IsNumber(r)) && !unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r)
	})
}
