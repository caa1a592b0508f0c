package batch

import (
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"
)

// Captions are the forms of captions.
type Captions string

// The forms, by the extensions of their files.
const (
	NoCaptions Captions = ""
	SRT        Captions = "srt"
	VTT        Captions = "vtt" // WebVTT
)

// captionWidth is where lines of a caption are broken, in characters.
const captionWidth = 42

// captions returns the file of captions for the segments of a file.
func (c Captions) content(spans []Span) []byte {
	var b strings.Builder
	if c == VTT {
		b.WriteString("WEBVTT\n\n")
	}
	for i, s := range spans {
		separator := byte(',')
		if c == VTT {
			separator = '.'
		}
		fmt.Fprintf(&b, "%d\n%s --> %s\n%s\n\n", i+1, stamp(s.Start, separator), stamp(s.End, separator), c.lines(s.Text))
	}
	return []byte(b.String())
}

// stamp writes a time to the nearest millisecond.
func stamp(seconds float64, separator byte) string {
	ms := int64(math.Round(seconds * 1000))
	d := time.Duration(ms) * time.Millisecond
	return fmt.Sprintf("%02d:%02d:%02d%c%03d", int(d.Hours()), int(d.Minutes())%60, int(d.Seconds())%60, separator, ms%1000)
}

// lines breaks a caption's text, at white space if there is any in reach. In WebVTT &, < and
// > would be markup; in SRT an arrow could be taken for a time.
func (c Captions) lines(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	var out []string
	line := ""
	for _, word := range strings.Split(text, " ") {
		if line != "" && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > captionWidth {
			out = append(out, line)
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += word
	}
	text = strings.Join(append(out, line), "\n")
	if c == VTT {
		return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;").Replace(text)
	}
	return strings.ReplaceAll(text, "-->", "->")
}
