package voices

import (
	"errors"
	"strings"

	"github.com/mynah-tts/mynah/synth"
)

// Checkpoint is what a voice must belong to in order to speak. synth.Model is one.
type Checkpoint interface {
	Info() synth.Info
	Digest() (string, error)
	CheckReference(ref *synth.Reference) error
}

// Reference returns the reference of a voice for a checkpoint, the same one each time
// until the voice is replaced or removed, and the voice itself. A voice of another
// checkpoint is refused: its codes would mean another sound.
func (s *Store) Reference(name string, of Checkpoint) (*synth.Reference, Voice, error) {
	e, ref, err := s.find(name, true)
	if err != nil {
		return nil, Voice{}, err
	}
	v := e.voice()
	digest, err := of.Digest()
	if err != nil {
		return nil, v, err
	}
	if err := of.CheckReference(ref); err != nil {
		v.Unfit = printable(err)
	}
	if err := v.Usable(of.Info(), digest); err != nil {
		return nil, v, err
	}
	return ref, v, nil
}

// Usable says why a voice cannot be spoken by a checkpoint, as an *Error: it is of another
// one, and both are named, or its file does not fit this one.
func (v *Voice) Usable(info synth.Info, digest string) error {
	switch {
	case v.Digest != digest:
		return &Error{Kind: OtherModel, Message: "the voice " + quoted(v.Name) + " is of the checkpoint " + checkpointName(v.Model, v.Digest) +
			", this is " + checkpointName(info.Name, digest) + wayOut(info)}
	case v.Unfit != "":
		return damaged(v.Name, v.Unfit)
	}
	return nil
}

// wayOut is what to do about a voice of another checkpoint.
func wayOut(info synth.Info) string {
	switch {
	case info.Kind != synth.Base:
		return ", which is " + string(info.Kind) + " and speaks in no voices that are kept"
	case !info.Cloning:
		return ", which has no encoders to hear it again"
	}
	return ": add it again with this one"
}

// printable is what another package says, for a message.
func printable(err error) string {
	var refused *synth.RequestError
	if errors.As(err, &refused) {
		return refused.Message
	}
	return err.Error()
}

// checkpointName is how messages name a checkpoint: by the last element of its path,
// and the beginning of its digest.
func checkpointName(name, digest string) string {
	const shown = 12
	return ModelName(name) + " (" + digest[:min(shown, len(digest))] + "…)"
}

// ModelName is what a profile calls a checkpoint: the name of its folder or file. Where
// that lies is nobody's business. In the cache of Hugging Face it is the repository's
// name, for the folder has that of a commit.
func ModelName(path string) string {
	parts := strings.FieldsFunc(path, func(r rune) bool { return r == '/' || r == '\\' })
	name := ""
	if n := len(parts); n > 0 {
		name = parts[n-1]
		if n > 2 && parts[n-2] == "snapshots" && strings.HasPrefix(parts[n-3], "models--") {
			name = parts[n-3][strings.LastIndex(parts[n-3], "--")+2:]
		}
	}
	clean := strings.ToValidUTF8(strings.Map(func(r rune) rune {
		if checkText("", string(r), 1, false) != nil {
			return -1
		}
		return r
	}, name), "")
	if runes := []rune(clean); len(runes) > maxModelRunes {
		clean = string(runes[:maxModelRunes])
	}
	if clean == "" {
		return "model"
	}
	return clean
}

// Apply puts a voice into a request of the command line: a preset of the checkpoint
// stays what it is, and a voice that is kept becomes the request's reference and, unless
// the request names one, its language. The error is a *synth.RequestError unless the
// folder cannot be read. A name that is neither is left to the engine to refuse, but for
// checkpoints that have no presets, of which the engine would not know what there is.
func (s *Store) Apply(r *synth.Request, of Checkpoint) error {
	info := of.Info()
	if r.Voice == "" || r.Reference != nil || isPreset(info, r.Voice) {
		return nil
	}
	ref, v, err := s.Reference(r.Voice, of)
	switch {
	case err == nil:
	case IsKind(err, NotFound) && info.Kind != synth.Base:
		return nil
	case IsKind(err, NotFound):
		return &synth.RequestError{Param: "voice", Message: strings.TrimPrefix(err.Error(), "voices: ") + " in " + s.dir + "; mynah voices lists those that there are"}
	case IsKind(err, OtherModel), IsKind(err, Damaged):
		return &synth.RequestError{Param: "voice", Message: strings.TrimPrefix(err.Error(), "voices: ")}
	default:
		return err
	}
	r.Voice, r.Reference = "", ref
	if r.Language == "" {
		r.Language = v.Language
	}
	return nil
}

func isPreset(info synth.Info, name string) bool {
	for _, speaker := range info.Speakers {
		if strings.EqualFold(speaker, name) {
			return true
		}
	}
	return false
}
