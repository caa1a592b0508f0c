package server

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/mynah-tts/mynah/synth"
)

// The headers of an answer with audio, and its trailers.
const (
	headerSeed    = "X-Mynah-Seed"
	headerVoice   = "X-Mynah-Voice"
	headerTTFA    = "X-Mynah-Ttfa-Ms"
	headerRate    = "X-Mynah-Sample-Rate"
	headerIgnored = "X-Mynah-Ignored-Fields"
	headerWarning = "X-Mynah-Warning"

	trailerFinish = "X-Mynah-Finish-Reason"
	trailerFrames = "X-Mynah-Frames"
	trailerRTF    = "X-Mynah-Rtf"
)

// exposedHeaders are what pages of other origins may read.
var exposedHeaders = []string{"X-Request-Id", "Retry-After", headerSeed, headerVoice, headerTTFA, headerRate, headerIgnored, headerWarning}

// speech answers POST /v1/audio/speech: one text, spoken as it is computed.
func (s *Server) speech(w *response, r *http.Request) error {
	body, engine, heard, release, err := s.takeClipBody(w, r)
	if err != nil {
		return err
	}
	defer release()
	defer heard()
	q := &speechRequest{}
	request, err := s.readSpeech(q, body, engine.Info())
	if err != nil {
		return err
	}
	s.addText(r, "input", q.Input)
	nameIgnored(w, q.unknown)
	form := s.encoding(q)
	if err := form.check(engine.Info().SampleRate); err != nil {
		return err
	}
	ctx, cancel := s.work(r.Context())
	defer cancel()
	warnings, err := s.hearClip(ctx, q.clip(), &request)
	if err != nil {
		return err
	}
	q.RefAudio = nil
	heard()
	nameWarnings(w, warnings)
	a := &answer{w: w, encoding: form, utterance: utterance{server: s, transport: streamAudio, received: info(r).received}}
	if q.StreamFormat == streamSSE {
		return a.events(ctx, engine, request, info(r))
	}
	_, err = a.bytes(ctx, engine, request, info(r))
	return err
}

// readSpeech reads and checks a body.
func (s *Server) readSpeech(q *speechRequest, body []byte, info synth.Info) (synth.Request, error) {
	all, err := members(body)
	if err != nil {
		return synth.Request{}, err
	}
	if err := q.readFields(all); err != nil {
		return synth.Request{}, err
	}
	if err := q.checkInput(s.opts.Limits); err != nil {
		return synth.Request{}, err
	}
	return s.request(q, info)
}

// encoding is the form that a request asks for.
func (s *Server) encoding(q *speechRequest) encoding {
	e := encoding{format: s.opts.Format, rate: q.SampleRate, speed: q.Speed}
	if q.ResponseFormat != "" {
		e.format = q.ResponseFormat
	}
	return e
}

// ignoredNames is how many fields headerIgnored names.
const ignoredNames = 8

// nameIgnored tells which fields were no fields of ours: OpenAI's API takes them in
// silence, which hides mistakes.
func nameIgnored(w *response, unknown []string) {
	var names []string
	for _, name := range unknown {
		if len(names) == ignoredNames {
			break
		}
		if strings.ContainsFunc(name, notOfID) { // no header takes it as it is
			name = strconv.QuoteToASCII(abridged(name))
		}
		names = append(names, name)
	}
	if more := len(unknown) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	if len(names) > 0 {
		w.Header().Set(headerIgnored, list(names))
	}
}

// nameWarnings tells of what is doubtful about a clip that is used nevertheless.
func nameWarnings(w *response, warnings []string) {
	for _, warning := range warnings {
		w.Header().Add(headerWarning, strings.Trim(strconv.QuoteToASCII(warning), `"`))
	}
}

// answer is one utterance as the body of an answer. Its Write takes encoded audio.
type answer struct {
	utterance
	w        *response
	encoding encoding
	send     func(p []byte) error // writes audio in the transport's form
	began    bool                 // the header is out
}

// bytes answers with bare audio. Whether that is all of the text is told by the trailers.
func (a *answer) bytes(ctx context.Context, engine Engine, request synth.Request, in *requestInfo) (synth.Done, error) {
	a.send = a.sendBytes
	done, err := a.speak(ctx, engine, request)
	a.logged(in, done, a.encoding, err)
	if err != nil {
		return done, err
	}
	a.begin() // an utterance of no bytes at all
	h := a.w.Header()
	h.Set(trailerFinish, string(done.FinishReason))
	h.Set(trailerFrames, strconv.Itoa(done.Frames))
	h.Set(trailerRTF, strconv.FormatFloat(done.RTF(), 'f', 3, 64))
	return done, nil
}

// speak runs the utterance into the encoder, which writes to a.
func (a *answer) speak(ctx context.Context, engine Engine, request synth.Request) (synth.Done, error) {
	stream, err := engine.Speak(ctx, request)
	if err != nil {
		return synth.Done{}, err
	}
	defer stream.Close()
	sink, err := a.encoding.open(a, engine.Info().SampleRate)
	if err != nil {
		return synth.Done{}, err
	}
	defer sink.Abort() // nothing after Close
	return a.pump(ctx, stream, sink)
}

// Write sends encoded audio. It begins the answer with the first.
func (a *answer) Write(p []byte) (int, error) {
	a.begin()
	if err := a.send(p); err != nil {
		return 0, err
	}
	// Whatever waits in sockets and proxies counts as heard.
	heard := a.encoding.heard(time.Duration(a.audio.Load()))
	if a.w.blocked-heard > a.server.opts.Limits.LagTimeout {
		return 0, &slowError{slowLag}
	}
	return len(p), nil
}

// begin sends the header, now that there is audio.
func (a *answer) begin() {
	if a.began {
		return
	}
	a.began = true
	h := a.w.Header()
	h.Set("Content-Type", a.encoding.contentType())
	h.Set("Cache-Control", "no-store")
	h.Set("X-Accel-Buffering", "no")
	h.Set(headerSeed, strconv.FormatInt(a.start.Seed, 10))
	h.Set(headerTTFA, strconv.FormatInt(a.ttfa.Milliseconds(), 10))
	h.Set(headerRate, strconv.Itoa(a.rate()))
	if a.start.Voice != "" {
		h.Set(headerVoice, strings.Trim(strconv.QuoteToASCII(a.start.Voice), `"`))
	}
	if a.transport == streamSSE {
		h.Set("Content-Type", "text/event-stream")
	} else {
		h.Set("Trailer", strings.Join([]string{trailerFinish, trailerFrames, trailerRTF}, ", "))
	}
	a.w.WriteHeader(http.StatusOK)
}

// rate is the rate of the samples that leave.
func (a *answer) rate() int {
	if a.encoding.rate != 0 {
		return a.encoding.rate
	}
	return a.start.SampleRate
}

func (a *answer) sendBytes(p []byte) error {
	if _, err := a.w.Write(p); err != nil {
		return err
	}
	return a.w.FlushError()
}
