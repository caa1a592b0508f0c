package main

import (
	"encoding/json"
	"fmt"
)

// The rules below give the name and shape of every tensor of a checkpoint from its two config files. Linear weights
// are [out, in], convolutions [out, in/groups, kernel], transposed convolutions [in, out, kernel].

// spec is the name and shape of one tensor.
type spec struct {
	name  string
	shape []int
}

// specs collects tensors.
type specs []spec

func (s *specs) add(name string, shape ...int) { *s = append(*s, spec{name, shape}) }

// affine adds a weight of any shape and a bias for its outputs.
func (s *specs) affine(name string, out int, rest ...int) {
	s.add(name+".weight", append([]int{out}, rest...)...)
	s.add(name+".bias", out)
}

// decoderConfig is the shape of a stack of transformer layers; the field names are those of config.json.
type decoderConfig struct {
	Hidden  int `json:"hidden_size"`
	FFN     int `json:"intermediate_size"`
	Layers  int `json:"num_hidden_layers"`
	Heads   int `json:"num_attention_heads"`
	KVHeads int `json:"num_key_value_heads"`
	HeadDim int `json:"head_dim"`
}

type modelShapes struct {
	Kind   string `json:"tts_model_type"`
	Talker struct {
		decoderConfig
		Vocab      int `json:"vocab_size"`
		TextHidden int `json:"text_hidden_size"`
		TextVocab  int `json:"text_vocab_size"`
		Groups     int `json:"num_code_groups"`
		EOS        int `json:"codec_eos_token_id"`
		Predictor  struct {
			decoderConfig
			Codes int `json:"vocab_size"`
		} `json:"code_predictor_config"`
	} `json:"talker_config"`
	Speaker speakerShapes `json:"speaker_encoder_config"`
}

type speakerShapes struct {
	Dim       int   `json:"enc_dim"`
	Mel       int   `json:"mel_dim"`
	Channels  []int `json:"enc_channels"`
	Kernels   []int `json:"enc_kernel_sizes"`
	Scale     int   `json:"enc_res2net_scale"`
	SE        int   `json:"enc_se_channels"`
	Attention int   `json:"enc_attention_channels"`
}

// parseModel reads config.json. Sizes of the speaker encoder that it leaves out have the values of the reference.
func parseModel(config []byte) (modelShapes, error) {
	m := modelShapes{Speaker: speakerShapes{Dim: 1024, Mel: 128, Channels: []int{512, 512, 512, 512, 1536},
		Kernels: []int{5, 3, 3, 3, 1}, Scale: 8, SE: 128, Attention: 128}}
	if err := json.Unmarshal(config, &m); err != nil {
		return m, fmt.Errorf("config.json: %w", err)
	}
	if c, k := m.Speaker.Channels, m.Speaker.Kernels; len(c) < 3 || len(c) != len(k) {
		return m, fmt.Errorf("config.json: speaker encoder with %d enc_channels and %d enc_kernel_sizes, wanted the same number, at least 3", len(c), len(k))
	}
	return m, nil
}

// tensors returns the tensors of model.safetensors.
func (m *modelShapes) tensors() specs {
	var s specs
	t, p := &m.Talker, &m.Talker.Predictor
	s.add("talker.model.text_embedding.weight", t.TextVocab, t.TextHidden)
	s.affine("talker.text_projection.linear_fc1", t.TextHidden, t.TextHidden)
	s.affine("talker.text_projection.linear_fc2", t.Hidden, t.TextHidden)
	s.add("talker.model.codec_embedding.weight", t.Vocab, t.Hidden)
	s.add(codecHead, t.Vocab, t.Hidden)
	s.stack("talker.model.", t.decoderConfig)
	s.stack("talker.code_predictor.model.", p.decoderConfig)
	for g := range t.Groups - 1 {
		s.add(fmt.Sprintf("talker.code_predictor.model.codec_embedding.%d.weight", g), p.Codes, t.Hidden)
		s.add(fmt.Sprintf("talker.code_predictor.lm_head.%d.weight", g), p.Codes, p.Hidden)
	}
	if p.Hidden != t.Hidden {
		s.affine("talker.code_predictor.small_to_mtp_projection", p.Hidden, t.Hidden)
	}
	if m.Kind == "base" {
		s.speaker("speaker_encoder.", &m.Speaker)
	}
	return s
}

// codecHead is the matrix that gives the logits of code 0, one row a code.
const codecHead = "talker.codec_head.weight"

// stack adds the layers and the final norm of talker or predictor.
func (s *specs) stack(prefix string, c decoderConfig) {
	for i := range c.Layers {
		l := fmt.Sprintf("%slayers.%d.", prefix, i)
		s.attention(l+"self_attn.", c)
		s.add(l+"self_attn.q_norm.weight", c.HeadDim)
		s.add(l+"self_attn.k_norm.weight", c.HeadDim)
		s.swiglu(l, c)
	}
	s.add(prefix+"norm.weight", c.Hidden)
}

func (s *specs) attention(prefix string, c decoderConfig) {
	s.add(prefix+"q_proj.weight", c.Heads*c.HeadDim, c.Hidden)
	s.add(prefix+"k_proj.weight", c.KVHeads*c.HeadDim, c.Hidden)
	s.add(prefix+"v_proj.weight", c.KVHeads*c.HeadDim, c.Hidden)
	s.add(prefix+"o_proj.weight", c.Hidden, c.Heads*c.HeadDim)
}

func (s *specs) swiglu(layer string, c decoderConfig) {
	s.add(layer+"mlp.gate_proj.weight", c.FFN, c.Hidden)
	s.add(layer+"mlp.up_proj.weight", c.FFN, c.Hidden)
	s.add(layer+"mlp.down_proj.weight", c.Hidden, c.FFN)
	s.add(layer+"input_layernorm.weight", c.Hidden)
	s.add(layer+"post_attention_layernorm.weight", c.Hidden)
}

// speaker adds the speaker encoder (ECAPA-TDNN), which only base checkpoints have.
func (s *specs) speaker(prefix string, c *speakerShapes) {
	last := len(c.Channels) - 1
	wide := 0 // channels of the blocks side by side
	s.affine(prefix+"blocks.0.conv", c.Channels[0], c.Mel, c.Kernels[0])
	for i := 1; i < last; i++ {
		b := fmt.Sprintf("%sblocks.%d.", prefix, i)
		n := c.Channels[i]
		wide += n
		s.affine(b+"tdnn1.conv", n, c.Channels[i-1], 1)
		for part := range c.Scale - 1 {
			s.affine(fmt.Sprintf("%sres2net_block.blocks.%d.conv", b, part), n/c.Scale, n/c.Scale, c.Kernels[i])
		}
		s.affine(b+"tdnn2.conv", n, n, 1)
		s.affine(b+"se_block.conv1", c.SE, n, 1)
		s.affine(b+"se_block.conv2", n, c.SE, 1)
	}
	n := c.Channels[last]
	s.affine(prefix+"mfa.conv", n, wide, c.Kernels[last])
	s.affine(prefix+"asp.tdnn.conv", c.Attention, 3*n, 1)
	s.affine(prefix+"asp.conv", n, c.Attention, 1)
	s.affine(prefix+"fc", c.Dim, 2*n, 1)
}
