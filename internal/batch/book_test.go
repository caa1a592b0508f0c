package batch

import (
	"slices"
	"strings"
	"testing"
)

// chapters are the titles and texts of a book.
func chapters(t *testing.T, form Form, s string) []string {
	t.Helper()
	var all []string
	for _, it := range read(t, form, s).Items {
		all = append(all, it.Title+": "+it.Text)
	}
	return all
}

func TestMarkdownChapters(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"a title and chapters", "# Book\n\nBy me.\n\n## One\n\nText.\n\n### Sub\n\nMore.\n\n## Two\n\nEnd.\n",
			[]string{"Book: Book\n\nBy me.", "One: One\n\nText.\n\nSub\n\nMore.", "Two: Two\n\nEnd."}},
		{"chapters of the first level", "Before.\n\n# One\nText\ngoes on.\n# Two\n\nEnd.", []string{"Opening: Before.", "One: One\n\nText goes on.", "Two: Two\n\nEnd."}},
		{"underlined", "One\n===\n\nText.\n\nTwo\n===\nEnd.", []string{"One: One\n\nText.", "Two: Two\n\nEnd."}},
		{"no heading", "Only *text*.", []string{"Opening: Only text."}},
		{"code is no heading", "# One\n```\n# two\n```\n# Three\n\nx", []string{"One: One\n\n# two", "Three: Three\n\nx"}},
		{"header and rule", "---\ntitle: x\n---\n# One\n\na\n\n* * *\n\nb\n", []string{"One: One\n\na\n\nb"}},
		{"lists and quotes", "# A\n\n- one\n- [x] two\n\n> three\n> four\n\n1. five\n2. six\n", []string{"A: A\n\none\n\ntwo\n\nthree four\n\n1. five\n\n2. six"}},
	} {
		if got := chapters(t, Markdown, c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestPlainInline(t *testing.T) {
	for in, want := range map[string]string{
		"a *b* **c** ***d*** _e_ __f__":                   "a b c d e f",
		"function_call_output and 2 * 3 * 4":              "function_call_output and 2 * 3 * 4",
		`\*not\* \_this\_`:                                "*not* _this_",
		"[link](http://x.y \"t\") ![pic](p.png) <b>x</b>": "link pic x",
		"[![pic](a.png)](b)":                              "pic",
		"`code_a` ~~gone~~ <https://x.y/z>":               "code_a gone https://x.y/z",
		"[see][1] [sic] a < b && c > d":                   "see [sic] a < b && c > d",
		"**bold *within* it**":                            "bold within it",
	} {
		if got := plainInline(in); got != want {
			t.Errorf("%q gives %q, want %q", in, got, want)
		}
	}
}

func TestTextChapters(t *testing.T) {
	for _, c := range []struct {
		name, in string
		want     []string
	}{
		{"english", "The Book\n\nCHAPTER I. The Sea\n\nText one.\nMore.\n\nChapter Two\n\nPart of the text.\n\nEpilogue\n\nEnd.\n",
			[]string{"Opening: The Book", "CHAPTER I. The Sea: CHAPTER I. The Sea\n\nText one.\nMore.", "Chapter Two: Chapter Two\n\nPart of the text.", "Epilogue: Epilogue\n\nEnd."}},
		{"german", "Kapitel 1\n\nA.\n\nKapitel 2: Das Meer\n\nB.", []string{"Kapitel 1: Kapitel 1\n\nA.", "Kapitel 2: Das Meer: Kapitel 2: Das Meer\n\nB."}},
		{"chinese", "第一章 海\n\n甲。\n\n第二章\n\n乙。", []string{"第一章 海: 第一章 海\n\n甲。", "第二章: 第二章\n\n乙。"}},
		{"numbers", "I.\n\nA.\n\nII.\n\nB.", []string{"I.: I.\n\nA.", "II.: II.\n\nB."}},
		{"prose", "Chapter 1 was long.\nIt went on.\n\nPart of it\n\nwas new.", []string{"Opening: Chapter 1 was long.\nIt went on.\n\nPart of it\n\nwas new."}},
	} {
		if got := chapters(t, Book, c.in); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// A chapter that is too long for one item becomes parts, and nothing is lost.
func TestLongChapter(t *testing.T) {
	paragraph := strings.Repeat("word ", 4000)
	in := read(t, Markdown, "# One\n\n"+strings.Repeat(paragraph+"\n\n", 12)+"# Two\n\nx")
	words := 0
	for _, it := range in.Items {
		if it.Problem != "" {
			t.Errorf("%s: %s", it.Name(), it.Problem)
		}
		words += strings.Count(it.Text, "word")
	}
	if words != 48000 || len(in.Items) != 4 || in.Items[1].Title != "One, part 2" {
		t.Errorf("%d words in %d items, the second %q", words, len(in.Items), in.Items[1].Title)
	}
}

// Books of many small pieces take time by their length, not by its square.
func TestBookOfPieces(t *testing.T) {
	in := read(t, Markdown, "# A\n\n# B\n\n"+strings.Repeat("### b\n\nc\n\n", 100_000))
	runes := 0
	for _, it := range in.Items {
		runes += len(it.Text)
	}
	if len(in.Items) < 7 || runes < 500_000 {
		t.Errorf("%d items of %d characters", len(in.Items), runes)
	}
}
