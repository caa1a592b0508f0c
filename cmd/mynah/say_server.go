package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"strings"
	"time"

	"github.com/mynah-tts/mynah/client"
	"github.com/mynah-tts/mynah/synth"
)

// serverFlags choose a server that speaks instead of this program.
type serverFlags struct {
	Server string `help:"Server that speaks instead of this program, such as http://127.0.0.1:8080, or HOST:PORT: with its model, and in all forms that this program writes." placeholder:"URL" unset:"none"`
	APIKey string `name:"api-key" help:"Key of that server, if it has keys. On the command line others on this machine see it." placeholder:"KEY" unset:"none"`
}

// ask has a text spoken by the server.
func (c *sayCommand) ask(p *program, out output, text string) error {
	request, err := c.serverRequest(p, text)
	if err != nil {
		return err
	}
	ctx, signals := catchInterrupts()
	progress := startProgress(p.stderr, c.Quiet)
	defer func() { progress.stop() }()
	progress.start()
	began := time.Now()
	server := &client.Client{BaseURL: c.Server, Key: c.APIKey}
	if !c.Quiet {
		server.OnRetry = func(refusal *client.Error, wait time.Duration) {
			progress.stop() // for the note
			p.note("the server is busy, asking again in %v: %s", wait.Round(time.Second), refusal.Message)
			progress = startProgress(p.stderr, c.Quiet)
			progress.start()
		}
	}
	answer, err := server.Speak(ctx, request)
	if err != nil {
		return c.serverError(p, ctx, err)
	}
	defer answer.Close()
	if len(answer.Info.Warnings) > 0 && !c.Quiet {
		progress.stop()
		for _, warning := range answer.Info.Warnings {
			p.warn(warning)
		}
		progress = startProgress(p.stderr, c.Quiet)
	}
	s := &speech{program: p, out: out, progress: progress, quiet: c.Quiet, spedUp: true}
	return s.hear(signals, answer.Info.SampleRate, serverEvents(ctx, answer, began, request.Speed))
}

// serverRate is the highest rate that a server makes; higher ones are made here.
const serverRate = 48000

// serverRequest puts the flags into the terms of the server. It sends samples in the speed
// and at the rate that are asked for, which are encoded here: so they are what a run of
// this program makes of more than 16 bits.
func (c *sayCommand) serverRequest(p *program, text string) (client.Request, error) {
	if err := c.refuseLocal(p); err != nil {
		return client.Request{}, err
	}
	r := client.Request{
		Text: text, Voice: c.Voice, Language: c.Language, Instructions: c.Instruct, Seed: c.Seed, MaxFrames: c.MaxFrames,
		Temperature: c.Temperature, TopK: c.TopK, TopP: c.TopP, RepetitionPenalty: c.RepetitionPenalty,
		SubTemperature: c.SubtalkerTemperature, SubTopK: c.SubtalkerTopK, SubTopP: c.SubtalkerTopP,
	}
	if c.Speed != nil {
		r.Speed = *c.Speed
	}
	if c.SampleRate <= serverRate {
		r.SampleRate = c.SampleRate
	}
	if c.Layout != "" {
		whole := synth.Layout(c.Layout) == synth.LayoutWhole
		r.WholeText = &whole
	}
	recording, err := c.cloneFlags.read(p, true)
	if err != nil || recording == nil {
		return r, err
	}
	r.RefAudio = recording.data
	r.RefText, r.VectorOnly = recording.Text, recording.Text == ""
	return r, nil
}

// refuseLocal refuses flags that are about a model of this program. Settings of a file or
// of the environment may be for other runs; but one that would be another voice is not
// left out in silence.
func (c *sayCommand) refuseLocal(p *program) error {
	for _, f := range []struct {
		name  string
		given bool
	}{
		{"model", c.Model != ""}, {"precision", c.Precision != ""}, {"talker-precision", c.TalkerPrecision != ""},
		{"predictor-precision", c.PredictorPrecision != ""}, {"codec-precision", c.CodecPrecision != ""},
		{"threads", c.Threads != 0}, {"predictor-threads", c.PredictorThreads != 0}, {"cache", c.Cache != ""},
		{"voices", c.Voices != ""},
	} {
		if f.given && p.parser.Origin(f.name) == "--"+f.name {
			return usageErrorf("--%s is about a model of this program, and --server speaks with its own", f.name)
		}
	}
	if c.Reference != "" {
		return usageErrorf("%s is about a model of this program, and --server speaks with its own: --clone sends a recording", p.parser.Origin("reference"))
	}
	return nil
}

