package synth

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mynah-tts/mynah/internal/text"
	"github.com/mynah-tts/mynah/sampler"
	"github.com/mynah-tts/mynah/talker/prompt"
)

// MaxTextRunes bounds the text of one request: as many characters as a generous
// page. Longer texts are for callers to cut at sentences.
const MaxTextRunes = 10_000

// Speak admits a request. It returns at once, with a *RequestError if the request
// cannot be: the computing happens in the stream's Next. ctx cancels the stream
// between frames.
func (m *Model) Speak(ctx context.Context, r Request) (*Stream, error) {
	if ctx == nil {
		return nil, errors.New("synth: Speak needs a context")
	}
	started := time.Now()
	p, err := m.plan(r)
	if err != nil {
		return nil, err
	}
	s := m.newStream(ctx, p)
	s.started = started
	return s, nil
}

// plan is a request that was checked and put into the models' terms.
type plan struct {
	request          prompt.Request
	voice            string
	seed             int64
	frameBound       int
	talker, residual sampler.Params
	noise            sampler.Noise
}

// plan checks a request.
func (m *Model) plan(r Request) (*plan, error) {
	clean, err := cleanText("input", r.Text)
	if err != nil {
		return nil, err
	}
	if !text.Speakable(clean) {
		return nil, requestErrorf("input", "%q has no letter and no number, nothing to say", abridged(clean))
	}
	if r.Instruct, err = cleanText("instructions", r.Instruct); err != nil {
		return nil, err
	}
	p := &plan{}
	if p.talker, p.residual, err = r.Sampling.apply(m.defaults); err != nil {
		return nil, err
	}
	if p.seed, err = r.seed(func() int64 { return int64(rand.Uint32()) }); err != nil {
		return nil, err
	}
	p.noise = sampler.NewGenerator(uint64(p.seed), 0)
	if err := m.planVoice(p, r); err != nil {
		return nil, err
	}
	reference := ""
	if r.Reference != nil {
		if reference, err = cleanText("reference", r.Reference.Text); err != nil {
			return nil, err
		}
	}
	p.request.IDs = m.encoder.Encode(clean, r.Instruct, reference)
	if p.request.WholeText, err = m.wholeText(r); err != nil {
		return nil, err
	}
	if p.frameBound, err = m.frameBound(r.MaxFrames, len(p.request.Text)); err != nil {
		return nil, err
	}
	return p, m.planPositions(p)
}

// planVoice resolves whose voice speaks and refuses what the kind of checkpoint
// cannot do, naming both.
func (m *Model) planVoice(p *plan, r Request) error {
	kind := m.cfg.Kind
	switch {
	case r.Instruct != "" && !m.info.Instruct:
		return requestErrorf("instructions", "this checkpoint (%s %s) was trained without instructions", kind, m.cfg.Size)
	case r.Reference != nil && kind != Base:
		return requestErrorf("reference", "cloning needs a %s checkpoint, this is %s", Base, kind)
	case r.Voice != "" && kind != CustomVoice:
		return requestErrorf("voice", "preset voices such as %q need a %s checkpoint, this is %s", r.Voice, CustomVoice, kind)
	case r.Reference == nil && kind == Base:
		return requestErrorf("reference", "a %s checkpoint speaks in the voice of a reference, and there is none", Base)
	}
	p.request.Language = r.Language
	if kind == CustomVoice {
		p.voice = strings.ToLower(r.Voice)
		if p.voice == "" && len(m.info.Speakers) > 0 {
			p.voice = m.info.Speakers[0]
		}
		p.request.Speaker = p.voice
	}
	if kind == Base {
		codes, err := m.flatten(r.Reference)
		if err != nil {
			return err
		}
		p.request.XVector, p.request.RefCodes = r.Reference.XVector, codes
	}
	return nil
}

// planPositions refuses unknown languages and speakers, and prompts that are too
// long, before any computing. It fits the bound of frames into the positions that the
// talker was trained for.
func (m *Model) planPositions(p *plan) error {
	rows, err := m.prompts.Positions(p.request)
	var name *prompt.NameError
	if errors.As(err, &name) {
		param := name.Kind
		if param == "speaker" {
			param = "voice"
		}
		return &RequestError{Param: param, Message: name.Error()}
	}
	if err != nil {
		return err
	}
	room := m.cfg.Talker.MaxPositions - rows
	if room < 1 {
		return requestErrorf("input", "the prompt takes %d positions, this checkpoint has %d", rows, m.cfg.Talker.MaxPositions)
	}
	p.frameBound = min(p.frameBound, room)
	return nil
}

// wholeText tells the layout: the reference's default for the kind of checkpoint,
// unless the request names one.
func (m *Model) wholeText(r Request) (bool, error) {
	switch r.Layout {
	case LayoutDefault:
		return m.cfg.Kind != Base, nil
	case LayoutStreaming, LayoutWhole:
		return r.Layout == LayoutWhole, nil
	}
	return false, requestErrorf("layout", "%q, allowed are %q and %q", r.Layout, LayoutStreaming, LayoutWhole)
}

// frameBound is the most frames that a request may take.
func (m *Model) frameBound(asked, textTokens int) (int, error) {
	if asked < 0 {
		return 0, requestErrorf("max_frames", "%d, allowed are 1 and up, or 0 for the checkpoint's %d", asked, m.defaults.maxFrames)
	}
	if asked == 0 {
		asked = m.defaults.maxFrames
	}
	return FrameBound(asked, textTokens), nil
}

// cleanText checks text that a user wrote: valid UTF-8, no NUL, of bounded length.
func cleanText(param, s string) (string, error) {
	clean, err := text.Clean(s, text.Limit{Name: "one request", Max: MaxTextRunes})
	if err != nil {
		return "", &RequestError{Param: param, Message: strings.TrimPrefix(err.Error(), "text: ")}
	}
	return clean, nil
}

// abridged shortens text for a message.
func abridged(s string) string {
	const most = 40
	if runes := []rune(s); len(runes) > most {
		return string(runes[:most]) + "…"
	}
	return s
}

// Say speaks a request to its end and returns all of its samples.
func (m *Model) Say(ctx context.Context, r Request) ([]float32, Done, error) {
	s, err := m.Speak(ctx, r)
	if err != nil {
		return nil, Done{}, err
	}
	defer s.Close()
	var pcm []float32
	for event, err := range s.Events() {
		if err != nil {
			return nil, Done{}, err
		}
		switch e := event.(type) {
		case Audio:
			pcm = append(pcm, e.PCM...)
		case Done:
			return pcm, e, nil
		}
	}
	return nil, Done{}, fmt.Errorf("synth: the stream ended without a result")
}
