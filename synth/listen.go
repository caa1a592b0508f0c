package synth

import (
	"context"
	"errors"
	"slices"

	"github.com/mynah-tts/mynah/internal/audio"
	"github.com/mynah-tts/mynah/talker/prompt"
)

// Clip is a recording of somebody's speech, from which Listen makes a voice.
type Clip struct {
	Samples []float32 // mono; full scale is ±1
	Rate    int       // Hz
	Text    string    // what is said; "" takes the timbre alone
}

// Listen turns a clip into a reference for requests of a Base checkpoint. With the clip's
// text the reference holds the codes of the clip as well (in-context cloning); without, the
// vector alone. Warnings are sentences for people: a text that does not fit the clip, a
// clip that is very short, quiet or clipped. They are given with a reference that can be used.
//
// What is wrong with the clip or its text is a *RequestError for ref_audio or ref_text.
// The engine encodes between the frames of streams, so that nobody waits for it, one clip
// after the other; ErrBusy, ErrDraining and ErrClosed are as for Speak, and ctx ends the
// wait with its error. The first call loads the encoders.
func (m *Model) Listen(ctx context.Context, clip Clip) (ref *Reference, warnings []string, err error) {
	if ctx == nil {
		return nil, nil, errors.New("synth: Listen needs a context")
	}
	if err := m.encoderSource.missing; err != nil {
		return nil, nil, requestErrorf(clipParam, "%v", err)
	}
	s, err := checkClip(clip)
	if err != nil {
		return nil, nil, err
	}
	if clip.Text, err = cleanTranscript(clip.Text); err != nil {
		return nil, nil, err
	}
	samples, err := audio.Resample(clip.Samples, clip.Rate, m.codec.SampleRate())
	if err != nil {
		return nil, nil, requestErrorf(clipParam, "%v", err)
	}
	toCode, warnings, err := m.toCode(&s, samples, clip.Text)
	if err != nil {
		return nil, nil, err
	}
	if ref, err = m.hear(ctx, samples, toCode); err != nil {
		return nil, nil, err
	}
	ref.Text = clip.Text
	return ref, append(s.warnings(), warnings...), nil
}

// toCode returns the samples whose codes a reference needs, nil without a transcript: those
// of the clip, with a rest behind them if they end in a word. Warnings are about both.
func (m *Model) toCode(s *sound, samples []float32, transcript string) (toCode []float32, warnings []string, err error) {
	if transcript == "" {
		return nil, nil, nil
	}
	hop := m.codec.Hop()
	if s.midword {
		samples = rest(samples, m.codec.SampleRate(), hop)
		warnings = append(warnings, "the clip ends while somebody speaks: half a second of silence was put behind it")
	}
	if misfit := s.fits(transcript); misfit != "" {
		warnings = append(warnings, misfit)
	}
	return samples, warnings, m.checkRoom(transcript, (len(samples)+hop-1)/hop)
}

// checkRoom refuses a reference whose prompt would leave no position to speak in.
func (m *Model) checkRoom(transcript string, frames int) error {
	groups := m.cfg.Talker.Groups
	r := prompt.Request{IDs: m.encoder.Encode("", "", transcript), RefCodes: make([]int32, frames*groups), WholeText: true}
	rows, err := m.prompts.Positions(r)
	if most := m.cfg.Talker.MaxPositions; err == nil && rows >= most {
		return requestErrorf(clipParam, "the clip and its transcript take %d positions, this checkpoint has %d", rows, most)
	}
	return err
}

// hear has the engine encode samples of its own rate: those of the vector, and those of the
// codes, which are nil for none.
func (m *Model) hear(ctx context.Context, samples, toCode []float32) (*Reference, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	h, err := m.engine.admitHearing(ctx)
	if err != nil {
		return nil, err
	}
	e, err := m.loadEncoders()
	if err == nil {
		err = h.start(e, samples, toCode)
	}
	if err != nil {
		m.engine.leaveHearing(h)
		return nil, err
	}
	m.engine.beginHearing(h)
	select {
	case <-h.done:
	case <-ctx.Done():
		m.engine.leaveHearing(h)
		return nil, ctx.Err()
	}
	if h.err != nil {
		return nil, h.err
	}
	ref := &Reference{XVector: h.vector}
	if toCode != nil {
		ref.Codes = slices.Collect(slices.Chunk(h.codes, m.cfg.Talker.Groups))
	}
	return ref, nil
}

// Forget drops what the engine keeps of a reference to speak sooner in its voice, and keeps
// nothing of it on behalf of requests that are under way. The reference stays usable.
func (m *Model) Forget(ref *Reference) {
	if ref != nil {
		m.engine.forget(voiceKey(ref.XVector, slices.Concat(ref.Codes...)))
	}
}

// Digest identifies the checkpoint by its contents, 64 hexadecimal digits: the same for a
// directory and for a file that was packed from it. References belong to one checkpoint.
// The first call may read all of the checkpoint's files.
func (m *Model) Digest() (string, error) { return m.digest() }
