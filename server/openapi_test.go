package server

import (
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
)

// schema is as much of a JSON schema as is compared.
type schema struct {
	Type       any // a name, or a list of them
	Required   []string
	Properties map[string]schema
	Minimum    *float64
	Maximum    *float64
	MinLength  *int
	MaxLength  *int
	MinItems   *int
	MaxItems   *int
	Enum       []any
	Default    any
}

type operation struct {
	Summary   string
	Security  []map[string][]string
	Responses map[string]any
}

type document struct {
	OpenAPI    string
	Paths      map[string]map[string]operation
	Components struct{ Schemas map[string]schema }
}

func readDocument(t *testing.T) document {
	t.Helper()
	r := start(t, Options{})
	resp := r.get("/openapi.json")
	if got := resp.Header.Get("Content-Type"); got != "application/json" {
		t.Errorf("content type %q", got)
	}
	var d document
	if err := json.Unmarshal(read(t, resp), &d); err != nil {
		t.Fatal(err)
	}
	return d
}

func TestOpenAPIHasTheRoutes(t *testing.T) {
	d := readDocument(t)
	s := newServer(t, Options{})
	known := map[string]bool{}
	for _, r := range s.routes {
		path, method := strings.TrimSuffix(r.path, "{$}"), strings.ToLower(r.method)
		known[method+" "+path] = true
		op, ok := d.Paths[path][method]
		if !ok {
			t.Errorf("openapi.json lacks %s %s", r.method, path)
			continue
		}
		if op.Summary == "" || len(op.Responses) == 0 || (op.Security != nil && len(op.Security) == 0) != r.open {
			t.Errorf("%s %s: %+v", r.method, path, op)
		}
	}
	for path, methods := range d.Paths {
		for method := range methods {
			if !known[method+" "+path] {
				t.Errorf("openapi.json has %s %s, the server has not", method, path)
			}
		}
	}
}

func TestOpenAPIHasTheFields(t *testing.T) {
	schemas := readDocument(t).Components.Schemas
	speech := schemas["SpeechRequest"]
	var names, required []string
	for _, f := range fields {
		names = append(names, f.name)
		if f.required {
			required = append(required, f.name)
		}
	}
	slices.Sort(names)
	if got := slices.Sorted(maps.Keys(speech.Properties)); !slices.Equal(got, names) {
		t.Errorf("openapi.json has the fields\n%v, the decoder\n%v", got, names)
	}
	if !slices.Equal(speech.Required, required) {
		t.Errorf("required are %v, want %v", speech.Required, required)
	}
	without := func(drop ...string) []string {
		return slices.DeleteFunc(slices.Clone(names), func(n string) bool { return slices.Contains(drop, n) })
	}
	if got := slices.Sorted(maps.Keys(schemas["BatchItem"].Properties)); !slices.Equal(got, without("stream_format")) {
		t.Errorf("a batch's item has %v", got)
	}
	if got := slices.Sorted(maps.Keys(schemas["BatchRequest"].Properties)); !slices.Equal(got, slices.Sorted(slices.Values(append(without("stream_format", "input"), "items")))) {
		t.Errorf("a batch has %v", got)
	}
	if items := schemas["BatchRequest"].Properties["items"]; *items.MinItems != 1 || *items.MaxItems != BatchItems {
		t.Errorf("items %+v", items)
	}
}

func TestOpenAPIHasTheLimits(t *testing.T) {
	p := readDocument(t).Components.Schemas["SpeechRequest"].Properties
	for _, name := range []string{"input", "instructions", "ref_text"} {
		if got := p[name].MaxLength; got == nil || *got != DefaultInputRunes {
			t.Errorf("%s: at most %v characters", name, got)
		}
	}
	for name, bounds := range map[string][2]float64{
		"speed": {minSpeed, maxSpeed}, "sample_rate": {minSampleRate, maxSampleRate},
		"max_new_tokens": {1, maxNewTokens}, "initial_codec_chunk_frames": {0, maxChunkFrames},
	} {
		if f := p[name]; f.Minimum == nil || f.Maximum == nil || *f.Minimum != bounds[0] || *f.Maximum != bounds[1] {
			t.Errorf("%s: %+v, want %v", name, f, bounds)
		}
	}
	for name, want := range map[string]any{"response_format": defaultFormat, "stream_format": streamAudio, "speed": 1.0, "seed": -1.0, "x_vector_only_mode": false} {
		if got := p[name].Default; got != want {
			t.Errorf("%s: default %v, want %v", name, got, want)
		}
	}
	for name, want := range map[string][]string{"stream_format": streamFormats, "task_type": taskTypes} {
		var got []string
		for _, v := range p[name].Enum {
			got = append(got, v.(string))
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", name, got, want)
		}
	}
}

// The types of the document are those that the decoder takes.
func TestOpenAPIHasTheTypes(t *testing.T) {
	for name, f := range readDocument(t).Components.Schemas["SpeechRequest"].Properties {
		wanted := map[string]string{"string": "text", "integer": "a whole number", "number": "a number", "boolean": "true or false"}
		kind, _ := f.Type.(string)
		if name == "voice" {
			kind = "string"
		}
		err := (&speechRequest{}).readFields([]member{{name, json.RawMessage("[]")}})
		if err == nil || !strings.Contains(err.Message, "wanted "+wanted[kind]) {
			t.Errorf("%s is said to be %s, the decoder says of a list: %v", name, kind, err)
		}
	}
}

// docs/api.md names every route, field, limit and code of an error.
func TestDocumentation(t *testing.T) {
	data, err := os.ReadFile("../docs/api.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	s := newServer(t, Options{})
	for _, r := range s.routes {
		if !strings.Contains(page, "`"+r.method+" "+strings.TrimSuffix(r.path, "{$}")+"`") {
			t.Errorf("docs/api.md lacks %s %s", r.method, r.path)
		}
	}
	for _, f := range fields {
		if !strings.Contains(page, "| `"+f.name+"` |") {
			t.Errorf("docs/api.md lacks the field %s", f.name)
		}
	}
	for _, code := range []string{
		"invalid_value", "invalid_type", "missing_field", "invalid_body", "string_above_max_length", "voice_not_found", "model_not_found", "unknown_path",
		"method_not_allowed", "body_timeout", "body_too_large", "unsupported_media_type", "invalid_api_key", "unknown_host", "unknown_origin",
		"queue_full", "loading", "shutting_down", "too_many_connections", "too_many_websockets", "batch_too_large", "internal_error",
	} {
		if !strings.Contains(page, "`"+code+"`") {
			t.Errorf("docs/api.md lacks the code %s", code)
		}
	}
}
