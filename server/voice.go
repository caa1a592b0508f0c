package server

import (
	"fmt"
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
	if s.opts.Voice != "" {
		if err := s.checkVoice(s.opts.Voice, "", info); err != nil {
			return err
		}
		if s.opts.Reference != nil {
			return optionErrorf("voice %q and a reference: one of them speaks when a request names none", s.opts.Voice)
		}
	}
	for _, from := range slices.Sorted(maps.Keys(s.opts.Voices)) {
		if err := s.checkVoice(s.opts.Voices[from], fmt.Sprintf(", mapped from %q", from), info); err != nil {
			return err
		}
	}
	return nil
}

// checkVoice refuses an option that names a voice that there is not.
func (s *Server) checkVoice(name, what string, info synth.Info) error {
	found, err := s.speaker(name, info)
	switch {
	case err != nil:
		return optionErrorf("voice %q%s: %s", name, what, strings.TrimPrefix(err.Message, "voice: "))
	case found != "":
		return nil
	case s.keeps(info):
		return optionErrorf("voice %q%s: this checkpoint (%s) has %s, and no such voice is kept", name, what, taskOf(info), presets(info))
	}
	if what != "" {
		what += ":"
	} else {
		what = ","
	}
	return optionErrorf("voice %q%s this checkpoint (%s) has %s", name, what, taskOf(info), presets(info))
}

// speaker finds a preset, or a voice that is kept, by its name in any case.
func (s *Server) speaker(name string, info synth.Info) (string, *Error) {
	if found := preset(info, name); found != "" {
		return found, nil
	}
	return s.kept(name, info)
}

// keeps tells whether voices are kept that this checkpoint could speak in.
func (s *Server) keeps(info synth.Info) bool {
	return s.opts.Kept != nil && info.Kind == synth.Base && s.clips.listening() != nil
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
	name := q.Voice
	if preset(info, name) == "" {
		if to, ok := s.opts.Voices[strings.ToLower(name)]; ok {
			name = to
		}
	}
	if found, err := s.speaker(name, info); found != "" || err != nil {
		return found, err
	}
	return "", s.unknownVoice(q.Voice, info)
}

// shownVoices is how many names a refusal lists.
const shownVoices = 32

// hintVoiceMap is the way out for clients that have names built in: OpenAI's, or ids of
// ElevenLabs.
const hintVoiceMap = "; other names can be given to them with --voice-map"

// unknownVoice refuses a name that no voice has.
func (s *Server) unknownVoice(name string, info synth.Info) *Error {
	names := s.voiceNames(info)
	if more := len(names) - shownVoices; more > 0 {
		names = append(names[:shownVoices:shownVoices], fmt.Sprintf("%d more", more))
	}
	e := invalid("voice", "%s, allowed are %s", quoted(name), list(names))
	switch {
	case len(names) == 0 && s.keeps(info):
		e = invalid("voice", "%s, no voices are kept yet: POST /v1/audio/voices keeps one", quoted(name))
	case len(names) == 0:
		e = invalid("voice", "%s, this checkpoint (%s) has no preset voices: leave it out, or send %q", quoted(name), taskOf(info), noVoice)
	default:
		e.Message += hintVoiceMap
	}
	e.Code = codeVoiceNotFound
	return e
}

// namesVoice reports whether a request names a voice in particular.
func (q *speechRequest) namesVoice() bool {
	return q.present["voice"] && !strings.EqualFold(q.Voice, noVoice)
}

// voiceNames are the names that requests may use: the presets, then those mapped, then
// those of voices that are kept and can speak.
func (s *Server) voiceNames(info synth.Info) []string {
	return append(s.ownNames(info), s.keptNames(info)...)
}

// ownNames are those of voices that are not kept, and of others that are mapped.
func (s *Server) ownNames(info synth.Info) []string {
	names := slices.Clone(info.Speakers)
	for _, from := range slices.Sorted(maps.Keys(s.opts.Voices)) {
		if preset(info, from) == "" {
			names = append(names, s.opts.spelling(from))
		}
	}
	return names
}

// keptNames are the names of voices that are kept and can speak.
func (s *Server) keptNames(info synth.Info) (names []string) {
	listener := s.clips.listening()
	if listener == nil {
		return nil
	}
	for _, v := range s.keptVoices() {
		if !s.hidden(v.Name, info) && s.belongs(&v, listener, info) == nil {
			names = append(names, v.Name)
		}
	}
	return names
}

// hidden tells whether a preset or a mapped name goes before a voice that is kept.
func (s *Server) hidden(name string, info synth.Info) bool {
	return preset(info, name) != "" || s.opts.Voices[strings.ToLower(name)] != ""
}
