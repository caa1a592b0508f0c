package server

import (
	"bytes"
	"encoding/json"
	"math"
	"strconv"
	"strings"
)

// The readers of values. Each takes a field's name and its value as it was written,
// and refuses another type in one line.

func wrongType(name string, value json.RawMessage, wanted string) *Error {
	e := invalid(name, "wanted %s, got %s", wanted, kindOf(value))
	e.Code = "invalid_type"
	return e
}

func isNull(value json.RawMessage) bool { return string(bytes.TrimSpace(value)) == "null" }

func textValue(name string, value json.RawMessage) (string, *Error) {
	if value[0] != '"' {
		return "", wrongType(name, value, "text")
	}
	if halfSurrogate(value) {
		return "", invalid(name, "it has half of a surrogate pair, which is no character")
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil {
		return "", wrongType(name, value, "text")
	}
	return s, nil
}

// halfSurrogate reports whether a JSON text escapes one half of a pair without the
// other. Package json would turn it into U+FFFD.
func halfSurrogate(value []byte) bool {
	high := false // the last thing was the first half
	for i := 1; i < len(value)-1; i++ {
		unit := uint64(0)
		if value[i] == '\\' {
			i++
			if value[i] == 'u' && i+5 <= len(value) {
				unit, _ = strconv.ParseUint(string(value[i+1:i+5]), 16, 16)
				i += 4
			}
		}
		low := unit >= 0xDC00 && unit < 0xE000
		if low != high {
			return true
		}
		high = unit >= 0xD800 && unit < 0xDC00
	}
	return high
}

func switchValue(name string, value json.RawMessage) (bool, *Error) {
	switch string(value) {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, wrongType(name, value, "true or false")
}

func numberValue(name string, value json.RawMessage) (float64, *Error) {
	if kindOf(value) != "a number" {
		return 0, wrongType(name, value, "a number")
	}
	n, err := strconv.ParseFloat(string(value), 64)
	if err != nil {
		return 0, invalid(name, "%s is too large", abridged(string(value)))
	}
	return n, nil
}

// wholeValue also takes 7.0 and 1e3: some clients' numbers are all of that kind.
func wholeValue(name string, value json.RawMessage) (int64, *Error) {
	if kindOf(value) != "a number" {
		return 0, wrongType(name, value, "a whole number")
	}
	s := string(value)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return n, nil
	}
	const exact = 1 << 53
	n, err := strconv.ParseFloat(s, 64)
	if err == nil && n != math.Trunc(n) {
		return 0, invalid(name, "%s, wanted a whole number", abridged(s))
	}
	if err != nil || math.Abs(n) > exact {
		return 0, invalid(name, "%s is out of range, allowed are whole numbers up to %d", abridged(s), int64(math.MaxInt64))
	}
	return int64(n), nil
}

// choiceValue is one of some names, in any case.
func choiceValue(name string, value json.RawMessage, allowed []string) (string, *Error) {
	s, err := textValue(name, value)
	if err != nil {
		return "", err
	}
	for _, a := range allowed {
		if strings.EqualFold(a, s) {
			return a, nil
		}
	}
	return "", invalid(name, "%s, allowed are %s", quoted(s), list(allowed))
}

// voiceValue is a name, or an object with one as its id.
func voiceValue(name string, value json.RawMessage) (string, *Error) {
	if value[0] != '{' {
		if value[0] != '"' {
			return "", wrongType(name, value, `text or {"id": text}`)
		}
		return textValue(name, value)
	}
	all, err := members(value)
	if err != nil {
		return "", invalid(name, "%s", strings.TrimPrefix(err.Message, "body: "))
	}
	for _, m := range all {
		if m.name == "id" {
			return textValue(name, m.value)
		}
	}
	return "", invalid(name, `the object has no "id"`)
}
