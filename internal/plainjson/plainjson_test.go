package plainjson

import (
	"strings"
	"testing"
)

func TestDecode(t *testing.T) {
	type inner struct {
		Size int8 `json:"size"`
	}
	type Embedded struct {
		Depth int `json:"depth"`
	}
	for _, c := range []struct{ in, problem string }{
		{`{"depth":"x"}`, "depth is of type string at byte 12, wanted a whole number in range"},
		{`{"a":{"size":7},"b":[1.5],"c":"x","d":true}`, ""},
		{`{"a":{"size":"7"}}`, "a.size is of type string at byte 16, wanted a whole number in range"},
		{`{"a":{"size":700}}`, "a.size is of type number 700 at byte 16, wanted a whole number in range"},
		{`{"a":{"size":` + strings.Repeat("7", 100_000) + `}}`, "a.size is of type number " + strings.Repeat("7", 53) + " at byte 100013, wanted a whole number in range"},
		{`{"a":[]}`, "a is of type array at byte 6, wanted an object"},
		{`{"b":1}`, "b is of type number at byte 6, wanted a list"},
		{`{"b":[null,"x"]}`, "b is of type string at byte 14, wanted a number"},
		{`{"c":1}`, "c is of type number at byte 6, wanted a text"},
		{`{"d":1}`, "d is of type number at byte 6, wanted true or false"},
		{`[]`, "the value is of type array at byte 1, wanted an object"},
		{`{`, "no valid JSON at byte 1: unexpected end of JSON input"},
		{``, "no valid JSON at byte 0: unexpected end of JSON input"},
		{`version https://`, "no valid JSON at byte 1: invalid character 'v' looking for beginning of value"},
	} {
		var v struct {
			Embedded
			A inner     `json:"a"`
			B []float32 `json:"b"`
			C string    `json:"c"`
			D bool      `json:"d"`
		}
		got := ""
		if err := Decode([]byte(c.in), &v); err != nil {
			got = err.Error()
		}
		if got != c.problem {
			t.Errorf("%s: %q, wanted %q", c.in, got, c.problem)
		}
	}
}
