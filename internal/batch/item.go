package batch

import (
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"strings"

	"github.com/mynah-tts/mynah/internal/text"
	"github.com/mynah-tts/mynah/synth"
)

// Item is a text that shall become a file. Settings that are not given are empty or nil
// and come from the job.
type Item struct {
	Index int    // from 1, in the order of the input
	Line  int    // of the input file, from 1
	ID    string // as given; "" if it has none
	Title string // of a chapter
	Text  string

	Voice, Language, Instructions, Layout string

	Seed      *int64 // nil takes one from the job's seed
	MaxFrames int
	Speed     float64
	Sampling  synth.Sampling

	// Problem says why the item cannot be spoken, "" if nothing is known to be wrong.
	Problem string
}

// Input is what was read.
type Input struct {
	Items    []Item
	Blank    int      // lines without anything, which are no items
	Warnings []string // of what was read but is not used
	Book     string   // the name of a book's joined file without extension; "" if it is no book
}

// Name tells a user which item is meant.
func (it *Item) Name() string { return itemName(it.Index, it.Line, it.ID, it.Title) }

func itemName(index, line int, id, title string) string {
	where := ""
	if line > 0 {
		where = fmt.Sprintf(", line %d", line)
	}
	switch {
	case title != "":
		return fmt.Sprintf("chapter %d (%.60q%s)", index, title, where)
	case id != "":
		return fmt.Sprintf("item %.60q%s", id, where)
	}
	return fmt.Sprintf("item %d%s", index, where)
}

// check fills in Problem where the text cannot be spoken by any model, and where two items
// have one id, and cleans the texts.
func (in *Input) check() {
	lines := map[string]int{}
	for i := range in.Items {
		it := &in.Items[i]
		it.Index = i + 1
		if it.ID != "" {
			if first, taken := lines[it.ID]; taken && it.Problem == "" {
				it.Problem = fmt.Sprintf("the id stands on line %d already", first)
			} else if !taken {
				lines[it.ID] = it.Line
			}
		}
		if it.Problem == "" {
			it.Problem = it.checkText()
		}
	}
}

func (it *Item) checkText() string {
	clean, err := text.Clean(it.Text, text.Limit{Name: "one item", Max: synth.MaxTextRunes})
	if err != nil {
		return "input: " + strings.TrimPrefix(err.Error(), "text: ")
	}
	it.Text = clean
	switch {
	case clean == "":
		return "input: it is empty, nothing to say"
	case !text.Speakable(clean):
		return fmt.Sprintf("input: %.40q has no letter and no number, nothing to say", clean)
	}
	return ""
}

// seedBits keeps derived seeds within what every reader of JSON takes exactly.
const seedBits = 53

// deriveSeed makes a seed, 0 to 2^53-1, of a base and words.
func deriveSeed(base int64, words ...string) int64 {
	h := sha256.New()
	fmt.Fprintf(h, "mynah batch seed %d", base)
	for _, w := range words {
		fmt.Fprintf(h, " %q", w)
	}
	return int64(binary.BigEndian.Uint64(h.Sum(nil)) >> (64 - seedBits))
}

// seeds returns the seed of each item: its own, or one from the job's seed and what the
// item is known by: its id, or else its text and how often that was there before. So an
// item that is put in or taken out changes no other's.
func seeds(items []Item, base int64) []int64 {
	all := make([]int64, len(items))
	seen := map[string]int{}
	for i := range items {
		it := &items[i]
		switch {
		case it.Seed != nil && *it.Seed >= 0:
			all[i] = *it.Seed
		case it.ID != "":
			all[i] = deriveSeed(base, "id", it.ID)
		default:
			all[i] = deriveSeed(base, "text", it.Text, fmt.Sprint(seen[it.Text]))
			seen[it.Text]++
		}
	}
	return all
}

// retrySeed is the seed of an attempt after the first, which is attempt 0.
func retrySeed(seed int64, attempt int) int64 {
	if attempt == 0 {
		return seed
	}
	return deriveSeed(seed, "attempt", fmt.Sprint(attempt))
}
