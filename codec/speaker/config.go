package speaker

import (
	"errors"
	"fmt"
	"slices"

	"github.com/mynah-tts/mynah/internal/audio/mel"
	"github.com/mynah-tts/mynah/internal/plainjson"
)

// Bounds of what a config and a clip may ask for.
const (
	maxSize   = 1 << 16 // any width
	maxBlocks = 16      // enc_channels
	maxKernel = 1 << 10 // taps, and distance between them

	// maxSeconds bounds a clip: the network holds some 18 kB a frame of the published sizes, half a gigabyte then.
	maxSeconds = 300
)

// Config is speaker_encoder_config of config.json. What it leaves out has the values of the reference.
type Config struct {
	SampleRate int   `json:"sample_rate"` // Hz; only that of package mel is known
	Bands      int   `json:"mel_dim"`     // the same
	Dim        int   `json:"enc_dim"`     // of the vector
	Channels   []int `json:"enc_channels"`
	Kernels    []int `json:"enc_kernel_sizes"`
	Dilations  []int `json:"enc_dilations"`
	Scale      int   `json:"enc_res2net_scale"`      // equal parts of a block's channels
	Squeeze    int   `json:"enc_se_channels"`        // inner channels of a block's scale
	Attention  int   `json:"enc_attention_channels"` // inner channels of the pooling's attention
}

// ErrNone says that a checkpoint has no speaker encoder: only Base checkpoints do.
var ErrNone = errors.New("codec/speaker: config: no speaker_encoder_config, which only base checkpoints have")

// ParseConfig reads a checkpoint's config.json and checks the part that is about the speaker encoder. The error is ErrNone, or names
// the first value that the encoder cannot work with, and what it allows.
func ParseConfig(data []byte) (Config, error) {
	var file struct {
		Speaker *Config `json:"speaker_encoder_config"`
	}
	if err := plainjson.Decode(data, &file); err != nil {
		return Config{}, fmt.Errorf("codec/speaker: config: %w", err)
	}
	if file.Speaker == nil {
		return Config{}, ErrNone
	}
	if err := file.Speaker.validate(); err != nil {
		return Config{}, fmt.Errorf("codec/speaker: config: %w", err)
	}
	return *file.Speaker, nil
}

// validate fills in what may be left out and checks a config.
func (c *Config) validate() error {
	for _, f := range []struct {
		to    *int
		value int
	}{{&c.SampleRate, mel.SampleRate}, {&c.Bands, mel.Bands}, {&c.Dim, 1024}, {&c.Scale, 8}, {&c.Squeeze, 128}, {&c.Attention, 128}} {
		if *f.to == 0 {
			*f.to = f.value
		}
	}
	for _, f := range []struct {
		to     *[]int
		values []int
	}{
		{&c.Channels, []int{512, 512, 512, 512, 1536}}, {&c.Kernels, []int{5, 3, 3, 3, 1}}, {&c.Dilations, []int{1, 2, 3, 4, 1}},
	} {
		if *f.to == nil {
			*f.to = f.values
		}
	}
	for _, f := range []struct {
		name             string
		value, low, high int
	}{
		{"sample_rate", c.SampleRate, mel.SampleRate, mel.SampleRate},
		{"mel_dim", c.Bands, mel.Bands, mel.Bands},
		{"enc_dim", c.Dim, 1, maxSize},
		{"enc_res2net_scale", c.Scale, 2, maxSize},
		{"enc_se_channels", c.Squeeze, 1, maxSize},
		{"enc_attention_channels", c.Attention, 1, maxSize},
		{"length of enc_channels", len(c.Channels), 3, maxBlocks},
		{"length of enc_kernel_sizes", len(c.Kernels), len(c.Channels), len(c.Channels)},
		{"length of enc_dilations", len(c.Dilations), len(c.Channels), len(c.Channels)},
	} {
		if err := between("speaker_encoder_config."+f.name, f.value, f.low, f.high); err != nil {
			return err
		}
	}
	return c.validateBlocks()
}

func (c *Config) validateBlocks() error {
	last := len(c.Channels) - 1
	for i, n := range c.Channels {
		for _, f := range []struct {
			name        string
			value, high int
		}{{"enc_channels", n, maxSize}, {"enc_kernel_sizes", c.Kernels[i], maxKernel}, {"enc_dilations", c.Dilations[i], maxKernel}} {
			if err := between("speaker_encoder_config."+f.name, f.value, 1, f.high); err != nil {
				return err
			}
		}
		switch {
		case (c.Kernels[i]-1)*c.Dilations[i]%2 != 0:
			return fmt.Errorf("speaker_encoder_config: enc_kernel_sizes %v with enc_dilations %v: block %d cannot reach equally far to both sides", c.Kernels, c.Dilations, i)
		case i > 0 && i < last && n != c.Channels[0]:
			return fmt.Errorf("speaker_encoder_config.enc_channels is %v, all but the last must be equal", c.Channels)
		case i > 0 && i < last && n%c.Scale != 0:
			return fmt.Errorf("speaker_encoder_config.enc_channels is %v, must be multiples of enc_res2net_scale (%d)", c.Channels, c.Scale)
		}
	}
	return nil
}

// reach is how far the widest convolution sees to each side. A clip must be longer, or there would be nothing to reflect.
func (c *Config) reach() int {
	reaches := make([]int, len(c.Kernels))
	for i, k := range c.Kernels {
		reaches[i] = (k - 1) * c.Dilations[i] / 2
	}
	return slices.Max(reaches)
}

func between(name string, value, low, high int) error {
	if value < low || value > high {
		if low == high {
			return fmt.Errorf("%s is %d, only %d is known", name, value, low)
		}
		return fmt.Errorf("%s is %d, allowed are %d to %d", name, value, low, high)
	}
	return nil
}
