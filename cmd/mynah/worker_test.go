package main

import (
	"context"
	"errors"
	"testing"

	"github.com/mynah-tts/mynah/synth"
)

// A worker that is told to end while it opens its checkpoint ends well; one that cannot open
// it does not.
func TestWorkerEndsWhileOpening(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	blocked := make(chan struct{})
	defer close(blocked)
	model, err := openToWork(ctx, func() (*synth.Model, error) {
		cancel()
		<-blocked
		return nil, nil
	})
	if model != nil || err != nil {
		t.Errorf("told to end: %v, %v", model, err)
	}
	broken := errors.New("it is broken")
	if _, err := openToWork(t.Context(), func() (*synth.Model, error) { return nil, broken }); !errors.Is(err, broken) {
		t.Errorf("a checkpoint that is broken: %v", err)
	}
}
