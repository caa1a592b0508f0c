package server

import (
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

// elevenParams are what of ElevenLabs' parameters changes what is said: those of a query,
// and those of a body or of a first message over them.
type elevenParams struct {
	voice      string
	model      string
	language   string // as the client named it
	form       encoding
	seed       *int64
	speed      float64       // 0 for 1
	inactivity time.Duration // of WebSockets
	auto       bool          // text is complete sentences
}

// Bounds of ElevenLabs' parameters.
const (
	elevenInactivity     = 20  // s without text, unless a client says otherwise
	elevenMostInactivity = 180 // s

	elevenMostSeed    = 1<<32 - 1
	elevenMostLatency = 4
)

// elevenNormalizations are the values of apply_text_normalization. How numbers are read is
// the checkpoint's matter, so that none changes anything.
var elevenNormalizations = []string{"auto", "on", "off"}

// elevenQuery are the parameters of queries. Others are not used.
var elevenQuery = map[string]func(p *elevenParams, name, value string) *Error{
	"model_id": func(p *elevenParams, _, value string) *Error {
		p.model = value
		return nil
	},
	"language_code": func(p *elevenParams, _, value string) *Error {
		p.language = value
		return nil
	},
	"output_format": func(p *elevenParams, _, value string) (err *Error) {
		p.form, err = parseElevenFormat(value)
		return err
	},
	"inactivity_timeout": func(p *elevenParams, name, value string) *Error {
		n, err := wholeParam(name, value, 1, elevenMostInactivity)
		p.inactivity = time.Duration(n) * time.Second
		return err
	},
	"seed": func(p *elevenParams, name, value string) *Error {
		n, err := wholeParam(name, value, 0, elevenMostSeed)
		p.seed = &n
		return err
	},
	"auto_mode": func(p *elevenParams, name, value string) (err *Error) {
		p.auto, err = switchParam(name, value)
		return err
	},
	"enable_ssml_parsing": func(_ *elevenParams, name, value string) *Error {
		on, err := switchParam(name, value)
		if on {
			return invalid(name, "true, allowed is false: SSML is not read here")
		}
		return err
	},
	"apply_text_normalization": func(_ *elevenParams, name, value string) *Error {
		if !slices.Contains(elevenNormalizations, value) {
			return invalid(name, "%s, allowed are %s", quoted(value), list(elevenNormalizations))
		}
		return nil
	},
	"optimize_streaming_latency": func(_ *elevenParams, name, value string) *Error {
		_, err := wholeParam(name, value, 0, elevenMostLatency)
		return err
	},
	"enable_logging": checkSwitchParam,
	"sync_alignment": checkSwitchParam,

	"voice_settings":                    notOfQuery,
	"generation_config":                 notOfQuery,
	"pronunciation_dictionary_locators": notOfQuery,
	"audio_effects":                     notOfQuery,
}

// notOfQuery refuses what has no form as text.
func notOfQuery(_ *elevenParams, name, _ string) *Error {
	return invalid(name, "it belongs to the body, or to the first message of a WebSocket, not to the query")
}

func checkSwitchParam(_ *elevenParams, name, value string) *Error {
	_, err := switchParam(name, value)
	return err
}

func switchParam(name, value string) (bool, *Error) {
	on, err := strconv.ParseBool(value)
	if err != nil {
		return false, invalid(name, "%s, allowed are true and false", quoted(value))
	}
	return on, nil
}

func wholeParam(name, value string, smallest, largest int64) (int64, *Error) {
	n, err := strconv.ParseInt(value, 10, 64)
	if err != nil || n < smallest || n > largest {
		return 0, invalid(name, "%s, allowed are %d to %d", quoted(value), smallest, largest)
	}
	return n, nil
}

// readElevenQuery reads the parameters of a request's query.
func readElevenQuery(voice string, query url.Values) (elevenParams, *Error) {
	p := elevenParams{voice: voice, inactivity: elevenInactivity * time.Second}
	p.form, _ = parseElevenFormat(defaultElevenFormat)
	for name, values := range query {
		read, known := elevenQuery[name]
		switch {
		case !known:
		case len(values) > 1:
			return p, invalid(name, "it is there %d times", len(values))
		case values[0] != "":
			if err := read(&p, name, values[0]); err != nil {
				return p, err
			}
		}
	}
	return p, nil
}

// elevenFields are the fields of a body or a message that change something or may be
// refused, beside the parameters of queries. Null is the same as leaving one out.
var elevenFields = map[string]func(p *elevenParams, name string, value json.RawMessage) *Error{
	"model_id": func(p *elevenParams, name string, value json.RawMessage) (err *Error) {
		p.model, err = textValue(name, value)
		return err
	},
	"language_code": func(p *elevenParams, name string, value json.RawMessage) (err *Error) {
		p.language, err = textValue(name, value)
		return err
	},
	"seed": func(p *elevenParams, name string, value json.RawMessage) *Error {
		n, err := wholeValue(name, value)
		if err == nil && (n < 0 || n > elevenMostSeed) {
			err = invalid(name, "%d, allowed are 0 to %d", n, int64(elevenMostSeed))
		}
		p.seed = &n
		return err
	},
	"voice_settings": func(p *elevenParams, name string, value json.RawMessage) *Error {
		return eachMember(name, value, func(m member) *Error { return p.voiceSetting(name+"."+m.name, m) })
	},
	"generation_config": func(_ *elevenParams, name string, value json.RawMessage) *Error {
		return eachMember(name, value, func(m member) *Error {
			if m.name != "chunk_length_schedule" {
				return nil
			}
			var numbers []float64 // nothing waits for so many characters here
			if json.Unmarshal(m.value, &numbers) != nil {
				return wrongType(name+"."+m.name, m.value, "a list of numbers")
			}
			return nil
		})
	},
	"pronunciation_dictionary_locators": func(_ *elevenParams, name string, value json.RawMessage) *Error {
		var locators []json.RawMessage
		if json.Unmarshal(value, &locators) != nil {
			return wrongType(name, value, "a list")
		}
		if len(locators) > 0 {
			return invalid(name, "there are no pronunciation dictionaries here, allowed is an empty list")
		}
		return nil
	},
	"apply_text_normalization": func(_ *elevenParams, name string, value json.RawMessage) *Error {
		_, err := choiceValue(name, value, elevenNormalizations)
		return err
	},
	"audio_effects": func(_ *elevenParams, name string, value json.RawMessage) *Error {
		if s := strings.Join(strings.Fields(string(value)), ""); s != "{}" && s != "[]" {
			return invalid(name, "there are no effects here, allowed is null")
		}
		return nil
	},
}

// elevenUnit are the settings of voices between 0 and 1, which mean nothing here.
var elevenUnit = []string{"stability", "similarity_boost", "style"}

// voiceSetting reads one of the settings of a voice.
func (p *elevenParams) voiceSetting(name string, m member) *Error {
	switch {
	case isNull(m.value):
	case m.name == "speed":
		speed, err := numberValue(name, m.value)
		if err == nil && !(speed >= minSpeed && speed <= maxSpeed) {
			err = invalid(name, "%g, allowed are %g to %g", speed, minSpeed, maxSpeed)
		}
		p.speed = speed
		return err
	case m.name == "use_speaker_boost":
		_, err := switchValue(name, m.value)
		return err
	case slices.Contains(elevenUnit, m.name):
		n, err := numberValue(name, m.value)
		if err == nil && !(n >= 0 && n <= 1) {
			err = invalid(name, "%g, allowed are 0 to 1", n)
		}
		return err
	}
	return nil
}

// eachMember looks at the members of a field that is an object.
func eachMember(name string, value json.RawMessage, look func(m member) *Error) *Error {
	if value[0] != '{' {
		return wrongType(name, value, "an object")
	}
	all, err := members(value)
	if err != nil {
		return invalid(name, "%s", strings.TrimPrefix(err.Message, "body: "))
	}
	for _, m := range all {
		if err := look(m); err != nil {
			return err
		}
	}
	return nil
}

// readFields reads the fields of a body or a message. ElevenLabs' own service has some of
// them in queries alone and leaves them out elsewhere, so that whoever asks for bare samples
// gets mp3; here they mean the same. Other fields are not used.
func (p *elevenParams) readFields(all []member) *Error {
	for _, m := range all {
		if isNull(m.value) {
			continue
		}
		var err *Error
		if read := elevenFields[m.name]; read != nil {
			err = read(p, m.name, m.value)
		} else if read := elevenQuery[m.name]; read != nil {
			var value string
			if value, err = paramOf(m); err == nil && value != "" {
				err = read(p, m.name, value)
			}
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// paramOf is the value of a field as a query has it.
func paramOf(m member) (string, *Error) {
	switch m.value[0] {
	case '"':
		return textValue(m.name, m.value)
	case '{', '[':
		return "", wrongType(m.name, m.value, "text, a number, or true or false")
	}
	return string(m.value), nil
}

// elevenModels is how ids of ElevenLabs' models begin: they mean the model that is
// served, since clients have them built in.
const elevenModels = "eleven_"

// request puts the parameters and a text, which may still come, into the engine's terms.
func (s *Server) elevenRequest(p elevenParams, text string, info synth.Info) (synth.Request, encoding, error) {
	q := &speechRequest{Input: text, Voice: p.voice, Seed: p.seed, present: map[string]bool{"voice": true}}
	if p.model != "" && !strings.HasPrefix(strings.ToLower(p.model), elevenModels) {
		q.Model, q.present["model"] = p.model, true
	}
	var err *Error
	if q.Language, err = languageOf("language_code", p.language, info); err != nil {
		return synth.Request{}, encoding{}, err
	}
	form := p.form
	form.speed = p.speed
	if err := form.check(info.SampleRate); err != nil {
		return synth.Request{}, encoding{}, err
	}
	r, failed := s.request(q, info)
	return r, form, elevenNames(failed)
}

// elevenNames puts our names of fields into ElevenLabs'. A voice that there is not is 404,
// as a path is.
func elevenNames(err error) error {
	if request := (*synth.RequestError)(nil); errors.As(err, &request) {
		err = requestError(request)
	}
	e, ok := err.(*Error)
	if !ok {
		return err
	}
	renamed := *e
	if e.Code == codeVoiceNotFound { // the path has named it
		renamed.Status = http.StatusNotFound
	}
	for ours, theirs := range map[string]string{"input": "text", "model": "model_id", "voice": "voice_id", "language": "language_code"} {
		if e.Param == ours {
			renamed.Param = theirs
			renamed.Message = theirs + strings.TrimPrefix(e.Message, ours)
		}
	}
	return &renamed
}

// elevenKey is the key that a request's header or query brings, "" for none.
func elevenKey(r *http.Request) string {
	if key := keyOf(r); key != "" {
		return key
	}
	query := r.URL.Query()
	if key := query.Get("xi-api-key"); key != "" {
		return key
	}
	return bearer(query.Get("authorization"))
}

// bearer is the token of an authorization, with its scheme or without.
func bearer(authorization string) string {
	if scheme, key, ok := strings.Cut(authorization, " "); ok && strings.EqualFold(scheme, "Bearer") {
		return strings.TrimSpace(key)
	}
	return authorization
}
