package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/synth"
)

// utterance is one text on its way from the engine to a client.
type utterance struct {
	server    *Server
	transport string // for metrics
	received  time.Time
	start     synth.Start
	ttfa      time.Duration // until the first audio was there
	audio     atomic.Int64  // nanoseconds of audio that were given to the sink, which may change the tempo
	last      time.Time     // since when the next frame is waited for; 0 if that may be for text
	unsettled func() bool   // or nil: tells that the text still arrives, so that frames may wait for it
	frames    int           // of speech that came from the engine
}

// pump moves a stream into a sink, to its end. What it returns is a result only
// without an error: an utterance that was cancelled is one. The sink is closed, or
// given up.
func (u *utterance) pump(ctx context.Context, stream Stream, sink audio.Sink) (synth.Done, error) {
	done, err := u.move(ctx, stream, sink)
	u.count(done, err)
	return done, err
}

// move is pump for those who count the end by themselves.
func (u *utterance) move(ctx context.Context, stream Stream, sink audio.Sink) (synth.Done, error) {
	done, err := u.copy(stream, sink)
	if err == nil && done.FinishReason != synth.FinishCancelled {
		err = sink.Close()
	}
	if err != nil || done.FinishReason == synth.FinishCancelled {
		_ = sink.Abort()
		err = why(ctx, err)
	}
	return done, err
}

// copy moves events until the engine's last.
func (u *utterance) copy(stream Stream, sink audio.Sink) (synth.Done, error) {
	for {
		event, err := stream.Next()
		if err == io.EOF {
			return synth.Done{}, errors.New("the stream ended without a result")
		}
		if err != nil {
			return synth.Done{}, err
		}
		switch e := event.(type) {
		case synth.Start:
			u.start = e
		case synth.Audio:
			u.frame()
			u.speech(e)
			u.audio.Add(int64(time.Duration(len(e.PCM)) * time.Second / time.Duration(u.start.SampleRate)))
			if err := sink.Write(e.PCM); err != nil {
				return synth.Done{}, err
			}
			u.awaitFrame()
		case synth.Done:
			return e, nil
		}
	}
}

// frame counts a frame's time.
func (u *utterance) frame() {
	now := time.Now()
	if u.ttfa == 0 {
		u.ttfa = now.Sub(u.received)
		u.server.metrics.firstAudio(u.transport, u.ttfa)
	} else if !u.last.IsZero() {
		u.server.metrics.gap.Observe(now.Sub(u.last).Seconds())
	}
}

// awaitFrame begins the wait for the next frame, now that the client has taken the last one.
// It counts unless it may be for text: also if that was all there when the frame came.
func (u *utterance) awaitFrame() {
	u.last = time.Time{}
	if u.unsettled == nil || !u.unsettled() {
		u.last = time.Now()
	}
}

// speech counts a frame of speech, not the silence between segments.
func (u *utterance) speech(e synth.Audio) {
	if e.Codes != nil {
		u.frames++
	}
}

// reasonOf is how an utterance ended, as err says if not well.
func reasonOf(done synth.Done, err error) synth.FinishReason {
	switch {
	case err == nil:
		return done.FinishReason
	case errors.Is(err, errClientGone), errors.Is(err, errDraining):
		return synth.FinishCancelled
	}
	return finishError
}

// count counts an utterance's end.
func (u *utterance) count(done synth.Done, err error) {
	var slow *slowError
	m := u.server.metrics
	if err != nil { // there is no result that would tell
		m.audio.Add(time.Duration(u.audio.Load()).Seconds())
	}
	switch {
	case errors.As(err, &slow):
		m.slowClient(slow.reason)
		m.finished.WithLabelValues(string(synth.FinishCancelled)).Inc()
	case err == nil:
		m.finish(done)
	default:
		m.finished.WithLabelValues(string(reasonOf(done, err))).Inc()
	}
}

// why tells the reason of an utterance's failure: what cancelled it goes before what
// that led to.
func why(ctx context.Context, err error) error {
	var slow *slowError
	switch {
	case errors.As(err, &slow):
		return err
	case errors.Is(context.Cause(ctx), errDraining):
		return errDraining
	case errors.Is(err, os.ErrDeadlineExceeded), stalled(ctx):
		// Which cancels the contexts of all requests of the connection; HTTP/2 tells the
		// reason to one of them at most.
		return &slowError{slowWrite}
	case ctx.Err() != nil:
		return errClientGone
	case err == nil:
		return errors.New("the utterance was cancelled by the engine")
	}
	return err
}

// slowError ends the request of a client that reads too slowly. There is nobody to
// tell.
type slowError struct{ reason slowReason }

func (e *slowError) Error() string { return "slow client: " + string(e.reason) }

// Is makes a slow client one of those that went away.
func (e *slowError) Is(target error) bool { return target == errClientGone }

// connectionError is a failure of the connection.
type connectionError struct{ err error }

func (e *connectionError) Error() string { return fmt.Sprintf("connection: %v", e.err) }
func (e *connectionError) Unwrap() error { return e.err }

// Is makes a broken connection one of a client that went away, unless time was up.
func (e *connectionError) Is(target error) bool {
	return target == errClientGone && !errors.Is(e.err, os.ErrDeadlineExceeded)
}

// logged puts an utterance into the log's line of its request.
func (u *utterance) logged(in *requestInfo, done synth.Done, e encoding, err error) {
	in.add(u.figures(e, done, reasonOf(done, err))...)
}

// figures are what the log tells of an utterance. One that broke off has no RTF, but
// all that was computed for it.
func (u *utterance) figures(e encoding, done synth.Done, reason synth.FinishReason) []slog.Attr {
	all := []slog.Attr{
		slog.String("format", e.format), slog.String("voice", u.start.Voice), slog.Int64("seed", u.start.Seed),
		slog.Int("frames", max(done.Frames, u.frames)), slog.Duration("ttfa", u.ttfa),
	}
	if done.Audio > 0 {
		all = append(all, slog.Float64("rtf", done.RTF()))
	}
	return append(all, slog.String("finish", string(reason)))
}
