package server

import (
	"time"
	"unicode"

	"github.com/gorilla/websocket"

	"github.com/mynah-tts/mynah/synth"
)

// The events that a session's client is sent.
const (
	eventCreated    = "session.created"
	eventUpdated    = "session.updated"
	eventAudioStart = "audio.start"
	eventAudioDone  = "audio.done"
	eventEnd        = "session.done"
	eventProblem    = "error"
)

// sessionEvent is session.created and session.updated: what utterances from now on
// will be like.
type sessionEvent struct {
	Type       string   `json:"type"`
	SessionID  string   `json:"session_id"`
	Utterance  int      `json:"utterance_index"` // of the next
	Model      string   `json:"model"`
	Voice      string   `json:"voice"` // "" for none in particular
	Format     string   `json:"format"`
	SampleRate int      `json:"sample_rate"`
	Channels   int      `json:"channels"`
	Ignored    []string `json:"ignored_fields,omitempty"`
}

// Scopes of what lies between audio.start and audio.done.
const (
	scopeSentence  = "sentence"
	scopeUtterance = "utterance"
)

// startEvent is audio.start.
type startEvent struct {
	Type        string `json:"type"`
	Utterance   int    `json:"utterance_index"`
	Sentence    int    `json:"sentence_index"`
	Text        string `json:"sentence_text"` // as far as it is known
	Scope       string `json:"scope"`
	Format      string `json:"format"`
	ContentType string `json:"content_type"`
	SampleRate  int    `json:"sample_rate"`
	Channels    int    `json:"channels"`
	Estimate    int64  `json:"estimated_ms"` // of what is known of the text
	Seed        int64  `json:"seed"`
	Voice       string `json:"voice"`

	Warnings []string `json:"warnings,omitempty"` // of the clip that the voice is of
}

// doneAudioEvent is audio.done.
type doneAudioEvent struct {
	Type      string             `json:"type"`
	Utterance *int               `json:"utterance_index"` // null only if nothing was ever said
	Sentence  *int               `json:"sentence_index"`  // null without audio.start
	Text      string             `json:"sentence_text"`
	Bytes     int64              `json:"total_bytes"`
	Frames    int                `json:"frames"`
	TTFA      int64              `json:"ttfa_ms"`
	RTF       float64            `json:"rtf"`
	Seed      *int64             `json:"seed"` // null before it was chosen
	Finish    synth.FinishReason `json:"finish_reason"`
	Error     bool               `json:"error"`
}

// endEvent is session.done: the end of an utterance, not of the session.
type endEvent struct {
	Type      string             `json:"type"`
	Utterance int                `json:"utterance_index"`
	Sentences int                `json:"total_sentences"`
	Finish    synth.FinishReason `json:"finish_reason"`
}

// problemEvent is error.
type problemEvent struct {
	Type       string  `json:"type"`
	Code       string  `json:"code"`
	Message    string  `json:"message"`
	Param      *string `json:"param"`
	Fatal      bool    `json:"fatal"`
	Utterance  *int    `json:"utterance_index"` // null if it is about none
	RetryAfter int64   `json:"retry_after_ms,omitempty"`
}

func problemOf(e *Error, utterance *int, fatal bool) problemEvent {
	body := e.body()
	p := problemEvent{Type: eventProblem, Code: e.Code, Message: body.Message, Param: body.Param, Fatal: fatal, Utterance: utterance}
	if p.Code == "" {
		p.Code = body.Type
	}
	if e.RetryAfter > 0 && e.Code != errDraining.Code {
		p.RetryAfter = e.RetryAfter.Milliseconds()
	}
	return p
}

// cancelled are the events that end an utterance which was taken back.
func (t *turn) cancelled(s shown) []outgoing {
	done := doneAudioEvent{
		Type: eventAudioDone, Utterance: &t.index, Bytes: s.bytes, Frames: s.frames,
		TTFA: t.ttfa.Milliseconds(), Finish: synth.FinishCancelled,
	}
	if s.starts > 0 {
		done.Seed = &t.start.Seed
	}
	if s.open {
		done.Sentence = &s.sentence
	} else {
		done.Bytes, done.Frames = 0, 0
	}
	end := endEvent{eventEnd, t.index, s.starts, synth.FinishCancelled}
	return []outgoing{
		{kind: websocket.TextMessage, data: encode(done), turn: t, mark: markDone},
		{kind: websocket.TextMessage, data: encode(end), turn: t, mark: markEnd},
	}
}

// How long text takes to be said, about: a letter of an alphabet, and one of a script
// of which each stands for a syllable or more.
const (
	letterTime   = 65 * time.Millisecond
	syllableTime = 200 * time.Millisecond
	shortestTime = 400 * time.Millisecond
)

// estimate is about how long a text takes to be said.
func estimate(text string, speed float64) time.Duration {
	var d time.Duration
	for _, r := range text {
		switch {
		case unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul):
			d += syllableTime
		case !unicode.IsControl(r):
			d += letterTime
		}
	}
	d = max(d, shortestTime)
	if speed > 0 {
		d = time.Duration(float64(d) / speed)
	}
	return d.Round(10 * time.Millisecond)
}
