package tokenizer

import (
	"encoding/json"
)

// jsonReader walks one JSON document from front to back. It is here because a
// vocabulary is one object of 150,000 keys, which encoding/json reads slowly, folds
// double keys of and reports without a place.
//
// The first error sticks: from then on every method returns at once with a zero
// value, and loops end, so callers look at err only at the end.
type jsonReader struct {
	file  string
	data  string // valid UTF-8
	pos   int
	depth int
	err   *FileError
}

func (r *jsonReader) fail(format string, args ...any) { r.failAt(r.pos, format, args...) }

func (r *jsonReader) failAt(pos int, format string, args ...any) {
	if r.err == nil {
		r.err = errorAt(r.file, r.data, pos, format, args...)
	}
}

// peek returns the next byte that is not white space, or 0 at the end.
func (r *jsonReader) peek() byte {
	for r.err == nil && r.pos < len(r.data) {
		switch c := r.data[r.pos]; c {
		case ' ', '\t', '\r', '\n':
			r.pos++
		default:
			return c
		}
	}
	return 0
}

// take consumes the byte c, which must be next.
func (r *jsonReader) take(c byte) {
	switch found := r.peek(); {
	case r.err != nil:
	case r.pos == len(r.data):
		r.fail("end of file, wanted %q", c)
	case found != c:
		r.fail("%q, wanted %q", found, c)
	default:
		r.pos++
	}
}

// more begins an element of a list that close ends: it consumes the comma before
// the element, or the end of the list.
func (r *jsonReader) more(first bool, close byte) bool {
	if r.peek() == close {
		r.pos++
		return false
	}
	if !first {
		r.take(',')
	}
	return r.err == nil
}

func (r *jsonReader) enter() bool {
	r.depth++
	if r.depth > maxJSONDepth {
		r.fail("more than %d arrays and objects within one another", maxJSONDepth)
	}
	return r.err == nil
}

// object calls field for each key of an object; field must read the value. at is
// the place of the key.
func (r *jsonReader) object(field func(key string, at int)) {
	r.take('{')
	if !r.enter() {
		return
	}
	for first := true; r.more(first, '}'); first = false {
		r.peek()
		at := r.pos
		key := r.str()
		r.take(':')
		if r.err == nil {
			field(key, at)
		}
	}
	r.depth--
}

// array calls elem for each element of an array; elem must read it.
func (r *jsonReader) array(elem func()) {
	r.take('[')
	if !r.enter() {
		return
	}
	for first := true; r.more(first, ']'); first = false {
		elem()
	}
	r.depth--
}

// str reads a string. Without escapes it is a part of the document, not a copy.
func (r *jsonReader) str() string {
	r.take('"')
	if r.err != nil {
		return ""
	}
	start := r.pos
	escaped := false
	for r.pos < len(r.data) {
		switch c := r.data[r.pos]; {
		case c == '"':
			s := r.data[start:r.pos]
			r.pos++
			if escaped {
				return r.unescape(s, start)
			}
			return s
		case c == '\\':
			escaped = true
			r.pos++
		case c < ' ':
			r.fail("control character %#02x in a string", c)
			return ""
		}
		r.pos++
	}
	r.pos = len(r.data) // and not beyond a backslash at the end
	r.failAt(start-1, "string without end")
	return ""
}

// unescape resolves the escapes of a string, whose first byte is at pos.
func (r *jsonReader) unescape(s string, pos int) string {
	var out string
	if err := json.Unmarshal([]byte(`"`+s+`"`), &out); err != nil {
		r.failAt(pos, "bad escape in a string")
	}
	return out
}

func scalarByte(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'z' || c == '-' || c == '+' || c == '.' || c == 'E'
}

// scalar returns the characters of a number or literal.
func (r *jsonReader) scalar() string {
	r.peek()
	start := r.pos
	for r.err == nil && r.pos < len(r.data) && scalarByte(r.data[r.pos]) {
		r.pos++
	}
	return r.data[start:r.pos]
}

// integer reads a whole number from 0 to below limit.
func (r *jsonReader) integer(limit int) int {
	r.peek()
	at := r.pos
	s := r.scalar()
	n, ok := 0, s != "" && (s == "0" || s[0] != '0')
	for i := 0; i < len(s) && ok; i++ {
		digit := int(s[i]) - '0'
		n = 10*n + digit
		ok = 0 <= digit && digit <= 9 && n < limit
	}
	if r.err == nil && !ok {
		r.failAt(at, "%q, wanted a whole number from 0 to %d", clip(s), limit-1)
	}
	if r.err != nil {
		return 0
	}
	return n
}

// boolean reads true or false.
func (r *jsonReader) boolean() bool {
	r.peek()
	at := r.pos
	s := r.scalar()
	if s != "true" && s != "false" {
		r.failAt(at, "%q, wanted true or false", clip(s))
	}
	return s == "true"
}

// skip reads any value and returns its text.
func (r *jsonReader) skip() string {
	c := r.peek()
	start := r.pos
	switch c {
	case '{':
		r.object(func(string, int) { r.skip() })
	case '[':
		r.array(func() { r.skip() })
	case '"':
		r.str()
	default:
		if s := r.scalar(); r.err == nil && !json.Valid([]byte(s)) {
			r.failAt(start, "no JSON value")
		}
	}
	return r.data[start:r.pos]
}

// end checks that nothing but white space is left, and returns the first error.
func (r *jsonReader) end() error {
	if r.peek() != 0 || r.err == nil && r.pos < len(r.data) {
		r.fail("text after the end of the document")
	}
	if r.err != nil {
		return r.err
	}
	return nil
}
