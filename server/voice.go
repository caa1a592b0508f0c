package server

import (
	"maps"
	"slices"
	"strings"

	"github.com/mynah-tts/mynah/synth"
)

// OpenAIVoices are the names of OpenAI's voices, which many clients have built in.
var OpenAIVoices = []string{"alloy", "ash", "ballad", "cedar", "coral", "echo", "fable", "marin", "nova", "onyx", "sage", "shimmer", "verse"}

const (
	// allOpenAI stands for all of OpenAIVoices in Options.Voices.
	allOpenAI = "openai"

	// noVoice is the name of no voice in particular, for clients that must send one:
	// the same as leaving it out.
	noVoice = "default"
)

// checkVoices refuses options that name voices that the model does not have.
func (s *Server) checkVoices(info synth.Info) error {
	if s.opts.Voice != "" && preset(info, s.opts.Voice) == "" {
		return optionErrorf("voice %q, this checkpoint (%s) has %s", s.opts.Voice, taskOf(info), presets(info))
	}
	for _, from := range slices.Sorted(maps.Keys(s.opts.Voices)) {
		if to := s.opts.Voices[from]; preset(info, to) == "" {
			return optionErrorf("voice %q, mapped from %q: this checkpoint (%s) has %s", to, from, taskOf(info), presets(info))
		}
	}
	return nil
}

// preset finds a preset voice by its name in any case, or "".
func preset(info synth.Info, name string) string {
	for _, speaker := range info.Speakers {
		if strings.EqualFold(speaker, name) {
			return speaker
		}
	}
	return ""
}

func presets(info synth.Info) string {
	if len(info.Speakers) == 0 {
		return "no preset voices"
	}
	return list(info.Speakers)
}

// voice resolves the voice that a request names. There is no falling back: what is
// unknown is refused.
func (s *Server) voice(q *speechRequest, info synth.Info) (string, *Error) {
	if !q.namesVoice() {
		return s.opts.Voice, nil
	}
	if name := preset(info, q.Voice); name != "" {
		return name, nil
	}
	if to, ok := s.opts.Voices[strings.ToLower(q.Voice)]; ok {
		return preset(info, to), nil
	}
	if len(info.Speakers) == 0 {
		return "", invalid("voice", "%s, this checkpoint (%s) has no preset voices: leave it out, or send %q", quoted(q.Voice), taskOf(info), noVoice)
	}
	e := invalid("voice", "%s, allowed are %s", quoted(q.Voice), list(s.voiceNames(info)))
	if slices.Contains(OpenAIVoices, strings.ToLower(q.Voice)) {
		e.Message += "; OpenAI's names can be given to them with --voice-map"
	}
	e.Code = "voice_not_found"
	return "", e
}

// namesVoice reports whether a request names a voice in particular.
func (q *speechRequest) namesVoice() bool {
	return q.present["voice"] && !strings.EqualFold(q.Voice, noVoice)
}

// voiceNames are the names that requests may use: the presets, then those mapped.
func (s *Server) voiceNames(info synth.Info) []string {
	names := slices.Clone(info.Speakers)
	for _, from := range slices.Sorted(maps.Keys(s.opts.Voices)) {
		if preset(info, from) == "" {
			names = append(names, from)
		}
	}
	return names
}
