package server

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"mime"
	"mime/multipart"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/mynah-tts/mynah/internal/voices"
	"github.com/mynah-tts/mynah/synth"
)

// Bounds of a form, beside its recording.
const (
	formParts     = 32
	formPartBytes = 64 << 10 // a transcript has 16 KiB at most
)

// voiceUpload is a voice that a client wants kept.
type voiceUpload struct {
	Name        string
	Audio       []byte
	Text        string
	Consent     string
	Language    string
	Description string
	VectorOnly  bool
	Replace     bool

	given   map[string]string // the names of fields that were there, by those that we use
	unknown []string
}

// voiceField is a field of POST /v1/audio/voices. Other servers have other names for
// some.
type voiceField struct {
	name    string
	aliases []string
	text    func(v *voiceUpload) *string // or
	toggle  func(v *voiceUpload) *bool   // or the recording
}

// voiceFields are all fields, in the order of the documentation.
var voiceFields = []voiceField{
	{name: "name", text: func(v *voiceUpload) *string { return &v.Name }},
	{name: fieldSample, aliases: []string{"file", "ref_audio"}},
	{name: "ref_text", aliases: []string{"text"}, text: func(v *voiceUpload) *string { return &v.Text }},
	{name: "language", text: func(v *voiceUpload) *string { return &v.Language }},
	{name: "description", aliases: []string{"speaker_description"}, text: func(v *voiceUpload) *string { return &v.Description }},
	{name: "consent", text: func(v *voiceUpload) *string { return &v.Consent }},
	{name: "x_vector_only_mode", toggle: func(v *voiceUpload) *bool { return &v.VectorOnly }},
	{name: "replace", toggle: func(v *voiceUpload) *bool { return &v.Replace }},
}

// fieldSample is the field of the recording.
const fieldSample = "audio_sample"

// field finds a field by any of its names, and refuses one that is there twice.
func (v *voiceUpload) field(name string) (*voiceField, *Error) {
	for i := range voiceFields {
		f := &voiceFields[i]
		if f.name != name && !slices.Contains(f.aliases, name) {
			continue
		}
		if first, twice := v.given[f.name]; twice {
			return nil, invalid(name, "it is there twice (%s)", first)
		}
		v.given[f.name] = name
		return f, nil
	}
	v.unknown = append(v.unknown, name)
	return nil, nil
}

// uploadVoice answers POST /v1/audio/voices: a recording is heard and becomes a voice
// that requests may name.
func (s *Server) uploadVoice(w *response, r *http.Request) error {
	engine, release, err := s.begin()
	if err != nil {
		return err
	}
	defer release()
	inf := engine.Info()
	if s.opts.Kept == nil {
		return errNoVoices
	}
	if err := s.checkCloning(fieldSample, inf); err != nil {
		return err
	}
	ctx, cancel := s.work(r.Context())
	defer cancel()
	_ = w.rc.SetReadDeadline(time.Time{}) // HTTP/2 would end the body while it waits
	select {                              // bodies are large: those that wait are not read
	case s.clips.uploads <- struct{}{}:
		defer func() { <-s.clips.uploads }()
	case <-ctx.Done():
		s.expectBody(w)
		return why(ctx, ctx.Err())
	}
	s.expectBody(w)
	v, err := s.readUpload(w, r)
	if err != nil {
		return err
	}
	nameIgnored(w, v.unknown)
	if err := s.checkUpload(v, inf); err != nil {
		return err
	}
	return s.keepVoice(ctx, w, r, v, inf)
}

