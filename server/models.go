package server

import (
	"net/http"
	"path/filepath"
	"strings"

	"github.com/mynah-tts/mynah/synth"
)

// model is one entry of /v1/models: OpenAI's four fields, and what ours can do.
type model struct {
	ID      string `json:"id"`
	Object  string `json:"object"`
	Created int64  `json:"created"` // seconds since 1970: when the server started
	OwnedBy string `json:"owned_by"`

	Root            string   `json:"root"` // the model that an alias means
	TaskType        string   `json:"task_type"`
	ResponseFormats []string `json:"response_formats"`
	SampleRate      int      `json:"sample_rate"` // Hz, unless asked otherwise
	Languages       []string `json:"languages"`
	Instructions    bool     `json:"instructions"` // whether it takes them
	Cloning         bool     `json:"cloning"`      // whether it takes ref_audio
}

// modelID is the model's own name. The folder that it lies in is nobody's business.
func (s *Server) modelID(info synth.Info) string {
	if s.opts.ModelID != "" {
		return s.opts.ModelID
	}
	return strings.Join(strings.FieldsFunc(filepath.Base(info.Name), notOfID), "-")
}

// modelIDs are the names that requests may use.
func (s *Server) modelIDs(info synth.Info) []string {
	return append([]string{s.modelID(info)}, ModelAliases...)
}

func (s *Server) models(info synth.Info) []model {
	var all []model
	for _, id := range s.modelIDs(info) {
		all = append(all, model{
			ID: id, Object: "model", Created: s.started.Unix(), OwnedBy: "mynah",
			Root: s.modelID(info), TaskType: taskOf(info), ResponseFormats: formats(), SampleRate: info.SampleRate,
			Languages: append([]string{}, info.Languages...), Instructions: info.Instruct,
			Cloning: s.checkCloning("ref_audio", info) == nil,
		})
	}
	return all
}

func (s *Server) listModels(w *response, _ *http.Request) error {
	engine, err := s.ready()
	if err != nil {
		return err
	}
	return writeJSON(w, http.StatusOK, map[string]any{"object": "list", "data": s.models(engine.Info())})
}

func (s *Server) getModel(w *response, r *http.Request) error {
	engine, err := s.ready()
	if err != nil {
		return err
	}
	id := r.PathValue("id")
	for _, m := range s.models(engine.Info()) {
		if strings.EqualFold(m.ID, id) {
			return writeJSON(w, http.StatusOK, m)
		}
	}
	return modelNotFound("", id, s.modelIDs(engine.Info()))
}

func modelNotFound(param, id string, ids []string) *Error {
	return &Error{Status: http.StatusNotFound, Type: typeInvalid, Param: param, Code: "model_not_found",
		Message: "model: " + quoted(id) + ", allowed are " + list(ids)}
}
