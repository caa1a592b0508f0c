package speaker

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/audio/mel"
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// Encoder is the weights of the speaker encoder, read-only, for any number of runs at once. They are copies in float32 (34 MB of the
// published 0.6B), whatever the checkpoint holds them in.
type Encoder struct {
	cfg    Config
	entry  conv // mel to channels
	blocks []block
	mfa    conv // the blocks' outputs side by side to the last enc_channels
	pool   pooling
	fc     conv // mean and deviation to the vector
}

// block is a squeeze-and-excitation block around a Res2Net.
type block struct {
	tdnn1, tdnn2    conv
	parts           []conv // of the Res2Net: parts 1 and on of the channels; part 0 passes
	squeeze, excite conv   // from means over time to scales
}

// pooling is attention over time.
type pooling struct {
	rows  conv      // from a row of mfa's channels to the attention's
	whole []float32 // [attention, 2*channels], what mean and deviation of all rows add to each
	score conv      // from the attention's channels back to mfa's
}

// LoadEncoder takes the tensors speaker_encoder.* from a checkpoint. Each is checked by name, dtype (float32, bfloat16 or float16) and
// shape here; errors are of type *safetensors.TensorError, or name the value of the config that cannot be.
func LoadEncoder(w *safetensors.Set, cfg Config) (*Encoder, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("codec/speaker: config: %w", err)
	}
	e := &Encoder{cfg: cfg}
	if err := e.load(w); err != nil {
		return nil, fmt.Errorf("codec/speaker: %w", err)
	}
	return e, nil
}

func (e *Encoder) load(w *safetensors.Set) (err error) {
	const prefix = "speaker_encoder."
	c := &e.cfg
	if e.entry, err = loadConv(w, prefix+"blocks.0.conv", c.Bands, c.Channels[0], c.Kernels[0], c.Dilations[0]); err != nil {
		return err
	}
	last := len(c.Channels) - 1
	e.blocks = make([]block, last-1)
	for i := range e.blocks {
		if err := e.blocks[i].load(w, fmt.Sprintf("%sblocks.%d.", prefix, i+1), c, i+1); err != nil {
			return err
		}
	}
	n, wide := c.Channels[last], c.Channels[0]*len(e.blocks)
	if e.mfa, err = loadConv(w, prefix+"mfa.conv", wide, n, c.Kernels[last], c.Dilations[last]); err != nil {
		return err
	}
	if err := e.pool.load(w, prefix+"asp.", n, c.Attention); err != nil {
		return err
	}
	e.fc, err = loadConv(w, prefix+"fc", 2*n, c.Dim, 1, 1)
	return err
}

func (b *block) load(w *safetensors.Set, prefix string, c *Config, i int) (err error) {
	n := c.Channels[i]
	if b.tdnn1, err = loadConv(w, prefix+"tdnn1.conv", n, n, 1, 1); err != nil {
		return err
	}
	b.parts = make([]conv, c.Scale-1)
	for p := range b.parts {
		name := fmt.Sprintf("%sres2net_block.blocks.%d.conv", prefix, p)
		if b.parts[p], err = loadConv(w, name, n/c.Scale, n/c.Scale, c.Kernels[i], c.Dilations[i]); err != nil {
			return err
		}
	}
	if b.tdnn2, err = loadConv(w, prefix+"tdnn2.conv", n, n, 1, 1); err != nil {
		return err
	}
	if b.squeeze, err = loadConv(w, prefix+"se_block.conv1", n, c.Squeeze, 1, 1); err != nil {
		return err
	}
	b.excite, err = loadConv(w, prefix+"se_block.conv2", c.Squeeze, n, 1, 1)
	return err
}

// load splits the first map of the attention: mean and deviation are the same for every row, so their part is computed once.
func (p *pooling) load(w *safetensors.Set, prefix string, channels, attention int) error {
	weight, err := w.Widen(prefix+"tdnn.conv.weight", attention, 3*channels, 1)
	if err != nil {
		return err
	}
	bias, err := w.Widen(prefix+"tdnn.conv.bias", attention)
	if err != nil {
		return err
	}
	rows := make([]float32, 0, attention*channels)
	for a := range attention {
		row := weight[a*3*channels : (a+1)*3*channels]
		rows, p.whole = append(rows, row[:channels]...), append(p.whole, row[channels:]...)
	}
	p.rows = newLinear(rows, bias, channels, attention)
	p.score, err = loadConv(w, prefix+"conv", attention, channels, 1, 1)
	return err
}

// newLinear is a convolution of one tap with weights [out, in].
func newLinear(weight, bias []float32, in, out int) conv {
	return conv{in: in, outs: out, taps: 1, dilation: 1, panels: kernel.PackPanels(weight, out, in), bias: bias}
}

// Dim returns the length of the vector.
func (e *Encoder) Dim() int { return e.cfg.Dim }

// SampleRate returns the samples of a second that the encoder expects.
func (e *Encoder) SampleRate() int { return e.cfg.SampleRate }

// MinSamples returns the length of the shortest clip: 1,280 samples at the published sizes.
func (e *Encoder) MinSamples() int { return max(mel.MinSamples, (e.cfg.reach()+1)*mel.Hop) }

// MaxSamples returns the length of the longest clip.
func (e *Encoder) MaxSamples() int { return maxSeconds * e.cfg.SampleRate }