// keepVoice has a recording heard, keeps the voice and answers.
func (s *Server) keepVoice(ctx context.Context, w *response, r *http.Request, v *voiceUpload, inf synth.Info) error {
	h, err := s.clips.hear(ctx, v.Audio, v.Text)
	if err != nil {
		return s.uploadError(v, err)
	}
	digest, err := s.clips.listening().Digest()
	if err != nil {
		return err
	}
	before, _ := s.opts.Kept.Get(v.Name)
	kept, err := s.opts.Kept.Add(voices.Profile{
		Name: v.Name, Language: v.Language, Description: v.Description, Consent: v.Consent,
		Model: s.modelID(inf), Digest: digest, Seconds: h.seconds, Reference: *h.ref,
	}, v.Replace)
	if err != nil {
		return s.voiceError("name", err)
	}
	info(r).add(slog.String("voice", kept.Name), slog.Float64("seconds", kept.Seconds), slog.String("mode", kept.Mode))
	nameWarnings(w, h.warnings)
	status := http.StatusCreated
	if before.Name != "" {
		status = http.StatusOK
	}
	entry := voiceEntry{ID: kept.Name, Name: kept.Name, Kind: kindUploaded, uploadedVoice: s.describeVoice(&kept, inf)}
	return writeJSON(w, status, map[string]any{"success": true, "voice": entry, "warnings": append([]string{}, h.warnings...)})
}

// uploadError names the fields of an upload in what is wrong with a clip.
func (s *Server) uploadError(v *voiceUpload, err error) error {
	refused := *asError(err)
	for ours, theirs := range map[string]string{"ref_audio": fieldSample, "ref_text": "ref_text"} {
		if refused.Param == ours {
			refused.Param = v.given[theirs]
			refused.Message = refused.Param + strings.TrimPrefix(refused.Message, ours)
			return &refused
		}
	}
	return err
}

// checkUpload checks all that needs no listening, so that nobody waits in vain.
func (s *Server) checkUpload(v *voiceUpload, inf synth.Info) error {
	for _, name := range []string{"name", fieldSample} {
		if v.given[name] == "" {
			e := invalid(name, "it is missing")
			e.Code = "missing_field"
			return e
		}
	}
	name, err := voices.CheckName(v.Name)
	if err != nil {
		return s.voiceError("name", err)
	}
	v.Name = name
	if s.hidden(name, inf) {
		return voiceExists(quoted(name) + " is the name of another voice of this server")
	}
	if there, err := s.opts.Kept.Get(name); err == nil && !v.Replace {
		return voiceExists(fmt.Sprintf("there is a voice %s already: replace replaces it", quoted(there.Name)))
	}
	if err := checkLength(v.given["ref_text"], v.Text, s.opts.Limits.InputRunes); err != nil {
		return err
	}
	if v.VectorOnly {
		v.Text = ""
	}
	if len(v.Audio) == 0 {
		return invalid(v.given[fieldSample], "the file is empty, allowed is wav, mp3 or flac")
	}
	if strings.EqualFold(v.Language, "auto") {
		v.Language = ""
	}
	if v.Language != "" {
		name, ok := inf.Language(v.Language)
		if !ok {
			return invalid("language", "%s, allowed are auto, %s", quoted(v.Language), list(inf.Languages))
		}
		v.Language = name
	}
	return nil
}

// readUpload reads a form, or a JSON object with the recording as a data URL.
func (s *Server) readUpload(w *response, r *http.Request) (*voiceUpload, error) {
	v := &voiceUpload{given: map[string]string{}}
	kind, params, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err == nil && kind == "application/json" {
		body, err := s.readBodyOf(w, r, s.jsonUploadBytes())
		if err != nil {
			return nil, err
		}
		all, refused := members(body)
		if refused != nil {
			return nil, refused
		}
		if err := v.readMembers(all, s.opts.Limits.ClipBytes); err != nil {
			return nil, err
		}
		return v, nil
	}
	if err != nil || kind != "multipart/form-data" || params["boundary"] == "" || r.Header.Get("Content-Encoding") != "" {
		return nil, &Error{Status: http.StatusUnsupportedMediaType, Type: typeInvalid, Code: "unsupported_media_type",
			Message: "content type " + quoted(r.Header.Get("Content-Type")) + ", allowed are multipart/form-data and application/json, uncompressed"}
	}
	most := s.opts.Limits.ClipBytes + formParts*formPartBytes
	if r.ContentLength > most {
		return nil, tooLarge(most)
	}
	body := http.MaxBytesReader(w.ResponseWriter, r.Body, most)
	if err = v.readForm(body, params["boundary"], s.opts.Limits.ClipBytes); err == nil {
		_, err = io.Copy(io.Discard, body) // a body may go on behind its form
	}
	if err != nil {
		return nil, s.bodyError(err, most)
	}
	_ = w.rc.SetReadDeadline(time.Time{}) // or it would look like a client that left
	return v, nil
}

