package server

import (
	"net/http"
	"slices"
	"strings"

	"github.com/mynah-tts/mynah/internal/voices"
	"github.com/mynah-tts/mynah/synth"
)

// elevenPrefix begins the routes of ElevenLabs' speech API.
const elevenPrefix = "/v1/text-to-speech/"

// elevenRoutes are the routes of ElevenLabs' API that its clients speak with. The
// WebSockets take keys also in the first message, so it is they that check them.
func (s *Server) elevenRoutes() []route {
	return []route{
		{"POST", elevenPrefix + "{voice}", false, s.elevenSpeech},
		{"POST", elevenPrefix + "{voice}/stream", false, s.elevenSpeech},
		{"GET", elevenPrefix + "{voice}/stream-input", true, s.elevenSingle},
		{"GET", elevenPrefix + "{voice}/multi-stream-input", true, s.elevenMulti},
		{"GET", "/v1/voices", false, s.elevenVoices},
		{"GET", "/v1/voices/{voice}", false, s.elevenVoice},
		{"GET", "/v2/voices", false, s.elevenVoices},
	}
}

// elevenSpeech answers POST /v1/text-to-speech/{voice}, with /stream or without: both
// answer with audio as it is produced. Clients of this API know no trailers, so audio that
// was cut breaks off.
func (s *Server) elevenSpeech(w *response, r *http.Request) error {
	body, engine, release, err := s.takeBody(w, r)
	if err != nil {
		return err
	}
	defer release()
	params, refused := readElevenQuery(r.PathValue("voice"), r.URL.Query())
	if refused != nil {
		return refused
	}
	text, unknown, err := readElevenBody(&params, body, s.opts.Limits)
	if err != nil {
		return err
	}
	nameIgnored(w, unknown)
	s.addText(r, "text", text)
	request, form, err := s.elevenRequest(params, text, engine.Info())
	if err != nil {
		return err
	}
	ctx, cancel := s.work(r.Context())
	defer cancel()
	a := &answer{w: w, encoding: form, utterance: utterance{server: s, transport: streamAudio, received: info(r).received}}
	done, err := a.bytes(ctx, engine, request, info(r))
	if err == nil && done.FinishReason == synth.FinishLength {
		err = errTruncated
	}
	return elevenNames(err)
}

// readElevenBody reads a body, and returns the text and the fields that are not used.
func readElevenBody(p *elevenParams, body []byte, limits Limits) (text string, unknown []string, err error) {
	all, refused := members(body)
	if refused != nil {
		return "", nil, refused
	}
	if refused := p.readFields(all); refused != nil {
		return "", nil, refused
	}
	value := memberOf(all, "text")
	if value == nil {
		e := invalid("text", "it is missing, wanted a text of 1 to %d characters", limits.InputRunes)
		e.Code = "missing_field"
		return "", nil, e
	}
	if text, refused = textValue("text", value); refused != nil {
		return "", nil, refused
	}
	if err := checkLength("text", text, limits.InputRunes); err != nil {
		return "", nil, err
	}
	for _, m := range all {
		if elevenFields[m.name] == nil && elevenQuery[m.name] == nil && m.name != "text" && !isNull(m.value) {
			unknown = append(unknown, m.name)
		}
	}
	return text, unknown, nil
}

// elevenVoiceEntry is one voice in ElevenLabs' form.
type elevenVoiceEntry struct {
	VoiceID     string            `json:"voice_id"` // our names
	Name        string            `json:"name"`
	Category    string            `json:"category"`
	Labels      map[string]string `json:"labels"`
	Description string            `json:"description"`
}

// elevenVoicesAnswer is the answer to /v1/voices, and of /v2/voices with one page.
type elevenVoicesAnswer struct {
	Voices  []elevenVoiceEntry `json:"voices"`
	HasMore bool               `json:"has_more"`
	Total   int                `json:"total_count"`
	Next    *string            `json:"next_page_token"`
}

// elevenVoices lists voices, all of them, or those whose names have ?search in them.
func (s *Server) elevenVoices(w *response, r *http.Request) error {
	engine, err := s.ready()
	if err != nil {
		return err
	}
	answer := elevenVoicesAnswer{Voices: []elevenVoiceEntry{}}
	search := strings.ToLower(r.URL.Query().Get("search"))
	for _, voice := range s.elevenVoiceEntries(engine.Info()) {
		if strings.Contains(strings.ToLower(voice.Name), search) {
			answer.Voices = append(answer.Voices, voice)
		}
	}
	answer.Total = len(answer.Voices)
	return writeJSON(w, http.StatusOK, answer)
}

// elevenVoice answers GET /v1/voices/{voice}.
func (s *Server) elevenVoice(w *response, r *http.Request) error {
	engine, err := s.ready()
	if err != nil {
		return err
	}
	name := r.PathValue("voice")
	for _, voice := range s.elevenVoiceEntries(engine.Info()) {
		if strings.EqualFold(voice.VoiceID, name) {
			return writeJSON(w, http.StatusOK, voice)
		}
	}
	return &Error{Status: http.StatusNotFound, Type: typeInvalid, Param: "voice_id", Code: "voice_not_found",
		Message: "voice_id: " + quoted(name) + ", GET /v1/voices lists those that there are" + hintVoiceMap}
}

// elevenVoiceEntries are all voices: those that are kept, also under a mapped name, are
// cloned ones. A checkpoint without any has the one that speaks
// when none is named.
func (s *Server) elevenVoiceEntries(info synth.Info) []elevenVoiceEntry {
	kept := s.keptNames(info)
	names := append(s.ownNames(info), kept...)
	if len(names) == 0 {
		names = []string{noVoice}
	}
	var all []elevenVoiceEntry
	for _, name := range names {
		speaks, category := name, "premade"
		if to := s.opts.Voices[strings.ToLower(name)]; to != "" && preset(info, name) == "" {
			speaks = to
		}
		if slices.ContainsFunc(kept, func(k string) bool { return voices.Fold(k) == voices.Fold(speaks) }) {
			category = "cloned"
		}
		all = append(all, elevenVoiceEntry{VoiceID: name, Name: name, Category: category, Labels: map[string]string{}})
	}
	return all
}

// elevenDetail is what ElevenLabs' clients look for in the body of an error.
type elevenDetail struct {
	Status  string  `json:"status"` // the code
	Message string  `json:"message"`
	Param   *string `json:"param"`
}

// elevenEnvelope is a body of an error with both forms.
type elevenEnvelope struct {
	envelope
	Detail elevenDetail `json:"detail"`
}

// isEleven tells whether a request is by ElevenLabs' API.
func isEleven(path string) bool {
	return strings.HasPrefix(path, elevenPrefix) || strings.HasPrefix(path, "/v2/voices") ||
		path == "/v1/voices" || strings.HasPrefix(path, "/v1/voices/")
}
