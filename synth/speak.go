package synth

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/mynah-tts/mynah/internal/text"
	"github.com/mynah-tts/mynah/sampler"
	"github.com/mynah-tts/mynah/talker/prompt"
)

// MaxTextRunes bounds the text of one request: two hours of speech.
const MaxTextRunes = 100_000

// maxGap bounds the silence between segments.
const maxGap = 10 * time.Second

// Speak admits a request. It returns at once: with a *RequestError if the request cannot
// be, with ErrBusy, ErrDraining or ErrClosed if the model does not take it. ctx cancels
// the stream between frames.
func (m *Model) Speak(ctx context.Context, r Request) (*Stream, error) {
	p, err := m.planWhole(r)
	if err != nil {
		return nil, err
	}
	return m.admit(ctx, p, false)
}

// planWhole checks a request whose text is all there.
func (m *Model) planWhole(r Request) (*plan, error) {
	clean, err := cleanText("input", r.Text)
	if err != nil {
		return nil, err
	}
	if !text.Speakable(clean) {
		return nil, requestErrorf("input", "%q has no letter and no number, nothing to say", abridged(clean))
	}
	if err := m.writing.check(clean); err != nil {
		return nil, err
	}
	p, err := m.plan(r)
	if err != nil {
		return nil, err
	}
	if err := p.script.write(r.Text); err != nil { // which cleans it as it does pieces
		return nil, err
	}
	if err := p.script.end(); err != nil {
		return nil, err
	}
	return p, m.planPositions(p)
}

// SpeakPieces admits a request whose text comes later, through the stream's Write and
// End. Its text must be empty. Speech begins before the text has ended, in the streaming
// layout; what is said is the same as if Speak had been given all of the text in that
// layout. In an in-context clone it begins once there are as many tokens of text as the
// reference has frames beyond the tokens of its transcript, and one, or with the end of the
// first segment, which Flush brings about: some 70 words for ten seconds. But once a text has 64 letters, most of them in a script that the checkpoint does
// not know, it is refused, whatever would follow.
func (m *Model) SpeakPieces(ctx context.Context, r Request) (*Stream, error) {
	switch {
	case r.Text != "":
		return nil, requestErrorf("input", "%q, but the text comes in pieces", abridged(r.Text))
	case r.Layout == LayoutWhole:
		return nil, requestErrorf("layout", "%q, text in pieces needs %q", r.Layout, LayoutStreaming)
	}
	r.Layout = LayoutStreaming
	p, err := m.plan(r)
	if err != nil {
		return nil, err
	}
	if err := m.planPositions(p); err != nil {
		return nil, err
	}
	p.script.letters.writing = m.writing
	return m.admit(ctx, p, true)
}

// admit puts a stream into the queue.
func (m *Model) admit(ctx context.Context, p *plan, open bool) (*Stream, error) {
	if ctx == nil {
		return nil, errors.New("synth: Speak needs a context")
	}
	s := newStream(ctx, m.engine, p)
	s.open = open
	if err := m.engine.admit(s); err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, s.abandon)
	s.mu.Lock()
	s.detach = stop
	s.mu.Unlock()
	return s, nil
}

// plan is a request that was checked and put into the models' terms.
type plan struct {
	request          prompt.Request // without the text
	script           *script
	voice            string
	seed             int64
	maxFrames        int  // as asked for; 0 is the checkpoint's bound for each segment
	frameBound       int  // of a text that is known
	anyLength        bool // of tests: the text does not bound the frames
	gap              int  // samples
	shape            shape
	talker, residual sampler.Params
	trace            Tracer // or nil
	noise            func(segment int) sampler.Noise

	voiceKey digest
	unkept   bool // nothing of the voice is to be kept: of the engine's goroutine once it is admitted
}

// plan checks a request but for its text.
func (m *Model) plan(r Request) (*plan, error) {
	var err error
	if r.Instruct, err = cleanText("instructions", r.Instruct); err != nil {
		return nil, err
	}
	p := &plan{maxFrames: r.MaxFrames, shape: m.defaults.shape}
	if p.talker, p.residual, err = r.Sampling.apply(m.defaults); err != nil {
		return nil, err
	}
	if p.seed, err = r.seed(func() int64 { return int64(rand.Uint32()) }); err != nil {
		return nil, err
	}
	p.noise = func(segment int) sampler.Noise { return sampler.NewGenerator(uint64(p.seed), uint64(segment)) }
	if err := m.planVoice(p, r); err != nil {
		return nil, err
	}
	reference := ""
	if r.Reference != nil {
		if reference, err = cleanText("reference", r.Reference.Text); err != nil {
			return nil, err
		}
	}
	p.request.IDs = m.encoder.Encode("", r.Instruct, reference)
	if p.request.WholeText, err = m.wholeText(r); err != nil {
		return nil, err
	}
	p.voiceKey = voiceKey(p.request.XVector, p.request.RefCodes)
	return p, m.planText(p, r)
}

