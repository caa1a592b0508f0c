package batch

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
)

// summary is an input in one line an item.
func (in *Input) summary() string {
	var b strings.Builder
	for _, it := range in.Items {
		fmt.Fprintf(&b, "%d", it.Line)
		if it.ID != "" {
			fmt.Fprintf(&b, " #%s", it.ID)
		}
		if it.Title != "" {
			fmt.Fprintf(&b, " <%s>", it.Title)
		}
		if it.Problem != "" {
			fmt.Fprintf(&b, " !%s", it.Problem)
		} else {
			fmt.Fprintf(&b, " %q", it.Text)
		}
		for _, s := range []string{it.Voice, it.Language, it.Instructions} {
			if s != "" {
				fmt.Fprintf(&b, " %s", s)
			}
		}
		if it.Seed != nil {
			fmt.Fprintf(&b, " seed %d", *it.Seed)
		}
		b.WriteByte('\n')
	}
	for _, w := range in.Warnings {
		fmt.Fprintf(&b, "warning: %s\n", w)
	}
	return b.String()
}

func TestRead(t *testing.T) {
	for _, c := range []struct {
		name  string
		form  Form
		in    string
		want  string // summary
		blank int
	}{
		{"lines", Text, "One.\nTwo.\n", "1 \"One.\"\n2 \"Two.\"\n", 0},
		{"no line break at the end", Text, "One.\nTwo.", "1 \"One.\"\n2 \"Two.\"\n", 0},
		{"mark, CRLF, blank lines, white space", Text, "\uFEFFOne.\r\n\r\n  Two.\t\r\n \r\n", "1 \"One.\"\n3 \"Two.\"\n", 2},
		{"CR alone", Text, "One.\rTwo.\r", "1 \"One.\"\n2 \"Two.\"\n", 0},
		{"nothing to say", Text, "One.\n***\n9\n", "1 \"One.\"\n2 !input: \"***\" has no letter and no number, nothing to say\n3 \"9\"\n", 0},
		{"not UTF-8", Text, "One.\na\xffb\n", "1 \"One.\"\n2 !input: byte 1: 0xff is not UTF-8\n", 0},
		{"csv", CSV, "id,text,voice,seed\na,\"One, \"\"two\"\".\nThree.\",lark,7\nb,Four.,,\n",
			"2 #a \"One, \\\"two\\\".\\nThree.\" lark seed 7\n4 #b \"Four.\"\n", 0},
		{"csv with semicolons", CSV, "id;Text\na;One, two.\n\n;Three.\n", "2 #a \"One, two.\"\n4 \"Three.\"\n", 0},
		{"csv of another width", CSV, "id,text\na,b,c\nd\ne,f\n", "2 #a !3 columns, the header has 2\n3 #d !1 columns, the header has 2\n4 #e \"f\"\n", 0},
		{"csv with other columns", CSV, "text,notes\nOne.,x\n", "2 \"One.\"\nwarning: line 1: the column \"notes\" is not known and not used\n", 0},
		{"csv of blanks", CSV, "text,id\n,\nOne.,\n", "3 \"One.\"\n", 1},
		{"bad values", CSV, "text,seed,top_p,speed\nA,x,,\nB,-2,,\nC,,much,\nD,,,9\nE,-1,1,1\n",
			"2 !seed: \"x\", allowed are whole numbers from 0, or -1 for that of the job\n3 !seed: \"-2\", allowed are whole numbers from 0, or -1 for that of the job\n4 !top_p: \"much\", wanted a number\n5 !speed: \"9\", allowed are 0.25 to 4\n6 \"E\" seed -1\n", 0},
		{"tsv", TSV, "id\tinput\na\t\"Hello\", she said.\n", "2 #a \"\\\"Hello\\\", she said.\"\n", 0},
		{"jsonl", JSONL, "{\"id\":\"a\",\"input\":\"One.\",\"voice\":{\"id\":\"lark\"},\"seed\":7}\n\n{\"id\":12,\"input\":\"Two.\",\"language\":null}\n",
			"1 #a \"One.\" lark seed 7\n3 #12 \"Two.\"\n", 1},
		{"bad jsonl", JSONL, "{\"input\":\"One.\"\nx\n[1]\n{\"id\":\"q\"}\n{\"input\":7}\n{\"input\":\"a\",\"input\":\"b\"}\n{\"input\":\"a\"} {}\n{\"input\":\"a\",\"ref_audio\":\"x\"}\n{\"input\":\"a\",\"seed\":\"7\"}\n{\"input\":\"ok\",\"sede\":1}\n",
			"1 !no valid JSON: it ends at byte 15\n2 !no valid JSON at byte 1: invalid character 'x' looking for beginning of value\n3 !\"[1]\"… is no JSON object\n4 #q !input: it is missing\n5 !input: 7, wanted a text\n6 !input: it is there twice\n7 !\"{}\" behind the object\n8 !ref_audio: it is not taken here, there is --reference\n9 !seed: \"7\", wanted a number\n10 \"ok\"\nwarning: line 10: the field \"sede\" is not known and not used\n", 0},
		{"ids twice", JSONL, "{\"id\":\"a\",\"input\":\"One.\"}\n{\"id\":\"a\",\"input\":\"Two.\"}\n{\"id\":\"A\",\"input\":\"Three.\"}\n",
			"1 #a \"One.\"\n2 #a !the id stands on line 1 already\n3 #A \"Three.\"\n", 0},
	} {
		in, err := Read(strings.NewReader(c.in), c.form)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		if got := in.summary(); got != c.want || in.Blank != c.blank {
			t.Errorf("%s: %d blank,\n%swant %d,\n%s", c.name, in.Blank, got, c.blank, c.want)
		}
	}
}

