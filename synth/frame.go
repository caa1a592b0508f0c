package synth

import (
	"errors"
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/profile"
	"github.com/mynah-tts/mynah/predictor"
)

// Ends of an utterance that are no failures.
var (
	errEnd       = errors.New("end token")
	errBound     = errors.New("bound of frames reached")
	errCancelled = errors.New("cancelled")
)

// step makes one frame: code 0, the residual codes, the samples. From the second
// frame on the talker first hears the one before.
func (s *Stream) step() error {
	s.m.prof.Begin(s.number, s.done.Frames)
	if s.done.Frames > 0 {
		if err := s.hear(); err != nil {
			return err
		}
	}
	code0, err := s.pick.Pick(s.state.Logits, s.plan.noise)
	s.m.prof.Lap(profile.FirstPick)
	if err != nil {
		return fmt.Errorf("synth: frame %d: %w", s.done.Frames, err)
	}
	// The end token is looked for behind the last frame too: an utterance that ends
	// just at its bound was not cut.
	if code0 == s.m.cfg.Talker.CodecEOS {
		return errEnd
	}
	if s.done.Frames == s.plan.frameBound {
		return errBound
	}
	if err := s.fillCodes(code0); err != nil {
		return err
	}
	if err := s.m.codec.Decode(s.m.work, s.m.cs, s.sound, s.pcm, s.codes); err != nil {
		return fmt.Errorf("synth: frame %d: %w", s.done.Frames, err)
	}
	s.m.prof.Lap(profile.Codec)
	s.m.prof.End()
	s.done.Frames++
	return nil
}

// fillCodes asks the predictor for the residual codes.
func (s *Stream) fillCodes(code0 int) error {
	s.codes[0] = int32(code0)
	s.m.talker.Code(s.embed, code0)
	s.frame[0] = predictor.Frame{Hidden: s.state.Hidden, Embed: s.embed, Pick: s.residual, Codes: s.codes}
	s.m.pred.Run(s.m.work, s.m.ps, s.frame[:])
	if err := s.frame[0].Err; err != nil {
		return fmt.Errorf("synth: frame %d: %w", s.done.Frames, err)
	}
	return nil
}

// hear feeds the last frame to the talker: the sum of its codes' embeddings and the
// next text row, or the pad row once the text has ended.
func (s *Stream) hear() error {
	s.m.prompts.FrameInput(s.row, s.codes)
	text := s.prompt.Pad
	if last := s.done.Frames - 1; last < len(s.prompt.Trailing) {
		if err := s.m.talker.Text(s.m.work, s.m.ts, s.text, s.prompt.Trailing[last:last+1]); err != nil {
			return err
		}
		text = s.text
	}
	kernel.AddF32(s.row, text)
	s.m.prof.Lap(profile.Input)
	s.states[0] = s.state
	s.m.talker.Step(s.m.work, s.m.ts, s.states[:], s.row)
	s.m.prof.Lap(profile.Talker)
	return nil
}
