package wyoming

import (
	"encoding/json"
)

// The types of events that a speaking program takes and sends.
const (
	TypeDescribe = "describe"
	TypeInfo     = "info"
	TypePing     = "ping"
	TypePong     = "pong"
	TypeError    = "error"

	TypeSynthesize = "synthesize"
	TypeStart      = "synthesize-start"
	TypeChunk      = "synthesize-chunk"
	TypeStop       = "synthesize-stop"
	TypeStopped    = "synthesize-stopped"

	TypeAudioStart = "audio-start"
	TypeAudioChunk = "audio-chunk"
	TypeAudioStop  = "audio-stop"
)

// Voice is what a client says of the voice that it wants. A name goes before a language.
type Voice struct {
	Name     string `json:"name"`
	Language string `json:"language"`
	Speaker  string `json:"speaker"`
}

// Synthesize are the data of synthesize, synthesize-start and synthesize-chunk.
type Synthesize struct {
	Text       *string `json:"text"`
	Voice      *Voice  `json:"voice"`
	TextFormat string  `json:"text_format"` // "text" or "ssml"; "" is text
}

// Synthesize reads the data of an event that wants something to be spoken. Values of
// other types are a *FormatError.
func (e Event) Synthesize() (Synthesize, error) {
	var s Synthesize
	for name, to := range map[string]any{"text": &s.Text, "voice": &s.Voice, "text_format": &s.TextFormat} {
		if value, ok := e.Data[name]; ok && json.Unmarshal(value, to) != nil {
			return s, formatErrorf("%s: %s has a value of another type", e.Type, name)
		}
	}
	return s, nil
}

// Info are the data of info. Programs that Mynah does not have are empty lists, since
// clients read all of them.
type Info struct {
	ASR    []Program `json:"asr"`
	TTS    []Program `json:"tts"`
	Handle []Program `json:"handle"`
	Intent []Program `json:"intent"`
	Wake   []Program `json:"wake"`
	Mic    []Program `json:"mic"`
	Snd    []Program `json:"snd"`
}

// NewInfo describes a single program that speaks.
func NewInfo(tts Program) Info {
	none := []Program{}
	return Info{none, []Program{tts}, none, none, none, none, none}
}

// Artifact is a program, or a voice.
type Artifact struct {
	Name        string      `json:"name"`
	Attribution Attribution `json:"attribution"`
	Installed   bool        `json:"installed"`
	Description string      `json:"description"`
	Version     string      `json:"version"`
}

// Attribution says who made an artifact.
type Attribution struct {
	Name string `json:"name"`
	URL  string `json:"url"`
}

// Program is a program that speaks.
type Program struct {
	Artifact
	Voices    []InfoVoice `json:"voices"`
	Streaming bool        `json:"supports_synthesize_streaming"`
}

// InfoVoice is one of its voices.
type InfoVoice struct {
	Artifact
	Languages []string `json:"languages"`
}

// Audio are the data of audio-start and audio-chunk.
type Audio struct {
	Rate      int   `json:"rate"`  // Hz
	Width     int   `json:"width"` // bytes of a sample
	Channels  int   `json:"channels"`
	Timestamp int64 `json:"timestamp"` // ms
}

// AudioStop are the data of audio-stop.
type AudioStop struct {
	Timestamp int64 `json:"timestamp"` // ms
}

// Problem are the data of error.
type Problem struct {
	Text string `json:"text"`
	Code string `json:"code"`
}
