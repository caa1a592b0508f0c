package server

import (
	"encoding/json"
	"math"
	"unicode/utf8"
)

// speechRequest is what the fields of a request say. What was not there, or null, is
// nil or empty.
type speechRequest struct {
	Model          string
	Input          string
	Voice          string
	Instructions   string
	ResponseFormat string
	StreamFormat   string
	Speed          float64 // 0 if not there
	SampleRate     int     // Hz, 0 if not there

	TaskType         string
	Language         string
	RefAudio         *refAudio
	RefText          string
	XVectorOnly      *bool
	NonStreamingMode *bool

	MaxNewTokens      int // 0 if not there
	Seed              *int64
	Temperature       *float64
	TopK              *int
	TopP              *float64
	RepetitionPenalty *float64
	SubTemperature    *float64
	SubTopK           *int
	SubTopP           *float64

	present map[string]bool // the fields that were there with a value
	unknown []string        // names that are no fields
}

// field is one field of the API.
type field struct {
	name     string
	required bool // also not null
	set      func(q *speechRequest, name string, value json.RawMessage) *Error
}

// The bounds of fields. Those of sampling are the engine's.
const (
	minSpeed, maxSpeed           = 0.25, 4.0 // OpenAI's
	minSampleRate, maxSampleRate = 8000, 48000
	maxNewTokens                 = 100_000 // frames, over two hours; the text bounds it before
	maxChunkFrames               = 1000
)

// The values that fields of names take.
var (
	streamFormats = []string{streamAudio, streamSSE}
	taskTypes     = []string{"CustomVoice", "VoiceDesign", "Base"}
)

// The transports.
const (
	streamAudio = "audio"
	streamSSE   = "sse"
)

// fields are all fields of a speech request, in the order of the documentation.
var fields = []field{
	{"model", false, textField(func(q *speechRequest) *string { return &q.Model })},
	{"input", true, textField(func(q *speechRequest) *string { return &q.Input })},
	{"voice", false, func(q *speechRequest, name string, value json.RawMessage) (err *Error) {
		q.Voice, err = voiceValue(name, value)
		return err
	}},
	{"instructions", false, textField(func(q *speechRequest) *string { return &q.Instructions })},
	{"response_format", false, func(q *speechRequest, name string, value json.RawMessage) (err *Error) {
		if q.ResponseFormat, err = textValue(name, value); err != nil {
			return err
		}
		format, problem := parseFormat(q.ResponseFormat)
		if problem != nil {
			return invalid(name, "%v", problem)
		}
		q.ResponseFormat = format
		return nil
	}},
	{"speed", false, func(q *speechRequest, name string, value json.RawMessage) (err *Error) {
		if q.Speed, err = numberValue(name, value); err == nil && !(q.Speed >= minSpeed && q.Speed <= maxSpeed) {
			err = invalid(name, "%g, allowed are %g to %g", q.Speed, minSpeed, maxSpeed)
		}
		return err
	}},
	{"sample_rate", false, func(q *speechRequest, name string, value json.RawMessage) (err *Error) {
		q.SampleRate, err = boundedValue(name, value, minSampleRate, maxSampleRate)
		return err
	}},
	{"stream_format", false, choiceField(func(q *speechRequest) *string { return &q.StreamFormat }, streamFormats)},

	{"task_type", false, choiceField(func(q *speechRequest) *string { return &q.TaskType }, taskTypes)},
	{"language", false, textField(func(q *speechRequest) *string { return &q.Language })},
	{"ref_audio", false, func(q *speechRequest, name string, value json.RawMessage) *Error {
		url, err := textValue(name, value)
		q.RefAudio = &refAudio{url: url}
		return err
	}},
	{"ref_text", false, textField(func(q *speechRequest) *string { return &q.RefText })},
	{"x_vector_only_mode", false, toggleField(func(q *speechRequest) **bool { return &q.XVectorOnly })},
	{"non_streaming_mode", false, toggleField(func(q *speechRequest) **bool { return &q.NonStreamingMode })},
	{"initial_codec_chunk_frames", false, func(q *speechRequest, name string, value json.RawMessage) *Error {
		_, err := boundedValue(name, value, 0, maxChunkFrames) // every frame leaves by itself
		return err
	}},

	{"max_new_tokens", false, func(q *speechRequest, name string, value json.RawMessage) (err *Error) {
		q.MaxNewTokens, err = boundedValue(name, value, 1, maxNewTokens)
		return err
	}},
	{"seed", false, func(q *speechRequest, name string, value json.RawMessage) *Error {
		n, err := wholeValue(name, value)
		q.Seed = &n
		return err
	}},
	{"temperature", false, numberField(func(q *speechRequest) **float64 { return &q.Temperature })},
	{"top_k", false, wholeField(func(q *speechRequest) **int { return &q.TopK })},
	{"top_p", false, numberField(func(q *speechRequest) **float64 { return &q.TopP })},
	{"repetition_penalty", false, numberField(func(q *speechRequest) **float64 { return &q.RepetitionPenalty })},
	{"subtalker_temperature", false, numberField(func(q *speechRequest) **float64 { return &q.SubTemperature })},
	{"subtalker_top_k", false, wholeField(func(q *speechRequest) **int { return &q.SubTopK })},
	{"subtalker_top_p", false, numberField(func(q *speechRequest) **float64 { return &q.SubTopP })},
}

