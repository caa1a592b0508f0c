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
//	yes    –          –          that voice        400           400
//	–      yes        yes        400               400           clone, in context
//	–      yes        –          400               400           clone with x_vector_only_mode, else 400
//	–      –          yes        400               400           400
//	yes    yes        any        400               400           400
//	yes    –          yes        400               400           400

// request puts the fields into the engine's terms.
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
	if err := q.checkReference(info); err != nil {
		return r, err
	}
	voice, err := s.voice(q, info)
	if err != nil {
		return r, err
	}
	r = synth.Request{
		Text: q.Input, Voice: voice, Language: q.Language, Instruct: q.Instructions,
		Seed: q.Seed, MaxFrames: q.MaxNewTokens,
		Sampling: synth.Sampling{
			Temperature: q.Temperature, TopK: q.TopK, TopP: q.TopP, RepetitionPenalty: q.RepetitionPenalty,
			SubTemperature: q.SubTemperature, SubTopK: q.SubTopK, SubTopP: q.SubTopP,
		},
	}
	if info.Kind == synth.Base {
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
func (q *speechRequest) checkReference(info synth.Info) *Error {
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
	case q.RefText == "" && !vectorOnly:
		return invalid("ref_text", "it is missing: the transcript of ref_audio, unless x_vector_only_mode is true")
	}
	return q.checkRefAudio()
}

// checkRefAudio takes data URLs alone: the server opens no addresses and no files for
// its clients.
func (q *speechRequest) checkRefAudio() *Error {
	scheme, rest, _ := strings.Cut(q.RefAudio, ":")
	if !strings.EqualFold(scheme, "data") {
		return invalid("ref_audio", "%s, allowed are data URLs (data:audio/wav;base64,…)", quoted(q.RefAudio))
	}
	media, _, found := strings.Cut(rest, ",")
	if !found || !strings.HasSuffix(strings.ToLower(media), ";base64") {
		return invalid("ref_audio", "%s is no data URL in base64 (data:audio/wav;base64,…)", quoted(q.RefAudio))
	}
	return invalid("ref_audio", "this build has no encoder for audio; it clones only the voice that mynah serve --reference was given")
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
