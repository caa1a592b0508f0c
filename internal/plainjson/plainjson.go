// Package plainjson decodes JSON and says what is wrong with it in words that a
// user understands: by field and byte, without the names of Go types.
package plainjson

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
)

// Decode decodes one JSON value into v.
func Decode(data []byte, v any) error {
	err := json.Unmarshal(data, v)
	var syntax *json.SyntaxError
	var mismatch *json.UnmarshalTypeError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &syntax):
		return fmt.Errorf("no valid JSON at byte %d: %w", syntax.Offset, err)
	case errors.As(err, &mismatch):
		field := withoutStructs(mismatch.Field)
		if field == "" {
			field = "the value"
		}
		return fmt.Errorf("%s is of type %.60s at byte %d, wanted %s", field, mismatch.Value, mismatch.Offset, wanted(mismatch.Type.Kind()))
	}
	return err
}

// withoutStructs drops the names of embedded structs from the path of a field: they
// begin with a capital letter, which no field of ours does.
func withoutStructs(path string) string {
	parts := slices.DeleteFunc(strings.Split(path, "."), func(part string) bool {
		return part != "" && 'A' <= part[0] && part[0] <= 'Z'
	})
	return strings.Join(parts, ".")
}

func wanted(kind reflect.Kind) string {
	switch kind {
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.String:
		return "a text"
	case reflect.Bool:
		return "true or false"
	case reflect.Float32, reflect.Float64:
		return "a number"
	}
	return "a whole number in range"
}
