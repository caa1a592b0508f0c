package main

import (
	"encoding/json"
	"fmt"
)

type codecShapes struct {
	Decoder struct {
		decoderConfig
		Latent    int   `json:"latent_dim"`
		Codebook  int   `json:"codebook_dim"`
		Codes     int   `json:"codebook_size"`
		Channels  int   `json:"decoder_dim"`
		Books     int   `json:"num_quantizers"`
		Semantic  int   `json:"num_semantic_quantizers"`
		Rates     []int `json:"upsample_rates"`
		PreUpRate []int `json:"upsampling_ratios"`
	} `json:"decoder_config"`
	Encoder encoderShapes `json:"encoder_config"`
}

type encoderShapes struct {
	decoderConfig
	AudioChannels  int     `json:"audio_channels"`
	Filters        int     `json:"num_filters"`
	Kernel         int     `json:"kernel_size"`
	LastKernel     int     `json:"last_kernel_size"`
	ResidualKernel int     `json:"residual_kernel_size"`
	ResidualLayers int     `json:"num_residual_layers"`
	Compress       int     `json:"compress"`
	Ratios         []int   `json:"upsampling_ratios"`
	SampleRate     int     `json:"sampling_rate"`
	FrameRate      float64 `json:"_frame_rate"`
	VQDim          int     `json:"vector_quantization_hidden_dimension"`
	Codebook       int     `json:"codebook_dim"`
	Codes          int     `json:"codebook_size"`
	Books          int     `json:"num_quantizers"`
	Semantic       int     `json:"num_semantic_quantizers"`
}

// parseCodec reads speech_tokenizer/config.json.
func parseCodec(config []byte) (codecShapes, error) {
	var c codecShapes
	c.Decoder.Semantic = 1 // the reference's value where the file has none
	if err := json.Unmarshal(config, &c); err != nil {
		return c, fmt.Errorf("speech_tokenizer/config.json: %w", err)
	}
	if c.Encoder.FrameRate <= 0 {
		return c, fmt.Errorf("speech_tokenizer/config.json: _frame_rate %v, wanted more than 0", c.Encoder.FrameRate)
	}
	return c, nil
}

// tensors returns the tensors of speech_tokenizer/model.safetensors.
func (c *codecShapes) tensors() specs {
	var s specs
	c.decoder(&s)
	c.Encoder.convolutions(&s)
	c.Encoder.transformer(&s)
	c.Encoder.quantizers(&s)
	return s
}

func (c *codecShapes) decoder(s *specs) {
	d := &c.Decoder
	entry := d.Codebook / 2 // numbers of one codebook entry
	for _, q := range []struct {
		name  string
		books int
	}{{"decoder.quantizer.rvq_first.", d.Semantic}, {"decoder.quantizer.rvq_rest.", d.Books - d.Semantic}} {
		s.add(q.name+"input_proj.weight", entry, d.Codebook, 1)
		s.add(q.name+"output_proj.weight", d.Codebook, entry, 1)
		for i := range q.books {
			book := fmt.Sprintf("%svq.layers.%d._codebook.", q.name, i)
			s.add(book+"cluster_usage", d.Codes)
			s.add(book+"embedding_sum", d.Codes, entry)
		}
	}
	s.affine("decoder.pre_conv.conv", d.Latent, d.Codebook, 3)
	s.affine("decoder.pre_transformer.input_proj", d.Hidden, d.Latent)
	s.affine("decoder.pre_transformer.output_proj", d.Latent, d.Hidden)
	s.add("decoder.pre_transformer.norm.weight", d.Hidden)
	for i := range d.Layers {
		l := fmt.Sprintf("decoder.pre_transformer.layers.%d.", i)
		s.attention(l+"self_attn.", d.decoderConfig)
		s.swiglu(l, d.decoderConfig)
		s.layerScales(l, d.Hidden)
	}
	for i, r := range d.PreUpRate {
		u := fmt.Sprintf("decoder.upsample.%d.", i)
		s.affine(u+"0.conv", d.Latent, d.Latent, r)
		s.affine(u+"1.dwconv.conv", d.Latent, 1, 7)
		s.affine(u+"1.norm", d.Latent)
		s.affine(u+"1.pwconv1", 4*d.Latent, d.Latent)
		s.affine(u+"1.pwconv2", d.Latent, 4*d.Latent)
		s.add(u+"1.gamma", d.Latent)
	}
	s.affine("decoder.decoder.0.conv", d.Channels, d.Latent, 7)
	in := d.Channels
	for i, r := range d.Rates {
		s.vocoderBlock(fmt.Sprintf("decoder.decoder.%d.block.", i+1), in, in/2, r)
		in /= 2
	}
	s.snake(fmt.Sprintf("decoder.decoder.%d", len(d.Rates)+1), in)
	s.affine(c.lastConv(), 1, in, 7)
}