func TestReadRefuses(t *testing.T) {
	for _, c := range []struct {
		form     Form
		in, want string
	}{
		{Text, "", "there is no item in it"},
		{Text, "\uFEFF\r\n \n", "there is no item in it"},
		{Text, "\xff\xfeO\x00", "is UTF-16 (or UTF-32), wanted UTF-8"},
		{Text, "\xfe\xff\x00O", "is UTF-16 (or UTF-32), wanted UTF-8"},
		{CSV, "a\nb\x00c\n", "line 2 has a zero byte: it is UTF-16 without a mark, or no text; wanted UTF-8"},
		{CSV, "", "it is empty, wanted a header with a column input"},
		{CSV, "id,voice\na,b\n", "line 1: no column input (or text); there is id, voice"},
		{CSV, "input,text\na,b\n", "line 1: two columns for input"},
		{CSV, "text,ref_audio\na,b\n", "line 1: the column \"ref_audio\" is not taken here, there is --reference"},
		{CSV, "text\nok\n\"open\nand more\n", "line 3: extraneous or missing \" in quoted-field"},
		{"xml", "a", "form \"xml\", allowed are txt, csv, tsv, jsonl, book and md"},
	} {
		_, err := Read(strings.NewReader(c.in), c.form)
		if err == nil || err.Error() != c.want {
			t.Errorf("%s %q: %v, want %s", c.form, c.in, err, c.want)
		}
	}
}

func TestMegabyteLine(t *testing.T) {
	in := read(t, Text, "One.\n"+strings.Repeat("word ", 200_000)+"\nTwo.\n")
	if in.Items[1].Problem == "" || !strings.Contains(in.Items[1].Problem, "100000") || in.Items[2].Problem != "" {
		t.Errorf("%.300s", in.summary())
	}
}

func FuzzRead(f *testing.F) {
	for _, s := range []string{"One.\n\nTwo.", "id,text\na,b\n", "{\"input\":\"x\"}\n", "# A\n\ntext\n\n## B\n", "Chapter 1\n\nx\n\nII.\n\ny", "text;id\n1;2", "\xff\xfe", "a\x00"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		for _, form := range []Form{Text, CSV, TSV, JSONL, Book, Markdown} {
			in, err := Read(strings.NewReader(s), form)
			if err != nil {
				continue
			}
			for i, it := range in.Items {
				if it.Index != i+1 || it.Problem == "" && (it.Text == "" || !utf8.ValidString(it.Text)) {
					t.Fatalf("%s: item %+v", form, it)
				}
			}
			if form == Text {
				data, _ := readAll(strings.NewReader(s))
				n := 0
				lines(data, func(int, string) { n++ })
				if n != len(in.Items)+in.Blank {
					t.Fatalf("%d lines, %d items and %d blank", n, len(in.Items), in.Blank)
				}
			}
		}
	})
}
