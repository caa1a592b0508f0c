package batch

import (
	"fmt"
	"regexp"
	"strings"
)

// The block structure of Markdown, as far as a reader aloud needs it.
var (
	mdHeading    = regexp.MustCompile(`^ {0,3}(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	mdFence      = regexp.MustCompile("^ {0,3}(```+|~~~+)")
	mdUnderline  = regexp.MustCompile(`^ {0,3}(=+|-+)[ \t]*$`)
	mdRule       = regexp.MustCompile(`^ {0,3}(?:(?:\*[ \t]*){3,}|(?:-[ \t]*){3,}|(?:_[ \t]*){3,})$`)
	mdBullet     = regexp.MustCompile(`^\s*[-*+][ \t]+(?:\[[ xX]\][ \t]+)?`)
	mdNumber     = regexp.MustCompile(`^\s*[0-9]{1,9}[.)][ \t]+`)
	mdQuote      = regexp.MustCompile(`^ {0,3}(?:>[ \t]?)+`)
	mdDefinition = regexp.MustCompile(`^ {0,3}\[[^\]]+\]:\s+\S+.*$`)
	mdComment    = regexp.MustCompile(`(?s)<!--.*?-->`)
)

// markdown is a Markdown file being cut into sections.
type markdown struct {
	sections  []section
	paragraph []string
	line      int    // of the paragraph's beginning
	fence     string // what closes the code block; "" outside
	dropped   map[string]int
}

// readMarkdown cuts a Markdown file at its headings and takes the markup out of the text.
// What is not spoken is counted in warnings.
func (in *Input) readMarkdown(data []byte) []section {
	m := &markdown{sections: []section{{line: 1}}, dropped: map[string]int{}}
	source := mdComment.ReplaceAllStringFunc(string(data), func(comment string) string {
		m.dropped["comment"]++
		return strings.Repeat("\n", strings.Count(comment, "\n")) // lines keep their numbers
	})
	all := strings.Split(source, "\n")
	from := frontMatter(all)
	if from > 0 {
		in.Warnings = append(in.Warnings, fmt.Sprintf("lines 1 to %d are the file's header and not spoken", from))
	}
	for i := from; i < len(all); i++ {
		m.add(i+1, all[i])
	}
	m.flush()
	for _, what := range []string{"comment", "link definition"} {
		if n := m.dropped[what]; n > 0 {
			in.Warnings = append(in.Warnings, fmt.Sprintf("%d of the kind %q are not spoken", n, what))
		}
	}
	return m.sections
}

// frontMatter is the number of lines of a YAML header, 0 if there is none.
func frontMatter(all []string) int {
	if len(all) == 0 || strings.TrimRight(all[0], " \t") != "---" {
		return 0
	}
	for i := 1; i < len(all); i++ {
		if line := strings.TrimRight(all[i], " \t"); line == "---" || line == "..." {
			return i + 1
		}
	}
	return 0
}

// add takes a line.
func (m *markdown) add(n int, line string) {
	if m.fence != "" {
		if strings.HasPrefix(strings.TrimSpace(line), m.fence) {
			m.fence = ""
			m.flush()
			return
		}
		m.push(n, line)
		return
	}
	if fence := mdFence.FindStringSubmatch(line); fence != nil {
		m.flush()
		m.fence = fence[1]
		return
	}
	heading := mdHeading.FindStringSubmatch(line)
	underline := mdUnderline.FindStringSubmatch(line)
	switch {
	case strings.TrimSpace(line) == "":
		m.flush()
	case heading != nil:
		m.flush()
		m.begin(n, len(heading[1]), heading[2])
	case underline != nil && len(m.paragraph) > 0:
		title, level := strings.Join(m.paragraph, " "), 1
		if underline[1][0] == '-' {
			level = 2
		}
		m.paragraph = nil
		m.begin(m.line, level, title)
	case mdRule.MatchString(line):
		m.flush()
	case mdDefinition.MatchString(line) && len(m.paragraph) == 0:
		m.dropped["link definition"]++
	default:
		m.pushText(n, line)
	}
}

