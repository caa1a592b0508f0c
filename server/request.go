package server

import (
	"slices"
	"strings"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

// The checks of fields against one another and against the checkpoint. Which of voice,
// ref_audio and ref_text may stand together:
//
//	voice  ref_audio  ref_text   CustomVoice       VoiceDesign   Base
//	–      –          –          default voice     designed      the server's reference, or 400
//	yes    –          –          that voice        400           a voice that is kept
//	–      yes        yes        400               400           clone, in context
//	–      yes        –          400               400           clone with x_vector_only_mode, else 400
//	–      –          yes        400               400           400
//	yes    yes        any        400               400           400
//	yes    –          yes        400               400           400

// request puts the fields into the engine's terms, but for a clip that they bring along:
// that is for hearClip, since it takes time.
func (s *Server) request(q *speechRequest, info synth.Info) (synth.Request, error) {
	var r synth.Request
	if err := s.checkModel(q, info); err != nil {
		return r, err
	}
	if err := q.checkText(s.opts.Limits); err != nil {
		return r, err
	}
	if err := q.checkTask(info); err != nil {
		return r, err
	}
	if err := s.checkReference(q, info); err != nil {
		return r, err
	}
	voice := ""
	if q.clip() == nil {
		var err *Error
		if voice, err = s.voice(q, info); err != nil {
			return r, err
		}
	}
	r = synth.Request{
		Text: q.Input, Voice: voice, Language: q.Language, Instruct: q.Instructions,
		Seed: q.Seed, MaxFrames: q.MaxNewTokens,
		Sampling: synth.Sampling{
			Temperature: q.Temperature, TopK: q.TopK, TopP: q.TopP, RepetitionPenalty: q.RepetitionPenalty,
			SubTemperature: q.SubTemperature, SubTopK: q.SubTopK, SubTopP: q.SubTopP,
		},
	}
	if info.Kind == synth.Base && voice == "" && q.clip() == nil {
		r.Reference = s.opts.Reference
	}
	if q.NonStreamingMode != nil {
		r.Layout = synth.LayoutStreaming
		if *q.NonStreamingMode {
			r.Layout = synth.LayoutWhole
		}
	}
	return r, nil
}

// taskOf names what a checkpoint does, as the API does.
func taskOf(info synth.Info) string {
	switch info.Kind {
	case synth.VoiceDesign:
		return "VoiceDesign"
	case synth.Base:
		return "Base"
	}
	return "CustomVoice"
}

// checkTask compares the task with the checkpoint's kind. Without one it is what the
// checkpoint does.
func (q *speechRequest) checkTask(info synth.Info) *Error {
	if q.TaskType == "" || q.TaskType == taskOf(info) {
		return nil
	}
	return invalid("task_type", "%s needs a %s checkpoint, this is %s", q.TaskType, q.TaskType, taskOf(info))
}

// checkReference checks the fields of cloning.
func (s *Server) checkReference(q *speechRequest, info synth.Info) *Error {
	vectorOnly := q.XVectorOnly != nil && *q.XVectorOnly
	switch {
	case !q.present["ref_audio"] && q.present["ref_text"]:
		return invalid("ref_text", "it is the transcript of ref_audio, which is missing")
	case !q.present["ref_audio"] && vectorOnly:
		return invalid("x_vector_only_mode", "it is about ref_audio, which is missing")
	case !q.present["ref_audio"]:
		return nil
	case info.Kind != synth.Base:
		return invalid("ref_audio", "cloning needs a Base checkpoint, this is %s", taskOf(info))
	case q.namesVoice():
		return invalid("ref_audio", "it cannot be together with the voice %s: one of them speaks", quoted(q.Voice))
	case strings.TrimSpace(q.RefText) == "" && !vectorOnly:
		return invalid("ref_text", "it is missing: the transcript of ref_audio, unless x_vector_only_mode is true")
	}
	if _, err := q.RefAudio.bytes(s.opts.Limits.ClipBytes); err != nil {
		return err
	}
	return s.checkCloning("ref_audio", info)
}

// checkCloning refuses clips where there is nothing that hears them.
func (s *Server) checkCloning(param string, info synth.Info) *Error {
	switch {
	case info.Kind != synth.Base:
		return invalid(param, "cloning needs a Base checkpoint, this is %s", taskOf(info))
	case !info.Cloning || s.clips.listening() == nil:
		return invalid(param, "this checkpoint has no encoders, so that it hears no clips")
	}
	return nil
}

// ModelAliases are names of OpenAI's models, which clients have built in: they mean
// the model that is served.
var ModelAliases = []string{"gpt-4o-mini-tts", "tts-1", "tts-1-hd"}

// undated is a model's name without the date of a snapshot, as in
// gpt-4o-mini-tts-2025-12-15.
func undated(model string) string {
	at := len(model) - len("-2006-01-02")
	if at <= 0 {
		return model
	}
	if _, err := time.Parse("-2006-01-02", model[at:]); err != nil {
		return model
	}
	return model[:at]
}

// checkModel refuses models other than the one that is served. A request may leave the
// model out.
func (s *Server) checkModel(q *speechRequest, info synth.Info) *Error {
	if !q.present["model"] {
		return nil
	}
	name := undated(q.Model)
	if slices.ContainsFunc(s.modelIDs(info), func(id string) bool { return strings.EqualFold(id, name) || strings.EqualFold(id, q.Model) }) {
		return nil
	}
	return modelNotFound("model", q.Model, s.modelIDs(info))
}