// jsonUploadBytes is the most that a recording takes as a data URL, with all else.
func (s *Server) jsonUploadBytes() int64 {
	return base64Bytes(s.opts.Limits.ClipBytes) + formParts*formPartBytes
}

// readForm reads the parts of a form.
func (v *voiceUpload) readForm(body io.Reader, boundary string, most int64) error {
	watched := &endWatcher{r: body, end: []byte("--" + boundary + "--")}
	form := multipart.NewReader(watched, boundary)
	for range formParts + 1 { // the last finds the end
		part, err := form.NextRawPart()
		switch {
		case err == io.EOF && !watched.seen: // within the header of a part
			return io.ErrUnexpectedEOF
		case err == io.EOF:
			return nil
		}
		if err != nil {
			return err
		}
		f, refused := v.field(part.FormName())
		if refused != nil {
			return refused
		}
		limit := int64(formPartBytes)
		if f != nil && f.text == nil && f.toggle == nil {
			limit = most
		}
		data, err := io.ReadAll(io.LimitReader(part, limit+1))
		switch {
		case err != nil:
			return err
		case f == nil:
		case int64(len(data)) > limit:
			return invalid(part.FormName(), "over %s, the most allowed", plural(limit, "byte"))
		default:
			if err := v.set(f, part.FormName(), data); err != nil {
				return err
			}
		}
	}
	return malformed("over %d parts, the most allowed", formParts)
}

// endWatcher looks out for the end of a form: package multipart does not tell a form that
// was cut off in the header of a part from one that is whole.
type endWatcher struct {
	r    io.Reader
	end  []byte
	tail []byte // of what was read, shorter than end
	seen bool
}

func (w *endWatcher) Read(p []byte) (int, error) {
	n, err := w.r.Read(p)
	if !w.seen {
		w.tail = append(w.tail, p[:n]...)
		w.seen = bytes.Contains(w.tail, w.end)
		if more := len(w.tail) - len(w.end) + 1; more > 0 {
			w.tail = append(w.tail[:0], w.tail[more:]...)
		}
	}
	return n, err
}

// set takes the value of a part.
func (v *voiceUpload) set(f *voiceField, name string, data []byte) error {
	switch {
	case f.text != nil:
		if !utf8.Valid(data) {
			return invalid(name, "it is not UTF-8")
		}
		*f.text(v) = string(data)
	case f.toggle != nil:
		switch text := strings.ToLower(strings.TrimSpace(string(data))); text {
		case "true", "1", "yes", "on":
			*f.toggle(v) = true
		case "false", "0", "no", "off", "":
		default:
			return invalid(name, "%s, allowed are true and false", quoted(text))
		}
	default:
		v.Audio = data
	}
	return nil
}

// readMembers reads the fields of a JSON object. Null is the same as leaving one out.
func (v *voiceUpload) readMembers(all []member, most int64) *Error {
	for _, m := range all {
		if isNull(m.value) {
			continue
		}
		f, err := v.field(m.name)
		switch {
		case err != nil:
			return err
		case f == nil:
			continue
		case f.toggle != nil:
			*f.toggle(v), err = switchValue(m.name, m.value)
		case f.text != nil:
			*f.text(v), err = textValue(m.name, m.value)
		default:
			v.Audio, err = dataURLValue(m.name, m.value, most)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

func dataURLValue(name string, value json.RawMessage, most int64) ([]byte, *Error) {
	text, err := textValue(name, value)
	if err != nil {
		return nil, err
	}
	return decodeDataURL(name, text, most)
}

// bodyError is what a form could not be read for.
func (s *Server) bodyError(err error, most int64) error {
	var refused *Error
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &refused):
		return refused
	case errors.As(err, &large):
		return tooLarge(most)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return bodyTimeout(s.opts.Limits.BodyTimeout)
	case errors.Is(err, io.ErrUnexpectedEOF), errors.Is(err, io.EOF):
		return malformed("the form ends too early")
	}
	return malformed("this is no form: %s", printable(abridged(strings.TrimPrefix(err.Error(), "multipart: "))))
}