// pushText takes a line of text without what marks lists and quotes. Items of lists are
// paragraphs: a pause belongs between them.
func (m *markdown) pushText(n int, line string) {
	if quote := mdQuote.FindString(line); quote != "" {
		line = line[len(quote):]
		if strings.TrimSpace(line) == "" {
			m.flush()
			return
		}
	}
	if bullet := mdBullet.FindString(line); bullet != "" {
		m.flush()
		line = line[len(bullet):]
	} else if mdNumber.MatchString(line) {
		m.flush()
	}
	hard := strings.HasSuffix(line, "  ") || strings.HasSuffix(line, `\`)
	m.push(n, strings.TrimSuffix(strings.TrimSpace(line), `\`))
	if hard {
		m.flush()
	}
}

func (m *markdown) push(n int, line string) {
	if len(m.paragraph) == 0 {
		m.line = n
	}
	m.paragraph = append(m.paragraph, strings.TrimSpace(line))
}

// flush ends the paragraph. Its line breaks are those of an editor, not the author's.
func (m *markdown) flush() {
	if s := plainInline(strings.Join(m.paragraph, " ")); s != "" {
		last := &m.sections[len(m.sections)-1]
		last.paragraphs = append(last.paragraphs, s)
	}
	m.paragraph = nil
}

// begin begins a section.
func (m *markdown) begin(line, level int, title string) {
	title = plainInline(title)
	if title == "" {
		return
	}
	m.sections = append(m.sections, section{line: line, level: level, title: title})
}

// Markup within a paragraph.
var (
	mdEscape    = regexp.MustCompile("\\\\[!-/:-@\\[-`{-~]")
	mdLink      = regexp.MustCompile(`!?\[([^\[\]]*)\](?:\([^()]*(?:\([^()]*\)[^()]*)*\)|\[[^\[\]]*\])`)
	mdAutolink  = regexp.MustCompile(`<((?:https?|mailto):[^<>\s]+)>`)
	mdTag       = regexp.MustCompile(`</?[A-Za-z][A-Za-z0-9]*(?:\s[^<>]*)?/?>`)
	mdCode      = regexp.MustCompile("`+([^`]+)`+")
	mdStars     = regexp.MustCompile(`\*{1,3}([^\s*](?:[^*]*[^\s*])?)\*{1,3}`)
	mdStrike    = regexp.MustCompile(`~~([^\s~](?:[^~]*[^\s~])?)~~`)
	mdUnderbars = regexp.MustCompile(`(^|[^\pL\pN_])_{1,3}([^\s_](?:(?:[^_]|[\pL\pN]_+[\pL\pN])*[^\s_])?)_{1,3}($|[^\pL\pN_])`)
)

// escaped marks an escaped character while markup is taken out; it is of a private plane.
const escaped = 0xF0000

// plainInline takes the markup out of a paragraph and keeps its words: emphasis, links,
// pictures (their description), code, tags. Underscores within words stay.
func plainInline(s string) string {
	if !strings.ContainsAny(s, "\\[<`*~_") {
		return strings.TrimSpace(s)
	}
	s = mdEscape.ReplaceAllStringFunc(s, func(e string) string { return string(escaped + rune(e[1])) })
	s = mdAutolink.ReplaceAllString(s, "$1")
	for range 2 { // a picture may be a link
		s = mdLink.ReplaceAllString(s, "$1")
	}
	s = mdTag.ReplaceAllString(s, "")
	s = mdCode.ReplaceAllString(s, "$1")
	for range 2 { // one kind within another
		s = mdStars.ReplaceAllString(s, "$1")
		s = mdStrike.ReplaceAllString(s, "$1")
		s = mdUnderbars.ReplaceAllString(s, "$1$2$3")
	}
	s = strings.Map(func(r rune) rune {
		if r > escaped && r < escaped+128 {
			return r - escaped
		}
		return r
	}, s)
	return strings.TrimSpace(s)
}