// planText checks how the text is to be cut and bounded.
func (m *Model) planText(p *plan, r Request) error {
	switch {
	case r.MaxFrames < 0:
		return requestErrorf("max_frames", "%d, allowed are 1 and up, or 0 for the checkpoint's %d", r.MaxFrames, m.defaults.maxFrames)
	case r.SegmentRunes < -1:
		return requestErrorf("segment_runes", "%d, allowed are 1 and up, 0 for the checkpoint's %d, or -1 to cut nowhere", r.SegmentRunes, m.defaults.limits.Sentence)
	case r.Gap < 0 || r.Gap > maxGap:
		return requestErrorf("gap", "%v, allowed are 0 to %v", r.Gap, maxGap)
	}
	limits := m.defaults.limits
	if r.SegmentRunes != 0 {
		limits = segmentLimits(r.SegmentRunes)
	}
	p.script = newScript(m.encoder.Tokenizer(), limits)
	p.gap = int(math.Round(r.Gap.Seconds() * float64(m.codec.SampleRate())))
	return nil
}

// planVoice resolves whose voice speaks and refuses what the kind of checkpoint
// cannot do, naming both.
func (m *Model) planVoice(p *plan, r Request) error {
	kind := m.cfg.Kind
	switch {
	case r.Instruct != "" && kind == Base:
		return requestErrorf("instructions", "instructions need a %s or %s checkpoint, this is %s", VoiceDesign, CustomVoice, kind)
	case r.Instruct != "" && !m.info.Instruct:
		return requestErrorf("instructions", "this checkpoint (%s %s) was trained without instructions; larger ones and %s take them", kind, m.cfg.Size, VoiceDesign)
	case r.Reference != nil && kind != Base:
		return requestErrorf("reference", "cloning needs a %s checkpoint, this is %s", Base, kind)
	case r.Voice != "" && kind != CustomVoice:
		return requestErrorf("voice", "preset voices such as %q need a %s checkpoint, this is %s", r.Voice, CustomVoice, kind)
	case r.Reference == nil && kind == Base:
		return requestErrorf("voice", "a %s checkpoint has no voice of its own: it needs a recording, or a voice that is kept", Base)
	}
	p.request.Language = m.language(r.Language)
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

// planPositions refuses unknown languages and speakers, and prompts that are too long,
// before any computing, and tells the bound of frames for a text that is known.
func (m *Model) planPositions(p *plan) error {
	check := func(ids []int) (room int, err error) {
		r := p.request
		r.Text = ids
		rows, err := m.prompts.Positions(r)
		var name *prompt.NameError
		if errors.As(err, &name) {
			param := name.Kind
			if param == "speaker" {
				param = "voice"
			}
			return 0, &RequestError{Param: param, Message: name.Error()}
		}
		if room = m.cfg.Talker.MaxPositions - rows; err == nil && room < 1 {
			return 0, requestErrorf("input", "the prompt takes %d positions, this checkpoint has %d", rows, m.cfg.Talker.MaxPositions)
		}
		return room, err
	}
	if _, err := check(nil); err != nil {
		return err
	}
	most := cmp.Or(p.maxFrames, m.defaults.maxFrames)
	for _, seg := range p.script.segments {
		room, err := check(seg.ids)
		if err != nil {
			return err
		}
		p.frameBound += FrameBound(min(most, room), len(seg.ids))
	}
	if p.maxFrames > 0 {
		p.frameBound = min(p.frameBound, p.maxFrames)
	}
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

// requestLimit bounds each text of a request.
var requestLimit = text.Limit{Name: "one request", Max: MaxTextRunes}

// cleanText checks text that a user wrote: valid UTF-8, no NUL, of bounded length.
func cleanText(param, s string) (string, error) {
	clean, err := text.Clean(s, requestLimit)
	if err != nil {
		return "", &RequestError{Param: param, Message: strings.TrimPrefix(err.Error(), "text: ")}
	}
	return clean, nil
}

// abridgedRunes is how many characters of a text a message shows.
const abridgedRunes = 40

// abridged shortens text for a message.
func abridged(s string) string {
	if runes := []rune(s); len(runes) > abridgedRunes {
		return string(runes[:abridgedRunes]) + "…"
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
