package server

import (
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/mynah-tts/mynah/internal/voices"
	"github.com/mynah-tts/mynah/synth"
)

// The kinds of voices.
const (
	kindPreset   = "preset"   // of the checkpoint
	kindAlias    = "alias"    // a name of --voice-map
	kindUploaded = "uploaded" // kept, of a clip
)

// voiceEntry is one voice of /v1/audio/voices.
type voiceEntry struct {
	ID   string `json:"id"`   // what a request names
	Name string `json:"name"` // what a person reads
	Kind string `json:"kind"`
	Of   string `json:"of,omitempty"` // the voice that an alias means

	*uploadedVoice
}

// uploadedVoice is what is known of a voice that is kept. The names are vLLM-omni's,
// where it has one.
type uploadedVoice struct {
	CreatedAt   int64   `json:"created_at"` // seconds since 1970
	FileSize    int64   `json:"file_size"`  // bytes that are kept
	Seconds     float64 `json:"seconds"`    // of the clip
	Mode        string  `json:"mode"`       // "in_context" with a transcript, "x_vector" without
	Language    string  `json:"language,omitempty"`
	RefText     string  `json:"ref_text,omitempty"`
	Consent     string  `json:"consent,omitempty"`
	Description string  `json:"speaker_description,omitempty"`
	Model       string  `json:"model"`             // the checkpoint that it was made with
	Usable      bool    `json:"usable"`            // with the checkpoint that is served
	Problem     string  `json:"problem,omitempty"` // why it is not
}

// namedVoice is an element of uploaded_voices.
type namedVoice struct {
	Name string `json:"name"`
	*uploadedVoice
}

// describeVoice tells what clients may know of a voice that is kept.
func (s *Server) describeVoice(v *voices.Voice, info synth.Info) *uploadedVoice {
	u := &uploadedVoice{
		CreatedAt: v.Created.Unix(), FileSize: v.Bytes, Seconds: v.Seconds, Mode: v.Mode, Language: v.Language, RefText: v.Text,
		Consent: v.Consent, Description: v.Description, Model: v.Model,
	}
	switch listener := s.clips.listening(); {
	case listener == nil || info.Kind != synth.Base:
		u.Problem = "voices that are kept need a Base checkpoint, this is " + taskOf(info)
	case s.hidden(v.Name, info):
		u.Problem = "another voice has this name"
	default:
		if err := s.belongs(v, listener, info); err != nil {
			u.Problem = asError(s.voiceError("voice", err)).Message
		}
	}
	u.Usable = u.Problem == ""
	return u
}

// presetEntries are the voices that are not kept: presets and aliases.
func (s *Server) presetEntries(info synth.Info) []voiceEntry {
	entries := []voiceEntry{}
	for _, name := range info.Speakers {
		entries = append(entries, voiceEntry{ID: name, Name: name, Kind: kindPreset})
	}
	for _, from := range slices.Sorted(maps.Keys(s.opts.Voices)) {
		if preset(info, from) == "" {
			to := s.opts.Voices[from]
			if found := preset(info, to); found != "" {
				to = found
			}
			name := s.opts.spelling(from)
			entries = append(entries, voiceEntry{ID: name, Name: name, Kind: kindAlias, Of: to})
		}
	}
	return entries
}

// listVoices lists what requests may name. Clients know two forms: voices as objects
// with id and name, and, with ?legacy=true, as bare names. Voices that are kept stand in
// uploaded_voices as well, as vLLM-omni has it.
func (s *Server) listVoices(w *response, r *http.Request) error {
	engine, err := s.ready()
	if err != nil {
		return err
	}
	legacy := false
	if given := r.URL.Query().Get("legacy"); given != "" {
		if legacy, err = strconv.ParseBool(given); err != nil {
			return invalid("legacy", "%s, allowed are true and false", quoted(given))
		}
	}
	info := engine.Info()
	entries := s.presetEntries(info)
	uploaded := []namedVoice{}
	for _, v := range s.keptVoices() {
		u := s.describeVoice(&v, info)
		uploaded = append(uploaded, namedVoice{v.Name, u})
		if u.Usable {
			entries = append(entries, voiceEntry{ID: v.Name, Name: v.Name, Kind: kindUploaded, uploadedVoice: u})
		}
	}
	answer := map[string]any{"object": "list", "voices": entries, "uploaded_voices": uploaded}
	if legacy {
		names := []string{}
		for _, entry := range entries {
			names = append(names, entry.ID)
		}
		answer["voices"] = names
	}
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, http.StatusOK, answer)
}

// getVoice answers GET /v1/audio/voices/{name}.
func (s *Server) getVoice(w *response, r *http.Request) error {
	engine, err := s.ready()
	if err != nil {
		return err
	}
	info, name := engine.Info(), r.PathValue("name")
	for _, entry := range s.presetEntries(info) {
		if strings.EqualFold(entry.ID, name) {
			return writeJSON(w, http.StatusOK, entry)
		}
	}
	if s.opts.Kept == nil {
		return noSuchVoice(name)
	}
	v, err := s.opts.Kept.Get(name)
	if err != nil {
		return s.voiceError("name", err)
	}
	w.Header().Set("Cache-Control", "no-store")
	return writeJSON(w, http.StatusOK, voiceEntry{ID: v.Name, Name: v.Name, Kind: kindUploaded, uploadedVoice: s.describeVoice(&v, info)})
}

func noSuchVoice(name string) *Error {
	return &Error{Status: http.StatusNotFound, Type: typeInvalid, Param: "name", Code: codeVoiceNotFound, Message: "name: there is no voice " + quoted(name)}
}

// removeVoice answers DELETE /v1/audio/voices/{name}. Utterances that have begun in the
// voice go on.
func (s *Server) removeVoice(w *response, r *http.Request) error {
	engine, release, err := s.begin()
	if err != nil {
		return err
	}
	defer release()
	name := r.PathValue("name")
	for _, entry := range s.presetEntries(engine.Info()) {
		if strings.EqualFold(entry.ID, name) {
			return invalid("name", "%s is no voice that is kept (%s)", quoted(name), entry.Kind)
		}
	}
	if s.opts.Kept == nil {
		return errNoVoices
	}
	if err := s.opts.Kept.Remove(name); err != nil {
		return s.voiceError("name", err)
	}
	return writeJSON(w, http.StatusOK, map[string]any{"success": true, "id": name, "object": "voice", "deleted": true})
}