// fieldNamed finds fields.
var fieldNamed = func() map[string]field {
	m := map[string]field{}
	for _, f := range fields {
		m[f.name] = f
	}
	return m
}()

// readFields reads the fields of a JSON object into q, over what is there already: a
// batch's item goes over the batch's own fields, a session's configuration over an
// earlier one. Null is the same as leaving a field out, for fields that may be.
func (q *speechRequest) readFields(all []member) *Error {
	if q.present == nil {
		q.present = map[string]bool{}
	}
	for _, m := range all {
		f, known := fieldNamed[m.name]
		switch {
		case m.name == "extra_body":
			return invalid(m.name, "its fields belong to the top of the body, where OpenAI's Python client puts them by itself")
		case !known:
			q.unknown = append(q.unknown, m.name)
			continue
		case isNull(m.value) && f.required:
			return wrongType(m.name, m.value, "text")
		case isNull(m.value):
			continue
		}
		if err := f.set(q, m.name, m.value); err != nil {
			return err
		}
		q.present[m.name] = true
	}
	return nil
}

// checkInput refuses a request without a text.
func (q *speechRequest) checkInput(limits Limits) *Error {
	if !q.present["input"] {
		e := invalid("input", "it is missing, wanted a text of 1 to %d characters", limits.InputRunes)
		e.Code = "missing_field"
		return e
	}
	return nil
}

// checkText bounds the texts.
func (q *speechRequest) checkText(limits Limits) *Error {
	for _, t := range []struct{ name, text string }{{"input", q.Input}, {"instructions", q.Instructions}, {"ref_text", q.RefText}} {
		if err := checkLength(t.name, t.text, limits.InputRunes); err != nil {
			return err
		}
	}
	return nil
}

// checkLength refuses a text that is too long, in OpenAI's words for programs.
func checkLength(name, text string, most int) *Error {
	if len(text) <= most {
		return nil
	}
	if n := utf8.RuneCountInString(text); n > most {
		e := invalid(name, "%d characters, allowed are %d", n, most)
		e.Code = "string_above_max_length"
		return e
	}
	return nil
}

func textField(at func(*speechRequest) *string) func(*speechRequest, string, json.RawMessage) *Error {
	return func(q *speechRequest, name string, value json.RawMessage) (err *Error) {
		*at(q), err = textValue(name, value)
		return err
	}
}

func choiceField(at func(*speechRequest) *string, allowed []string) func(*speechRequest, string, json.RawMessage) *Error {
	return func(q *speechRequest, name string, value json.RawMessage) (err *Error) {
		*at(q), err = choiceValue(name, value, allowed)
		return err
	}
}

func toggleField(at func(*speechRequest) **bool) func(*speechRequest, string, json.RawMessage) *Error {
	return func(q *speechRequest, name string, value json.RawMessage) *Error {
		b, err := switchValue(name, value)
		*at(q) = &b
		return err
	}
}

func numberField(at func(*speechRequest) **float64) func(*speechRequest, string, json.RawMessage) *Error {
	return func(q *speechRequest, name string, value json.RawMessage) *Error {
		n, err := numberValue(name, value)
		*at(q) = &n
		return err
	}
}

func wholeField(at func(*speechRequest) **int) func(*speechRequest, string, json.RawMessage) *Error {
	return func(q *speechRequest, name string, value json.RawMessage) *Error {
		n, err := boundedValue(name, value, math.MinInt32, math.MaxInt32)
		*at(q) = &n
		return err
	}
}

func boundedValue(name string, value json.RawMessage, smallest, largest int64) (int, *Error) {
	n, err := wholeValue(name, value)
	if err == nil && (n < smallest || n > largest) {
		err = invalid(name, "%d, allowed are %d to %d", n, smallest, largest)
	}
	return int(n), err
}
