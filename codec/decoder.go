package codec

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// Decoder is the weights of the decoder. Once Quantize has packed them it is read-only, and one serves all streams. Codebooks, and in
// part linear layers, are views of the checkpoint, which must stay open; convolutions are packed copies, or views of a packed file.
type Decoder struct {
	cfg       Config
	quantizer quantizer
	preConv   conv // codebook_dim to latent
	inProj    nn.Linear
	stack     *nn.Stack
	outProj   nn.Linear
	upsample  []upsample
	entry     conv // latent to decoder_dim
	blocks    []block
	out       outConv
	left      int       // values that a State keeps for all convolutions
	precision Precision // of the packed weights; "" before they are
	dots      bool      // BF16 takes dot products of bfloat16
	plain     bool      // no minimal filtering, for tests
}

// block is one decoder block: snake (which belongs to the convolution before it), a transposed convolution to half the channels,
// and residual units.
type block struct {
	width int // channels
	up    conv
	units []unit
}

// unit is x + conv2(snake(conv1(snake(x)))).
type unit struct{ conv1, conv2 conv }

// unitDilations are the dilations of a block's residual units. No config holds them.
var unitDilations = [...]int{1, 3, 9}

// LoadDecoder takes the tensors decoder.* from a checkpoint. Each is checked by name, dtype (float32 or bfloat16) and shape here;
// errors are of type *safetensors.TensorError, or name the value of the config that cannot be.
func LoadDecoder(w *safetensors.Set, cfg Config) (*Decoder, error) {
	if err := cfg.validate(); err != nil {
		return nil, fmt.Errorf("codec: config: %w", err)
	}
	d := &Decoder{cfg: cfg, dots: kernel.DotsBF16()}
	for _, load := range []func(*safetensors.Set) error{d.loadQuantizer, d.loadTransformer, d.loadUpsampling, d.loadBlocks} {
		if err := load(w); err != nil {
			return nil, fmt.Errorf("codec: %w", err)
		}
	}
	rate := 1
	d.eachConv(func(c *conv) {
		c.slot, c.rate = d.left, rate
		d.left += c.left * c.in
		rate *= c.stride
	})
	return d, nil
}

func (d *Decoder) loadTransformer(w *safetensors.Set) (err error) {
	const prefix = "decoder.pre_transformer."
	c := &d.cfg.Decoder
	if d.preConv, err = loadConv(w, "decoder.pre_conv.conv", c.CodebookDim, c.Latent, 1); err != nil {
		return err
	}
	if d.inProj, err = nn.LoadLinear(w, prefix+"input_proj", c.Latent, c.Hidden, true); err != nil {
		return err
	}
	if d.stack, err = nn.LoadStack(w, prefix, c.stack()); err != nil {
		return err
	}
	d.outProj, err = nn.LoadLinear(w, prefix+"output_proj", c.Hidden, c.Latent, true)
	return err
}

func (d *Decoder) loadUpsampling(w *safetensors.Set) error {
	d.upsample = make([]upsample, len(d.cfg.Decoder.Upsampling))
	for i, rate := range d.cfg.Decoder.Upsampling {
		if err := d.upsample[i].load(w, fmt.Sprintf("decoder.upsample.%d.", i), d.cfg.Decoder.Latent, rate); err != nil {
			return err
		}
	}
	return nil
}

// loadBlocks takes decoder.decoder.N: 0 is the entry convolution, then come the blocks, then a snake and the last convolution.
// Every activation is handed to the convolution that it follows.
func (d *Decoder) loadBlocks(w *safetensors.Set) (err error) {
	c := &d.cfg.Decoder
	if d.entry, err = loadConv(w, "decoder.decoder.0.conv", c.Latent, c.Width, 1); err != nil {
		return err
	}
	d.blocks = make([]block, len(c.BlockStride))
	last := &d.entry
	for i, stride := range c.BlockStride {
		b := &d.blocks[i]
		if err := b.load(w, fmt.Sprintf("decoder.decoder.%d.block.", i+1), c.Width>>i, c.Width>>(i+1), stride, last); err != nil {
			return err
		}
		last = &b.units[len(b.units)-1].conv2
	}
	n := len(d.blocks)
	act, err := loadSnake(w, fmt.Sprintf("decoder.decoder.%d", n+1), c.Width>>n)
	if err != nil {
		return err
	}
	last.follow(act, &d.out.conv)
	return d.out.load(w, fmt.Sprintf("decoder.decoder.%d.conv", n+2), c.Width>>n)
}

// load takes the tensors of a block. before is the convolution that the block's first snake follows.
func (b *block) load(w *safetensors.Set, prefix string, in, out, stride int, before *conv) error {
	act, err := loadSnake(w, prefix+"0", in)
	if err != nil {
		return err
	}
	before.follow(act, &b.up)
	b.width = out
	if b.up, err = loadTransposed(w, prefix+"1.conv", in, out, stride); err != nil {
		return err
	}
	before = &b.up
	b.units = make([]unit, len(unitDilations))
	for j, dilation := range unitDilations {
		u := &b.units[j]
		prefix := fmt.Sprintf("%s%d.", prefix, j+2)
		if act, err = loadSnake(w, prefix+"act1", out); err != nil {
			return err
		}
		before.follow(act, &u.conv1)
		if u.conv1, err = loadConv(w, prefix+"conv1.conv", out, out, dilation); err != nil {
			return err
		}
		if act, err = loadSnake(w, prefix+"act2", out); err != nil {
			return err
		}
		u.conv1.follow(act, &u.conv2)
		if u.conv2, err = loadConv(w, prefix+"conv2.conv", out, out, 1); err != nil {
			return err
		}
		before = &u.conv2
	}
	return nil
}

// eachConv visits everything that keeps rows from one step to the next.
func (d *Decoder) eachConv(visit func(*conv)) {
	visit(&d.preConv)
	for i := range d.upsample {
		visit(&d.upsample[i].up)
		visit(&d.upsample[i].depthwise)
	}
	visit(&d.entry)
	for i := range d.blocks {
		b := &d.blocks[i]
		visit(&b.up)
		for j := range b.units {
			visit(&b.units[j].conv1)
			visit(&b.units[j].conv2)
		}
	}
	visit(&d.out.conv)
}

// Hop returns the samples of a frame.
func (d *Decoder) Hop() int { return d.cfg.Hop }

// SampleRate returns the samples of a second.
func (d *Decoder) SampleRate() int { return d.cfg.SampleRate }

// Groups returns the codes of a frame.
func (d *Decoder) Groups() int { return d.cfg.Decoder.Groups }

// Codes returns the size of every codebook: codes are 0 to Codes-1.
func (d *Decoder) Codes() int { return d.cfg.Decoder.Bins }
