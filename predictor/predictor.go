// Package predictor is the code predictor: inside a frame it turns the talker's
// hidden state and code 0 into the residual codes, one residual step each.
//
// It is a short stack of Qwen3 decoder layers with a fresh KV cache for every
// frame. Two rows are known beforehand, the talker's hidden state and the
// embedding of code 0, and go through together; their second output gives code 1
// through head 0. From then on each step feeds the embedding of the last code,
// one row, and the next head gives the next code. Nothing is computed twice.
package predictor

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// Config is code_predictor_config of a checkpoint's talker_config, as far as it
// matters to the computation.
type Config struct {
	nn.DecoderConfig

	Vocab  int `json:"vocab_size"`      // entries of every residual codebook
	Groups int `json:"num_code_groups"` // codes in a frame, code 0 included
}

// Validate names the first value that the predictor cannot work with.
func (c *Config) Validate() error {
	if err := c.DecoderConfig.Validate(); err != nil {
		return fmt.Errorf("code_predictor_config: %w", err)
	}
	switch {
	case c.Vocab < 1 || c.Vocab > 1<<20:
		return fmt.Errorf("code_predictor_config: vocab_size is %d, allowed are 1 to %d", c.Vocab, 1<<20)
	case c.Groups < 2 || c.Groups > 64:
		return fmt.Errorf("code_predictor_config: num_code_groups is %d, allowed are 2 to 64", c.Groups)
	}
	return nil
}

// Model is the predictor's weights: read-only, shared by all requests.
type Model struct {
	Config
	Width      int // of the talker's rows, which the input rows and embeddings share
	stack      *nn.Stack
	projection *nn.Linear     // talker width to hidden; nil when the widths are equal
	embeddings []nn.Embedding // [groups-1], each [vocab, talker width]; table g-1 embeds code g
	heads      []nn.Linear    // [groups-1], hidden to vocab; head g-1 gives code g
}

// Load checks and takes the predictor's tensors from a checkpoint. width is the
// talker's. cfg must have passed Validate.
func Load(w *safetensors.Set, cfg Config, width int) (*Model, error) {
	m := &Model{Config: cfg, Width: width}
	var err error
	if m.stack, err = nn.LoadStack(w, "talker.code_predictor.model.", cfg.Stack()); err != nil {
		return nil, err
	}
	if cfg.Hidden != width {
		p, err := nn.LoadLinear(w, "talker.code_predictor.small_to_mtp_projection", width, cfg.Hidden, true)
		if err != nil {
			return nil, err
		}
		m.projection = &p
	}
	m.embeddings = make([]nn.Embedding, cfg.Groups-1)
	m.heads = make([]nn.Linear, cfg.Groups-1)
	for g := range m.heads {
		name := fmt.Sprintf("talker.code_predictor.model.codec_embedding.%d.weight", g)
		if m.embeddings[g], err = nn.LoadEmbedding(w, name, cfg.Vocab, width); err != nil {
			return nil, err
		}
		name = fmt.Sprintf("talker.code_predictor.lm_head.%d", g)
		if m.heads[g], err = nn.LoadLinear(w, name, cfg.Hidden, cfg.Vocab, false); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// Quantize packs the matrices of the layers, and the heads and the projection if p
// is an integer precision: each is read in every frame. Heads in int4 would flip too
// many codes, so they are int8 at least. heard, which may be none, are frames to choose
// int4 codes by, with all their codes.
func (m *Model) Quantize(p nn.Precision, wk *nn.Work, heard []Frame) error {
	if err := m.stack.Quantize(p, m.calibration(wk, heard)); err != nil {
		return err
	}
	if p == nn.Int4A16 || p == nn.Int4A8 {
		p = nn.Int8
	}
	for g := range m.heads {
		if err := m.heads[g].Quantize(p); err != nil {
			return err
		}
	}
	if m.projection != nil {
		return m.projection.Quantize(p)
	}
	return nil
}

// Linears returns the matrices that Quantize packs.
func (m *Model) Linears() []*nn.Linear {
	all := m.stack.Linears()
	for g := range m.heads {
		all = append(all, &m.heads[g])
	}
	if m.projection != nil {
		all = append(all, m.projection)
	}
	return all
}

// AddCode adds the embedding of a residual code of a group from 1 on to dst
// [talker width].
func (m *Model) AddCode(dst []float32, group, code int) { m.embeddings[group-1].Add(dst, code) }