// lastConv names the convolution that gives the samples.
func (c *codecShapes) lastConv() string {
	return fmt.Sprintf("decoder.decoder.%d.conv", len(c.Decoder.Rates)+2)
}

// vocoderBlock adds a snake, a transposed convolution from in to out channels and three residual units.
func (s *specs) vocoderBlock(prefix string, in, out, rate int) {
	s.snake(prefix+"0", in)
	s.add(prefix+"1.conv.weight", in, out, 2*rate)
	s.add(prefix+"1.conv.bias", out)
	for unit := 2; unit <= 4; unit++ {
		u := fmt.Sprintf("%s%d.", prefix, unit)
		s.snake(u+"act1", out)
		s.affine(u+"conv1.conv", out, out, 7)
		s.snake(u+"act2", out)
		s.affine(u+"conv2.conv", out, out, 1)
	}
}

func (s *specs) snake(name string, channels int) {
	s.add(name+".alpha", channels)
	s.add(name+".beta", channels)
}

func (s *specs) layerScales(layer string, hidden int) {
	s.add(layer+"self_attn_layer_scale.scale", hidden)
	s.add(layer+"mlp_layer_scale.scale", hidden)
}

// convolutions adds the encoder's way from samples to 25 rows a second. The numbers in the names count the
// activations too, which have no tensors.
func (e *encoderShapes) convolutions(s *specs) {
	name := func(i int) string { return fmt.Sprintf("encoder.encoder.layers.%d.", i) }
	n, channels, hop := 0, e.Filters, 1
	s.affine(name(n)+"conv", channels, e.AudioChannels, e.Kernel)
	n++
	for i := len(e.Ratios) - 1; i >= 0; i-- { // the list is used backwards
		for range e.ResidualLayers {
			s.affine(name(n)+"block.1.conv", channels/e.Compress, channels, e.ResidualKernel)
			s.affine(name(n)+"block.3.conv", channels, channels/e.Compress, 1)
			n++
		}
		n++
		s.affine(name(n)+"conv", 2*channels, channels, 2*e.Ratios[i])
		n++
		channels *= 2
		hop *= e.Ratios[i]
	}
	n++
	s.affine(name(n)+"conv", e.Hidden, channels, e.LastKernel)
	rows := (e.SampleRate + hop - 1) / hop // rows a second
	s.add("encoder.downsample.conv.weight", e.Hidden, e.Hidden, 2*int(float64(rows)/e.FrameRate))
}

func (e *encoderShapes) transformer(s *specs) {
	for i := range e.Layers {
		l := fmt.Sprintf("encoder.encoder_transformer.layers.%d.", i)
		s.attention(l+"self_attn.", e.decoderConfig)
		s.add(l+"mlp.fc1.weight", e.FFN, e.Hidden)
		s.add(l+"mlp.fc2.weight", e.Hidden, e.FFN)
		s.affine(l+"input_layernorm", e.Hidden)
		s.affine(l+"post_attention_layernorm", e.Hidden)
		s.layerScales(l, e.Hidden)
	}
}

func (e *encoderShapes) quantizers(s *specs) {
	for _, q := range []struct {
		name  string
		books int
	}{{"semantic", e.Semantic}, {"acoustic", e.Books - e.Semantic}} {
		p := "encoder.quantizer." + q.name + "_residual_vector_quantizer."
		s.add(p+"input_proj.weight", e.VQDim, e.Hidden, 1)
		s.add(p+"output_proj.weight", e.Hidden, e.VQDim, 1)
		for i := range q.books {
			book := fmt.Sprintf("%slayers.%d.codebook.", p, i)
			s.add(book+"cluster_usage", e.Codes)
			s.add(book+"embed_sum", e.Codes, e.Codebook)
			s.add(book+"initialized", 1)
		}
	}
}
