package server

import (
	"context"

	"github.com/mynah-tts/mynah/synth"
)

// Engine is what the server needs of a model. FromModel makes one of a synth.Model;
// tests have one that emits frames on command.
type Engine interface {
	Info() synth.Info
	Speak(ctx context.Context, r synth.Request) (Stream, error)
	SpeakPieces(ctx context.Context, r synth.Request) (PieceStream, error)
	Load() synth.Load
	Drain()
}

// Stream is one utterance: see synth.Stream.
type Stream interface {
	Next() (synth.Event, error)
	Close() error
}

// PieceStream is an utterance whose text arrives in pieces.
type PieceStream interface {
	Stream
	Write(piece string) error
	Flush() error
	End() error
}

// FromModel makes an Engine of an open model.
func FromModel(m *synth.Model) Engine { return modelEngine{m} }

// modelEngine gives a model's methods the types of the interfaces.
type modelEngine struct{ *synth.Model }

func (e modelEngine) Speak(ctx context.Context, r synth.Request) (Stream, error) {
	s, err := e.Model.Speak(ctx, r)
	if err != nil {
		return nil, err
	}
	return s, nil
}

func (e modelEngine) SpeakPieces(ctx context.Context, r synth.Request) (PieceStream, error) {
	s, err := e.Model.SpeakPieces(ctx, r)
	if err != nil {
		return nil, err
	}
	return s, nil
}
