package server

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/mynah-tts/mynah/synth"
)

// The events of stream_format sse.
const (
	eventDelta = "speech.audio.delta"
	eventDone  = "speech.audio.done"
	eventError = "speech.audio.error"
)

// deltaEvent carries audio in base64, whole samples in each for pcm.
type deltaEvent struct {
	Type  string `json:"type"`
	Audio []byte `json:"audio"`
}

// usage is OpenAI's count of tokens: of text, and of frames.
type usage struct {
	InputTokens  int `json:"input_tokens"`
	OutputTokens int `json:"output_tokens"`
	TotalTokens  int `json:"total_tokens"`
}

// doneEvent is OpenAI's, and what the trailers of bare audio tell.
type doneEvent struct {
	Type         string             `json:"type"`
	Usage        usage              `json:"usage"`
	FinishReason synth.FinishReason `json:"finish_reason"` // "length" is cut, not done
	Frames       int                `json:"frames"`
	Seed         int64              `json:"seed"`
	TTFA         int64              `json:"ttfa_ms"`
	RTF          float64            `json:"rtf"`
}

// errorEvent ends an answer that failed after its beginning.
type errorEvent struct {
	Type  string    `json:"type"`
	Error errorBody `json:"error"`
}

// events answers with audio in server-sent events.
func (a *answer) events(ctx context.Context, engine Engine, request synth.Request, in *requestInfo) error {
	a.transport, a.send = streamSSE, func(p []byte) error { return a.event(eventDelta, deltaEvent{eventDelta, p}) }
	done, err := a.speak(ctx, engine, request)
	a.logged(in, done, a.encoding, err)
	switch {
	case err == nil:
		a.begin()
		return a.event(eventDone, doneEvent{eventDone, a.usage(done), done.FinishReason, done.Frames, done.Seed, a.ttfa.Milliseconds(), done.RTF()})
	case !a.began || errors.Is(err, errClientGone):
		return err
	}
	in.err = err
	return a.event(eventError, errorEvent{eventError, asError(err).body()})
}

// usage counts an utterance's tokens.
func (u *utterance) usage(done synth.Done) usage {
	return usage{done.TextTokens, done.Frames, done.TextTokens + done.Frames}
}

// event sends one event.
func (a *answer) event(name string, v any) error {
	data, err := json.Marshal(v)
	if err != nil {
		return err
	}
	line := append([]byte("event: "+name+"\ndata: "), data...)
	return a.sendBytes(append(line, "\n\n"...))
}
