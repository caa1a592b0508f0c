package server

import (
	"net/http"
	"strconv"
)

// voiceEntry is one voice of /v1/audio/voices.
type voiceEntry struct {
	ID   string `json:"id"`   // what a request names
	Name string `json:"name"` // what a person reads
	Kind string `json:"kind"` // "preset", or "alias" for a name of --voice-map
	Of   string `json:"of,omitempty"`
}

// listVoices lists what requests may name. Clients know two forms: voices as objects
// with id and name, and, with ?legacy=true, as bare names.
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
	names := append([]string{}, s.voiceNames(info)...)
	answer := map[string]any{"object": "list", "voices": names, "uploaded_voices": []string{}}
	if !legacy {
		entries := []voiceEntry{}
		for _, name := range names {
			entry := voiceEntry{ID: name, Name: name, Kind: "preset"}
			if preset(info, name) == "" {
				entry.Kind, entry.Of = "alias", preset(info, s.opts.Voices[name])
			}
			entries = append(entries, entry)
		}
		answer["voices"] = entries
	}
	return writeJSON(w, http.StatusOK, answer)
}
