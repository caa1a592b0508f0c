package batch

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
)

// field is a setting of an item, by the name that the speech API has for it.
type field struct {
	name    string
	aliases []string
	number  bool // in JSON a number, not a text
	either  bool // in JSON a number or a text
	set     func(it *Item, value string) error
}

// The bounds of fields. Those of sampling are the engine's.
const (
	minSpeed, maxSpeed = 0.25, 4.0
	maxFrames          = 100_000 // over two hours; the text bounds it before
)

// fields are all that an item may have.
var fields = []field{
	{name: "id", either: true, set: textOf(func(it *Item) *string { return &it.ID })},
	{name: "input", aliases: []string{"text"}, set: textOf(func(it *Item) *string { return &it.Text })},
	{name: "voice", aliases: []string{"speaker"}, set: textOf(func(it *Item) *string { return &it.Voice })},
	{name: "language", set: textOf(func(it *Item) *string { return &it.Language })},
	{name: "instructions", aliases: []string{"instruct"}, set: textOf(func(it *Item) *string { return &it.Instructions })},
	{name: "layout", set: func(it *Item, value string) error {
		if value != "streaming" && value != "whole" {
			return fmt.Errorf("%q, allowed are streaming and whole", value)
		}
		it.Layout = value
		return nil
	}},
	{name: "seed", number: true, set: func(it *Item, value string) error {
		n, err := strconv.ParseInt(value, 10, 64)
		if err != nil || n < -1 {
			return fmt.Errorf("%.40q, allowed are whole numbers from 0, or -1 for that of the job", value)
		}
		it.Seed = &n
		return nil
	}},
	{name: "max_new_tokens", aliases: []string{"max_frames"}, number: true, set: func(it *Item, value string) error {
		n, err := strconv.Atoi(value)
		if err != nil || n < 1 || n > maxFrames {
			return fmt.Errorf("%.40q, allowed are whole numbers from 1 to %d", value, maxFrames)
		}
		it.MaxFrames = n
		return nil
	}},
	{name: "speed", number: true, set: func(it *Item, value string) error {
		x, err := parseNumber(value)
		if err != nil || !(x >= minSpeed && x <= maxSpeed) {
			return fmt.Errorf("%.40q, allowed are %g to %g", value, minSpeed, maxSpeed)
		}
		it.Speed = x
		return nil
	}},
	{name: "temperature", number: true, set: numberOf(func(it *Item) **float64 { return &it.Sampling.Temperature })},
	{name: "top_k", number: true, set: wholeOf(func(it *Item) **int { return &it.Sampling.TopK })},
	{name: "top_p", number: true, set: numberOf(func(it *Item) **float64 { return &it.Sampling.TopP })},
	{name: "repetition_penalty", number: true, set: numberOf(func(it *Item) **float64 { return &it.Sampling.RepetitionPenalty })},
	{name: "subtalker_temperature", number: true, set: numberOf(func(it *Item) **float64 { return &it.Sampling.SubTemperature })},
	{name: "subtalker_top_k", number: true, set: wholeOf(func(it *Item) **int { return &it.Sampling.SubTopK })},
	{name: "subtalker_top_p", number: true, set: numberOf(func(it *Item) **float64 { return &it.Sampling.SubTopP })},
}

// jobWide are fields of the speech API that are one for the whole job: an item that has
// one would sound unlike what it asks for.
var jobWide = map[string]string{
	"ref_audio": "--reference", "ref_text": "--reference", "x_vector_only_mode": "--reference",
	"response_format": "--format", "sample_rate": "--sample-rate", "model": "--model",
	"task_type": "--model", "non_streaming_mode": "the field layout",
}

// fieldNamed finds a field by name or alias, in any case.
func fieldNamed(name string) (field, bool) {
	name = strings.ToLower(strings.TrimSpace(name))
	i := slices.IndexFunc(fields, func(f field) bool { return f.name == name || slices.Contains(f.aliases, name) })
	if i < 0 {
		return field{}, false
	}
	return fields[i], true
}

func textOf(at func(*Item) *string) func(*Item, string) error {
	return func(it *Item, value string) error {
		*at(it) = value
		return nil
	}
}

func numberOf(at func(*Item) **float64) func(*Item, string) error {
	return func(it *Item, value string) error {
		x, err := parseNumber(value)
		*at(it) = &x
		return err
	}
}

func wholeOf(at func(*Item) **int) func(*Item, string) error {
	return func(it *Item, value string) error {
		n, err := strconv.ParseInt(value, 10, 32)
		if err != nil {
			return fmt.Errorf("%.40q, wanted a whole number", value)
		}
		k := int(n)
		*at(it) = &k
		return nil
	}
}

func parseNumber(value string) (float64, error) {
	x, err := strconv.ParseFloat(value, 64)
	if err != nil || math.IsNaN(x) || math.IsInf(x, 0) {
		return 0, fmt.Errorf("%.40q, wanted a number", value)
	}
	return x, nil
}

// setJSON takes a field's value as JSON has it. Null is the same as none.
func (f field) setJSON(it *Item, value json.RawMessage) error {
	value = bytes.TrimSpace(value)
	isNumber := len(value) > 0 && (value[0] == '-' || '0' <= value[0] && value[0] <= '9')
	switch {
	case string(value) == "null":
		return nil
	case isNumber && (f.number || f.either):
		return f.set(it, plainNumber(string(value)))
	case f.number:
		return fmt.Errorf("%.40s, wanted a number", value)
	case f.name == "voice" && len(value) > 0 && value[0] == '{':
		var object struct {
			ID *string `json:"id"`
		}
		if err := json.Unmarshal(value, &object); err != nil || object.ID == nil {
			return fmt.Errorf(`%.40s, wanted a name or {"id": NAME}`, value)
		}
		return f.set(it, *object.ID)
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return fmt.Errorf("%.40s, wanted a text", value)
	}
	return f.set(it, s)
}

// plainNumber writes a whole number without the fraction that some writers add.
func plainNumber(s string) string { return strings.TrimSuffix(s, ".0") }

// unused counts what stands in an input but is not used, to warn of it once.
type unused struct {
	order []string
	first map[string]int // line
}

func (u *unused) add(name string, line int) {
	if u.first == nil {
		u.first = map[string]int{}
	}
	if _, known := u.first[name]; !known {
		u.first[name] = line
		u.order = append(u.order, name)
	}
}

// warnings words them. Names that are many are counted, not listed.
func (u *unused) warnings(kind string) []string {
	const most = 10
	var all []string
	for i, name := range u.order {
		if i == most {
			return append(all, fmt.Sprintf("%d more %ss are not known and not used", len(u.order)-most, kind))
		}
		all = append(all, fmt.Sprintf("line %d: the %s %.60q is not known and not used", u.first[name], kind, name))
	}
	return all
}
