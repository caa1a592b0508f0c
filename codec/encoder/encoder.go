package encoder

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/safetensors"
)

// Encoder is the weights of the encoder, read-only, for any number of runs at once. The transformer's matrices are views of the
// checkpoint, which must stay open; convolutions and codebooks are copies (85 MB of the published checkpoints). All of it is
// float32 at every precision of the rest: codes are decisions, and a few clips a day need no speed beyond that.
type Encoder struct {
	cfg         Config
	seanet      seanet
	transformer transformer
	down        conv // hidden to hidden, at the rate of frames; its edges repeat the first and the last row
	semantic    search
	acoustic    search
}

// LoadEncoder takes the tensors encoder.* from a checkpoint. Each is checked by name, dtype (float32 or bfloat16) and shape here;
// errors are of type *safetensors.TensorError, or name the value of the config that cannot be.
func LoadEncoder(w *safetensors.Set, cfg Config) (*Encoder, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("codec/encoder: config: %w", err)
	}
	e := &Encoder{cfg: cfg}
	if err := e.load(w, &e.cfg.Encoder); err != nil {
		return nil, fmt.Errorf("codec/encoder: %w", err)
	}
	return e, nil
}

func (e *Encoder) load(w *safetensors.Set, c *EncoderConfig) (err error) {
	if err = e.seanet.load(w, c); err != nil {
		return err
	}
	if err = e.transformer.load(w, c); err != nil {
		return err
	}
	if e.down, err = loadConv(w, "encoder.downsample.conv", c.Hidden, c.Hidden, 2*downStride, downStride, false); err != nil {
		return err
	}
	if err = e.semantic.load(w, "semantic", c.SemanticBooks, c); err != nil {
		return err
	}
	return e.acoustic.load(w, "acoustic", e.cfg.Groups-c.SemanticBooks, c)
}

// Hop returns the samples of a frame.
func (e *Encoder) Hop() int { return e.cfg.Hop }

// SampleRate returns the samples of a second that the encoder expects.
func (e *Encoder) SampleRate() int { return e.cfg.SampleRate }

// Groups returns the codes of a frame.
func (e *Encoder) Groups() int { return e.cfg.Groups }

// Codes returns the size of every codebook: codes are 0 to Codes-1.
func (e *Encoder) Codes() int { return e.cfg.Encoder.Bins }

// Frames returns the frames of a clip of so many samples.
func (e *Encoder) Frames(samples int) int { return (samples + e.cfg.Hop - 1) / e.cfg.Hop }

// MaxSamples returns the length of the longest clip: the positions that the transformer was trained for.
func (e *Encoder) MaxSamples() int { return e.cfg.Encoder.Positions * e.seanet.stride }
