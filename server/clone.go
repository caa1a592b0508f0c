package server

import (
	"context"
	"encoding/base64"
	"errors"
	"net/url"
	"strings"
	"sync"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/synth"
)

// Listener is an Engine that makes voices of clips, as synth.Model does. An Engine that
// is none takes no ref_audio and no voices that are kept.
type Listener interface {
	Listen(ctx context.Context, clip synth.Clip) (ref *synth.Reference, warnings []string, err error)
	Forget(ref *synth.Reference)
	Digest() (string, error)
	CheckReference(ref *synth.Reference) error
}

// refAudio is a clip in a request, a data URL. Copies of a request share it, so that it
// is decoded once.
type refAudio struct {
	mu   sync.Mutex
	url  string // "" once it was decoded
	data []byte
	err  *Error
}

// bytes decodes the URL.
func (a *refAudio) bytes(most int64) ([]byte, *Error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.data == nil && a.err == nil {
		a.data, a.err = decodeDataURL("ref_audio", a.url, most)
		a.url = ""
	}
	return a.data, a.err
}

// size is how much memory the clip takes.
func (a *refAudio) size() int64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return int64(len(a.url) + len(a.data))
}

// decodeDataURL takes data URLs alone: the server opens no addresses and no files for
// its clients. What the URL calls the data does not count, its content does.
func decodeDataURL(param, given string, most int64) ([]byte, *Error) {
	scheme, rest, _ := strings.Cut(given, ":")
	if !strings.EqualFold(scheme, "data") {
		return nil, invalid(param, "%s, allowed are data URLs (data:audio/wav;base64,…)", quoted(given))
	}
	media, text, found := strings.Cut(rest, ",")
	if !found || !strings.HasSuffix(strings.ToLower(strings.TrimSpace(media)), ";base64") {
		return nil, invalid(param, "%s is no data URL in base64 (data:audio/wav;base64,…)", quoted(given))
	}
	if int64(len(text))/4*3 > most+most/2 { // with line breaks, it may be a little longer
		return nil, clipTooLarge(param, most)
	}
	data, err := decodeBase64(text)
	switch {
	case err != nil:
		return nil, invalid(param, "it is no base64: %s", strings.TrimPrefix(err.Error(), "illegal base64 data "))
	case int64(len(data)) > most:
		return nil, clipTooLarge(param, most)
	case len(data) == 0:
		return nil, invalid(param, "the data URL is empty")
	}
	return data, nil
}

func clipTooLarge(param string, most int64) *Error {
	return invalid(param, "over %s of audio, the most allowed", plural(most, "byte"))
}

// decodeBase64 takes both alphabets, with padding or without, with line breaks or
// without, and what of it URLs escape.
func decodeBase64(text string) ([]byte, error) {
	if strings.Contains(text, "%") {
		plain, err := url.PathUnescape(text)
		if err != nil {
			return nil, errors.New("a broken % escape")
		}
		text = plain
	}
	text = strings.Map(func(r rune) rune {
		switch r {
		case '-':
			return '+'
		case '_':
			return '/'
		case ' ', '\t', '\r', '\n':
			return -1
		}
		return r
	}, text)
	const mostPadding = 2
	for range mostPadding {
		text = strings.TrimSuffix(text, "=")
	}
	return base64.RawStdEncoding.DecodeString(text)
}

// clipRequest is a voice that a request brings along.
type clipRequest struct {
	audio *refAudio
	text  string // "" for the timbre alone
}

// clip is the voice that a request brings along, nil if there is none.
func (q *speechRequest) clip() *clipRequest {
	if !q.present["ref_audio"] {
		return nil
	}
	c := &clipRequest{audio: q.RefAudio, text: q.RefText}
	if q.XVectorOnly != nil && *q.XVectorOnly {
		c.text = ""
	}
	return c
}

// hearClip gives a request the voice that it brings along, if it does.
func (s *Server) hearClip(ctx context.Context, c *clipRequest, to *synth.Request) (warnings []string, err error) {
	if c == nil {
		return nil, nil
	}
	data, refused := c.audio.bytes(s.opts.Limits.ClipBytes)
	if refused != nil {
		return nil, refused
	}
	h, err := s.clips.hear(ctx, data, c.text)
	if err != nil {
		return nil, err
	}
	to.Reference = h.ref
	return h.warnings, nil
}

// clipError is what is wrong with a clip, in the API's words.
func clipError(err error) error {
	var bad *audio.ClipError
	if errors.As(err, &bad) {
		return invalid("ref_audio", "%s", printable(bad.Text))
	}
	return err
}
