package server

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

// turn is one utterance of a session: the text, which may still be arriving, and how
// it is to be spoken. Text that comes before the engine has the utterance is kept.
type turn struct {
	utterance
	growingText
	socket  *socket
	index   int
	request synth.Request
	clip    *clipRequest
	form    encoding
	whole   bool // the text is spoken when all of it is there
	ctx     context.Context
	cancel  context.CancelFunc

	fresh     atomic.Int64  // frames that were encoded and not sent
	bytes     atomic.Int64  // of audio, since the last audio.start
	played    atomic.Int64  // samples that the client says were heard
	heard     chan struct{} // a token: played has changed
	blocked   time.Duration // waited for the client
	warnings  []string      // of the clip; told with the first audio
	withdrawn atomic.Bool   // cancelled by the client; set under session.mu
	refusal   *Error        // the failure that the client is told, once; under session.mu
}

// isWithdrawn tells whether the client has cancelled the utterance, if it is one.
func (t *turn) isWithdrawn() bool { return t != nil && t.withdrawn.Load() }

// ready tells whether the engine can begin.
func (t *turn) ready() bool {
	ended, sayable := t.state()
	return ended || sayable && !t.whole
}

// bySentence tells whether audio.start and audio.done enclose sentences: where each
// frame is encoded by itself. Other forms are one thing from their header to what
// their encoder and filters hold at the end.
func (t *turn) bySentence() bool {
	return t.form.format == formatPCM && t.rate() == t.socket.model.SampleRate && (t.form.speed == 0 || t.form.speed == 1)
}

// formatPCM is the format of sessions that name none.
const formatPCM = "pcm"

// rate is the rate of the samples that leave.
func (t *turn) rate() int {
	if t.form.rate != 0 {
		return t.form.rate
	}
	return t.socket.model.SampleRate
}

// given is how long the listener hears what was made so far.
func (t *turn) given() time.Duration { return t.form.heard(time.Duration(t.audio.Load())) }

// ahead is how much audio the listener has not heard.
func (t *turn) ahead() time.Duration {
	given := t.given()
	played := float64(t.played.Load()) / float64(t.rate())
	return given - time.Duration(min(played, given.Seconds())*float64(time.Second))
}
