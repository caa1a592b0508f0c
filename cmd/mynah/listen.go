package main

import (
	"context"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/internal/profile"
	"github.com/mynah-tts/mynah/synth"
)

// audience is what is spoken to several listeners at once, and how they take it.
type audience struct {
	model    *synth.Model
	request  synth.Request
	frames   int                 // of each stream
	format   audio.Format        // what each frame is encoded as; nothing if empty
	recorder *profile.Recorder   // or nil
	tracer   func() synth.Tracer // of a stream; or nil
}

// heard is what came of it.
type heard struct {
	ttfa       []time.Duration // of each stream
	promptRows int
}

// run has so many streams spoken and reads each on a goroutine of its own, until it has
// its frames. An utterance that ends early is followed by another, with another seed. All
// are over when it returns without an error: the model computes nothing then.
func (l *audience) run(ctx context.Context, streams int) (heard, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	all := make([]*listener, streams)
	for i := range all {
		info := l.model.Info()
		frame := time.Duration(info.FrameSize) * time.Second / time.Duration(info.SampleRate)
		all[i] = &listener{audience: l, seed: profileSeed + int64(i), left: l.frames, times: l.recorder.Listener(frame, l.frames)}
	}
	var wg sync.WaitGroup
	var once sync.Once
	var first error
	for _, each := range all {
		wg.Go(func() {
			if err := each.run(ctx); err != nil {
				once.Do(func() { first = err })
				cancel() // the others have no use
			}
		})
	}
	wg.Wait()
	h := heard{promptRows: all[0].promptRows}
	for _, each := range all {
		h.ttfa = append(h.ttfa, each.ttfa)
	}
	return h, first
}

// listener is one reader among others.
type listener struct {
	*audience
	times      *profile.Listener
	sink       audio.Sink // or nil
	seed       int64
	left       int // frames to come
	spoke      bool
	ttfa       time.Duration
	promptRows int
}

func (u *listener) run(ctx context.Context) (err error) {
	if u.format != "" {
		u.sink, err = audio.NewEncoder(io.Discard, u.model.Info().SampleRate, audio.Encoding{Format: u.format})
		if err != nil {
			return &plainError{err}
		}
		defer u.sink.Abort()
	}
	for u.left > 0 {
		if err := u.utterance(ctx); err != nil {
			return err
		}
	}
	if u.sink == nil {
		return nil
	}
	return u.sink.Close()
}

// utterance reads one utterance to its end.
func (u *listener) utterance(ctx context.Context) error {
	r := u.request
	r.Seed, r.MaxFrames = &u.seed, u.left
	begun := time.Now()
	u.times.Asked()
	stream, err := u.speak(ctx, r)
	if err != nil {
		return err
	}
	defer stream.Close()
	for event, err := range stream.Events() {
		if err != nil {
			return err
		}
		switch e := event.(type) {
		case synth.Start:
			u.promptRows = e.PromptRows - e.PromptKept
		case synth.Audio:
			if err := u.take(e, begun); err != nil {
				return err
			}
		case synth.Done:
			if e.FinishReason == synth.FinishCancelled {
				return &exitError{exitFailed, "interrupted"}
			}
			if e.Frames == 0 {
				return fmt.Errorf("the utterance of seed %d has no frame", u.seed)
			}
		}
	}
	u.seed += 1 << 20
	return nil
}

func (u *listener) speak(ctx context.Context, r synth.Request) (*synth.Stream, error) {
	if u.tracer != nil {
		return u.model.SpeakTraced(ctx, r, u.tracer())
	}
	return u.model.Speak(ctx, r)
}

// take takes a frame, or a part of the silence between two segments.
func (u *listener) take(e synth.Audio, begun time.Time) error {
	if e.Codes != nil {
		u.times.Heard()
		u.left--
		if !u.spoke {
			u.spoke, u.ttfa = true, time.Since(begun)
		}
	}
	if u.sink == nil {
		return nil
	}
	err := u.sink.Write(e.PCM)
	if e.Codes != nil {
		u.times.Encoded()
	}
	return err
}