// serverParams are the flags that fields of the server's API come from, where they have
// other names.
var serverParams = map[string]string{
	"input": "input", "instructions": "instructions", "ref_audio": "clone", "ref_text": "clone-text",
	"max_new_tokens": "max-frames", "non_streaming_mode": "layout",
}

// serverError puts what the server says into the terms of the flags: a value that it
// refuses is a mistake on the command line.
func (c *sayCommand) serverError(p *program, ctx context.Context, err error) error {
	var refused *client.Error
	switch {
	case ctx.Err() != nil:
		return &exitError{exitFailed, "interrupted before the first audio"}
	case errors.Is(err, client.ErrBaseURL):
		return usageErrorf("%s: %s", p.parser.Origin("server"), strings.TrimPrefix(err.Error(), "client: "))
	case !errors.As(err, &refused):
		return &exitError{exitFailed, fmt.Sprintf("%s: %s", p.parser.Origin("server"), strings.TrimPrefix(err.Error(), "client: "))}
	case refused.Status == http.StatusRequestEntityTooLarge && c.Clone != "":
		return usageErrorf("%s: the recording is too large for the server: %s", p.parser.Origin("clone"), refused.Message)
	case refused.Status == http.StatusUnauthorized:
		return usageErrorf("%s: %s", p.parser.Origin("api-key"), refused.Message)
	case refused.Status >= http.StatusInternalServerError || refused.Status == http.StatusTooManyRequests || refused.Status == http.StatusForbidden || refused.Param == "":
		return &exitError{exitFailed, fmt.Sprintf("%s: %s", p.parser.Origin("server"), refused.Message)}
	}
	param := refused.Param
	if name, other := serverParams[param]; other {
		param = name
	}
	return usageErrorf("%s: %s", p.nameOf(param), strings.TrimPrefix(refused.Message, refused.Param+": "))
}

// frameTime is the length of a frame, at the speed of 1.
const frameTime = 80 * time.Millisecond

// serverEvents are the events of an utterance that a server speaks, at a speed of which 0 is
// 1. What they tell of the audio's length is what it would be at 1, as the engine does.
func serverEvents(ctx context.Context, answer *client.Speech, began time.Time, speed float64) iter.Seq2[synth.Event, error] {
	return func(yield func(synth.Event, error) bool) {
		info := answer.Info
		done := synth.Done{Seed: info.Seed, TTFA: time.Since(began)}
		if !yield(synth.Start{Seed: info.Seed, Voice: info.Voice, SampleRate: info.SampleRate}, nil) {
			return
		}
		if speed == 0 {
			speed = 1
		}
		perFrame := float64(info.SampleRate) * frameTime.Seconds() / speed
		samples := make([]int16, max(1, int(perFrame)))
		pcm := make([]float32, len(samples))
		for {
			n, err := answer.Samples(samples)
			for i, s := range samples[:n] {
				pcm[i] = float32(s) / 32768 // which becomes s again
			}
			done.Samples += n
			if n > 0 && !yield(synth.Audio{PCM: pcm[:n]}, nil) {
				return
			}
			switch {
			case err == nil:
				continue
			case err == io.EOF:
				done.FinishReason = synth.FinishStop
			case errors.Is(err, client.ErrTruncated):
				done.FinishReason = synth.FinishLength
			case ctx.Err() != nil:
				done.FinishReason = synth.FinishCancelled
			default:
				yield(nil, errors.New(strings.TrimPrefix(err.Error(), "client: ")))
				return
			}
			done.Frames = answer.Result().Frames
			if done.FinishReason == synth.FinishCancelled {
				done.Frames = int(float64(done.Samples) / perFrame)
			}
			done.Elapsed = time.Since(began)
			done.Audio = time.Duration(done.Frames) * frameTime
			done.Computing = time.Duration(answer.Result().RTF * float64(done.Audio)) // the server's
			yield(done, nil)
			return
		}
	}
}
