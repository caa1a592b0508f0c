package client

import (
	"encoding/json"
	"fmt"
	"time"
)

// Event is what a Stream yields: AudioStart, Audio, AudioDone, UtteranceDone, or an *Error
// that does not end the stream. Between an AudioStart and its AudioDone lies one thing that
// can be played.
type Event interface{ event() }

// AudioStart tells that audio begins.
type AudioStart struct {
	Utterance  int    `json:"utterance_index"` // counts from 0
	Sentence   int    `json:"sentence_index"`
	Text       string `json:"sentence_text"` // as far as it is known
	Scope      string `json:"scope"`         // "sentence", or "utterance" for formats that are one file
	Format     string `json:"format"`
	SampleRate int    `json:"sample_rate"` // Hz
	Seed       int64  `json:"seed"`
	Voice      string `json:"voice"`
}

// Audio is audio of the AudioStart before; of pcm and wav whole samples.
type Audio []byte

// AudioDone tells that audio has ended.
type AudioDone struct {
	Utterance    int          `json:"utterance_index"`
	Sentence     *int         `json:"sentence_index"` // nil for an utterance that was cancelled between two
	Text         string       `json:"sentence_text"`
	Bytes        int64        `json:"total_bytes"`
	Frames       int          `json:"frames"` // of 80 ms
	TTFAms       int64        `json:"ttfa_ms"`
	RTF          float64      `json:"rtf"`
	FinishReason FinishReason `json:"finish_reason"`
}

// UtteranceDone is the end of an utterance: exactly one for each. Only Stop means that all of
// the text was spoken.
type UtteranceDone struct {
	Utterance    int          `json:"utterance_index"`
	Sentences    int          `json:"total_sentences"`
	FinishReason FinishReason `json:"finish_reason"`
}

// sessionUpdated answers a configuration.
type sessionUpdated struct{}

func (AudioStart) event()     {}
func (Audio) event()          {}
func (AudioDone) event()      {}
func (UtteranceDone) event()  {}
func (*Error) event()         {}
func (sessionUpdated) event() {}

// parseEvent reads an event; nil is one that is not known.
func parseEvent(data []byte) (Event, error) {
	var kind struct{ Type string }
	if err := json.Unmarshal(data, &kind); err != nil {
		return nil, fmt.Errorf("client: the server sent no JSON: %w", err)
	}
	var to Event
	var err error
	switch kind.Type {
	case "session.updated":
		return sessionUpdated{}, nil
	case "audio.start":
		e := AudioStart{}
		err = json.Unmarshal(data, &e)
		to = e
	case "audio.done":
		e := AudioDone{}
		err = json.Unmarshal(data, &e)
		to = e
	case "session.done":
		e := UtteranceDone{}
		err = json.Unmarshal(data, &e)
		to = e
	case "error":
		e := struct {
			errorBody
			Fatal bool  `json:"fatal"`
			Retry int64 `json:"retry_after_ms"`
		}{}
		err = json.Unmarshal(data, &e)
		to = &Error{Message: e.Message, Code: e.Code, Param: e.Param, Fatal: e.Fatal, RetryAfter: time.Duration(e.Retry) * time.Millisecond}
	}
	if err != nil {
		return nil, fmt.Errorf("client: the server sent %s: %w", kind.Type, err)
	}
	return to, nil
}
