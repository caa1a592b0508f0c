package batch

import (
	"fmt"
	"regexp"
	"strings"
	"unicode/utf8"

	"github.com/mynah-tts/mynah/internal/text"
	"github.com/mynah-tts/mynah/synth"
)

// section is a heading of a book and the text below it.
type section struct {
	line       int
	level      int    // of the heading, from 1; 0 for what stands before the first
	title      string // "" for what stands before the first
	paragraphs []string
}

// speakable reports whether there is anything to say in a section.
func (s *section) speakable() bool { return text.Speakable(s.title + strings.Join(s.paragraphs, " ")) }

// opening is the title of what stands before the first heading. It is not spoken.
const opening = "Opening"

// readBook cuts a book into chapters. In Markdown the chapters begin at the headings of
// the highest level that occurs more than once, or of the highest if none does; headings
// below it are paragraphs of their chapter, and one above it, such as the book's title,
// begins a chapter of its own. In a text file a chapter begins at a heading of its own.
// A chapter that is longer than one item may be is cut between paragraphs.
func (in *Input) readBook(data []byte, form Form) error {
	var sections []section
	if form == Markdown {
		sections = in.readMarkdown(data)
	} else {
		sections = readChapters(data)
	}
	level := chapterLevel(sections)
	var texts [][]string // of each chapter
	for i := range sections {
		s := &sections[i]
		if s.level > level && len(in.Items) > 0 {
			texts[len(texts)-1] = append(texts[len(texts)-1], s.text())
			continue
		}
		if !s.speakable() {
			continue // white space and rules
		}
		title := s.title
		if title == "" {
			title = opening
		}
		in.Items = append(in.Items, Item{Line: s.line, Title: title})
		texts = append(texts, []string{s.text()})
	}
	for i := range in.Items {
		in.Items[i].Text = strings.Join(texts[i], "\n\n")
	}
	in.cutChapters()
	return nil
}

// text is what is spoken of a section: the heading, then what is below it.
func (s *section) text() string {
	parts := s.paragraphs
	if s.title != "" {
		parts = append([]string{s.title}, parts...)
	}
	return strings.Join(parts, "\n\n")
}

// chapterLevel is the level of headings at which chapters begin.
func chapterLevel(sections []section) int {
	count := map[int]int{}
	highest := 0
	for i := range sections {
		l := sections[i].level
		count[l]++
		if l > 0 && (highest == 0 || l < highest) {
			highest = l
		}
	}
	for l := highest; l > 0 && l <= maxHeading; l++ {
		if count[l] > 1 {
			return l
		}
	}
	return highest
}

// maxHeading is the lowest level of headings.
const maxHeading = 6

// cutChapters cuts chapters that are longer than an item may be.
func (in *Input) cutChapters() {
	var all []Item
	for _, it := range in.Items {
		parts := cutText(it.Text, synth.MaxTextRunes)
		for i, part := range parts {
			each := it
			each.Text = part
			if len(parts) > 1 {
				each.Title = fmt.Sprintf("%s, part %d", it.Title, i+1)
			}
			all = append(all, each)
		}
	}
	in.Items = all
}

// cutText cuts a text between paragraphs into parts of at most so many characters. A
// paragraph that is longer stays whole: it is refused later, by name.
func cutText(s string, most int) []string {
	if utf8.RuneCountInString(s) <= most {
		return []string{s}
	}
	const between = "\n\n"
	var parts, part []string
	size := 0 // of part, in characters
	for _, paragraph := range strings.Split(s, between) {
		n := utf8.RuneCountInString(paragraph) + len(between)
		if len(part) > 0 && size+n > most {
			parts = append(parts, strings.Join(part, between))
			part, size = nil, 0
		}
		part = append(part, paragraph)
		size += n
	}
	return append(parts, strings.Join(part, between))
}

// chapterHeading matches the heading of a chapter in a text file: "Chapter 3", "PART TWO.
// The Sea", "IV.", "Epilogue", "第三章 海". The line stands alone between blank lines.
var chapterHeading = regexp.MustCompile(`^(?:` +
	`(?i:(?:chapter|part|book|act|kapitel|teil|buch|chapitre|partie|livre|cap[ií]tulo|capitolo|parte|libro|hoofdstuk|deel|глава|часть|книга)\s+` +
	`(?:[0-9]+|[ivxlcdm]+|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen|` +
	`twenty(?:[- ](?:one|two|three|four|five|six|seven|eight|nine))?|thirty(?:[- ]\w+)?|the\s+\w+)(?:[\s.:,–—-].*)?)` +
	`|(?i:prologue|epilogue|preface|foreword|introduction|afterword|prolog|epilog|vorwort|einleitung|nachwort|avant-propos|prefacio|pr[oó]logo|ep[ií]logo|prologo)\.?` +
	`|[IVXLC]{1,7}\.?` +
	`|第\s*[0-9〇零一二三四五六七八九十百千两]+\s*[章回節节卷部].*` +
	`)$`)

// maxHeadingRunes bounds a heading in a text file: longer lines are prose.
const maxHeadingRunes = 80

// readChapters cuts a text file.
func readChapters(data []byte) []section {
	sections := []section{{line: 1}}
	all := strings.Split(string(data), "\n")
	blank := func(i int) bool { return i < 0 || i >= len(all) || strings.TrimSpace(all[i]) == "" }
	var paragraph []string
	flush := func() {
		if len(paragraph) > 0 {
			last := &sections[len(sections)-1]
			last.paragraphs = append(last.paragraphs, strings.Join(paragraph, "\n"))
			paragraph = nil
		}
	}
	for i, raw := range all {
		line := strings.TrimSpace(raw)
		switch {
		case line == "":
			flush()
		case blank(i-1) && blank(i+1) && utf8.RuneCountInString(line) <= maxHeadingRunes && chapterHeading.MatchString(line):
			sections = append(sections, section{line: i + 1, level: 1, title: line})
		default:
			paragraph = append(paragraph, line)
		}
	}
	flush()
	return sections
}
