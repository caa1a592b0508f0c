package batch

import (
	"fmt"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"
)

func TestNames(t *testing.T) {
	items := []Item{
		{ID: "a"}, {ID: "A"}, {ID: "a."}, {}, {ID: "0004"}, {ID: "../../etc/passwd"}, {ID: "CON"}, {ID: "com1.txt"}, {ID: "x:y"}, {ID: "x/y"},
		{ID: "-rf"}, {ID: "..."}, {ID: "Über straße"}, {ID: "U\u0308BER STRASSE"}, {ID: "manifest"}, {ID: "a\x00\n\u202eb"}, {ID: strings.Repeat("ü", 300)}, {ID: "nul "},
	}
	for i := range items {
		items[i].Index = i + 1
	}
	all, _ := names(items, "")
	checkNames(t, items, all)
	for i, want := range map[int]string{0: "a", 3: "0004", 5: "etc-passwd", 6: "_CON", 7: "_com1.txt", 8: "x-y", 10: "rf", 11: "0012", 12: "Über_straße", 17: "_nul"} {
		if all[i] != want {
			t.Errorf("%q is named %q, want %q", items[i].ID, all[i], want)
		}
	}
}

// checkNames holds what every name must hold.
func checkNames(t *testing.T, items []Item, all []string) {
	t.Helper()
	taken := map[string]int{"manifest": -1}
	for i, name := range all {
		folded := strings.ToLower(foldName(name))
		if other, ok := taken[folded]; ok {
			t.Fatalf("items %d and %d have the name %q", other, i, name)
		}
		taken[folded] = i
		bad := strings.IndexFunc(name, func(r rune) bool {
			return strings.ContainsRune(forbidden, r) || unicode.IsSpace(r) || unicode.IsControl(r)
		})
		if bad >= 0 || name == "" || len(name) > 140 || !utf8.ValidString(name) || name[0] == '.' || name[0] == '-' || strings.HasSuffix(name, ".") || isDevice(name) {
			t.Fatalf("id %q gave the name %q", items[i].ID, name)
		}
	}
}

func FuzzNames(f *testing.F) {
	f.Add("a", "A", "COM1")
	f.Add("../x", "ǅ", "ﬁ\u200d")
	f.Fuzz(func(t *testing.T, a, b, c string) {
		var items []Item
		for i, id := range []string{a, b, c, a + b, strings.ToUpper(a), strings.ToLower(a), a + ".", "", "0008"} {
			items = append(items, Item{ID: id, Index: i + 1})
		}
		all, _ := names(items, "")
		checkNames(t, items, all)
		for i := range items {
			items[i].Title, items[i].ID = items[i].ID, ""
		}
		all, book := names(items, a)
		if a != "" { // otherwise there is no joined file
			items, all = append(items, Item{}), append(all, book)
		}
		checkNames(t, items, all)
	})
}

// What is put in between moves no other seed.
func TestSeedsStay(t *testing.T) {
	items := func(words ...string) (all []Item) {
		for _, w := range words {
			it := Item{Text: w}
			if id, text, ok := strings.Cut(w, "="); ok {
				it.ID, it.Text = id, text
			}
			all = append(all, it)
		}
		return all
	}
	before := seeds(items("one", "two", "two", "x=one", "three"), 5)
	after := seeds(items("zero", "one", "two", "x=changed", "two", "three"), 5)
	for _, p := range [][2]int{{0, 1}, {1, 2}, {2, 4}, {3, 3}, {4, 5}} {
		if before[p[0]] != after[p[1]] {
			t.Errorf("the seed of %d changed", p[0])
		}
	}
	seen := map[int64]bool{}
	for _, s := range append(before, seeds(items("one", "x=one"), 6)...) {
		if seen[s] || s < 0 || s >= 1<<53 {
			t.Errorf("seed %d is there twice or out of range", s)
		}
		seen[s] = true
	}
	if got := fmt.Sprint(seeds(items("one"), 0), seeds(items("a=one"), 0)); got != "[5615896765783812] [8685296135418167]" {
		t.Errorf("seeds are %s: a new version must not move them", got)
	}
}
