package server

import (
	"context"
	"errors"
	"log/slog"
	"net/http"
	"strings"

	"github.com/mynah-tts/mynah/internal/osfile"
	"github.com/mynah-tts/mynah/internal/voices"
	"github.com/mynah-tts/mynah/synth"
)

// keptEngine is an Engine whose requests may name voices that are kept. They are looked
// up when an utterance begins, so that one that was removed in between does not speak.
type keptEngine struct {
	Engine
	server *Server
}

func (e keptEngine) Speak(ctx context.Context, r synth.Request) (Stream, error) {
	name, err := e.server.resolve(&r, e.Info())
	if err != nil {
		return nil, err
	}
	stream, err := e.Engine.Speak(ctx, r)
	if err != nil || name == "" {
		return stream, err
	}
	return namedStream{stream, name}, nil
}

func (e keptEngine) SpeakPieces(ctx context.Context, r synth.Request) (PieceStream, error) {
	name, err := e.server.resolve(&r, e.Info())
	if err != nil {
		return nil, err
	}
	stream, err := e.Engine.SpeakPieces(ctx, r)
	if err != nil || name == "" {
		return stream, err
	}
	return namedPieces{stream, name}, nil
}

// namedStream tells the name of the voice, which the engine does not know.
type namedStream struct {
	Stream
	voice string
}

func (s namedStream) Next() (synth.Event, error) { return withVoice(s.Stream, s.voice) }

type namedPieces struct {
	PieceStream
	voice string
}

func (s namedPieces) Next() (synth.Event, error) { return withVoice(s.PieceStream, s.voice) }

func withVoice(s Stream, voice string) (synth.Event, error) {
	event, err := s.Next()
	if start, ok := event.(synth.Start); ok {
		start.Voice = voice
		return start, err
	}
	return event, err
}

// useVoices gives the kept voices to an engine that has just been opened, and returns
// the engine that knows them.
func (s *Server) useVoices(engine Engine) (Engine, error) {
	listener, ok := engine.(Listener)
	if !ok {
		return engine, nil
	}
	s.clips.use(listener)
	if s.opts.Kept == nil {
		return engine, nil
	}
	s.opts.Kept.OnForget(listener.Forget)
	s.opts.Kept.CheckWith(listener.CheckReference)
	if kept, _, err := s.opts.Kept.List(); err == nil && len(kept) > 0 && engine.Info().Kind == synth.Base {
		if _, err := listener.Digest(); err != nil { // it may take a while: nobody is to wait for it later
			return nil, err
		}
	}
	return keptEngine{engine, s}, nil
}

// checkpoint is the checkpoint at hand, for package voices.
type checkpoint struct {
	Listener
	info synth.Info
}

func (c checkpoint) Info() synth.Info { return c.info }

// resolve puts the kept voice that a request names into it, and returns its name; "" if
// the request names none. Presets go before.
func (s *Server) resolve(r *synth.Request, info synth.Info) (string, error) {
	if r.Voice == "" || r.Reference != nil || preset(info, r.Voice) != "" {
		return "", nil
	}
	ref, v, err := s.opts.Kept.Reference(r.Voice, checkpoint{s.clips.listening(), info})
	switch {
	case voices.IsKind(err, voices.NotFound) && info.Kind != synth.Base:
		return "", nil // the engine says which presets there are
	case voices.IsKind(err, voices.NotFound):
		return "", s.unknownVoice(r.Voice, info)
	case err != nil:
		return "", s.voiceError("voice", err)
	}
	r.Voice, r.Reference = "", ref
	if r.Language == "" {
		r.Language = v.Language
	}
	return v.Name, nil
}

// kept finds a voice that is kept and may speak, "" if there is none of that name.
func (s *Server) kept(name string, info synth.Info) (string, *Error) {
	listener := s.clips.listening()
	if s.opts.Kept == nil || listener == nil {
		return "", nil
	}
	v, err := s.opts.Kept.Get(name)
	if voices.IsKind(err, voices.NotFound) {
		return "", nil
	}
	if err == nil {
		err = s.belongs(&v, listener, info)
	}
	if err != nil {
		return "", asError(s.voiceError("voice", err))
	}
	return v.Name, nil
}

// belongs refuses a voice of another checkpoint, or that does not fit this one.
func (s *Server) belongs(v *voices.Voice, listener Listener, info synth.Info) error {
	digest, err := listener.Digest()
	if err != nil {
		return err
	}
	return v.Usable(info, digest)
}

// keptVoices lists the voices that are kept. What is wrong with files of the folder is
// for the log.
func (s *Server) keptVoices() []voices.Voice {
	if s.opts.Kept == nil {
		return nil
	}
	all, problems, err := s.opts.Kept.List()
	if err != nil {
		problems = append(problems, err.Error())
	}
	for _, problem := range problems {
		s.opts.Log.Warn("voices", slog.String("problem", problem))
	}
	return all
}

// Codes of errors of voices.
const (
	codeVoiceNotFound = "voice_not_found"
	codeVoiceExists   = "voice_exists"
	codeManyVoices    = "too_many_voices"
	codeOtherModel    = "voice_of_other_model"
	codeNoVoices      = "voices_off"
	codeDiskFull      = "disk_full"
)

// errNoVoices refuses to keep voices where none are kept.
var errNoVoices = &Error{Status: http.StatusForbidden, Type: typePermission, Code: codeNoVoices,
	Message: "this server keeps no voices (--voices)"}

// voiceError puts an error of package voices into the API's words; param is the field
// that named the voice. No path is in it: that is for the log.
func (s *Server) voiceError(param string, err error) error {
	var e *voices.Error
	if !errors.As(err, &e) {
		return err
	}
	switch e.Kind {
	case voices.BadValue:
		return badProfile(e)
	case voices.NotFound:
		return &Error{Status: http.StatusNotFound, Type: typeInvalid, Param: param, Code: codeVoiceNotFound, Message: param + ": " + e.Message}
	case voices.Exists:
		return voiceExists(e.Message + ": replace replaces it")
	case voices.TooMany:
		return &Error{Status: http.StatusConflict, Type: typeInvalid, Code: codeManyVoices, Message: e.Message}
	case voices.OtherModel:
		refused := invalid(param, "%s", e.Message)
		refused.Code = codeOtherModel
		return refused
	}
	failed := &Error{Status: http.StatusInternalServerError, Type: typeServer, Code: "internal_error", Message: "the server cannot use its folder of voices", Err: err}
	if osfile.IsFull(err) {
		failed.Status, failed.Code, failed.Message = http.StatusInsufficientStorage, codeDiskFull, "the server's disk is full, nothing was changed"
	} else if e.Kind == voices.Damaged {
		failed.Message = e.Message
	}
	return failed
}

func voiceExists(message string) *Error {
	return &Error{Status: http.StatusConflict, Type: typeInvalid, Param: "name", Code: codeVoiceExists, Message: "name: " + message}
}

// badProfile names the field that a profile's came from.
func badProfile(e *voices.Error) *Error {
	param := e.Field
	switch param {
	case "text":
		param = "ref_text"
	case "codes", "x_vector", "seconds":
		param = "audio_sample"
	}
	return invalid(param, "%s", strings.TrimPrefix(e.Message, e.Field+": "))
}
