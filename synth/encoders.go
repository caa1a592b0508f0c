package synth

import (
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/mynah-tts/mynah/codec/encoder"
	"github.com/mynah-tts/mynah/codec/speaker"
	"github.com/mynah-tts/mynah/internal/safetensors"
)

// encoders turn sound into what a reference is made of.
type encoders struct {
	codec   *encoder.Encoder
	speaker *speaker.Encoder
}

// encoderSource is what the encoders of a checkpoint are loaded from, once somebody needs
// them: packed for the kernels they take 120 MB of the 0.6B, and most servers never clone.
type encoderSource struct {
	main, speech *safetensors.Set
	codec        encoder.Config
	speaker      speaker.Config
	missing      error // why the checkpoint cannot clone, or nil
}

// findEncoders reads the encoders' configs and looks whether there are weights of both.
func (m *Model) findEncoders(src *source) encoderSource {
	s := encoderSource{main: src.main, speech: src.speech}
	s.missing = s.find(m, src.fsys)
	return s
}

func (s *encoderSource) find(m *Model, fsys fs.FS) error {
	if m.cfg.Kind != Base {
		return fmt.Errorf("cloning needs a %s checkpoint, this is %s", Base, m.cfg.Kind)
	}
	data, err := fs.ReadFile(fsys, "config.json")
	if err != nil {
		return missing("config.json", err)
	}
	if s.speaker, err = speaker.ParseConfig(data); err != nil {
		return fmt.Errorf("config.json: %w", err)
	}
	if s.codec, err = readEncoderConfig(fsys); err != nil {
		return err
	}
	for _, w := range []struct {
		set       *safetensors.Set
		name, who string
	}{{s.main, "speaker_encoder.fc.weight", "speaker encoder"}, {s.speech, "encoder.downsample.conv.weight", "codec encoder"}} {
		if _, ok := w.set.Info(w.name); !ok {
			return fmt.Errorf("this checkpoint has no weights of a %s (%s)", w.who, w.name)
		}
	}
	return s.match(m)
}

// readEncoderConfig reads the codec encoder's part of speech_tokenizer/config.json.
func readEncoderConfig(fsys fs.FS) (encoder.Config, error) {
	name := path.Join(codecDir, "config.json")
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return encoder.Config{}, missing(name, err)
	}
	cfg, err := encoder.ParseConfig(data)
	if err != nil {
		return cfg, fmt.Errorf("%s: %w", name, err)
	}
	return cfg, nil
}

// match makes sure that what the encoders make is what talker and codec take.
func (s *encoderSource) match(m *Model) error {
	most := min(m.codes(0), m.codes(1))
	for _, f := range []struct {
		what         string
		found, wants int
	}{
		{"the speaker encoder's vectors (enc_dim)", s.speaker.Dim, m.cfg.Talker.Hidden},
		{"the codec encoder's codes a frame", s.codec.Groups, m.cfg.Talker.Groups},
		{"the codec encoder's samples a frame", s.codec.Hop, m.codec.Hop()},
		{"the codec encoder's sample rate", s.codec.SampleRate, m.codec.SampleRate()},
		{"the speaker encoder's sample rate", s.speaker.SampleRate, m.codec.SampleRate()},
	} {
		if f.found != f.wants {
			return fmt.Errorf("%s: %d, wanted %d as the rest of the checkpoint has it", f.what, f.found, f.wants)
		}
	}
	if s.codec.Encoder.Bins > most {
		return fmt.Errorf("the codec encoder's books have %d codes, the talker and the predictor know %d", s.codec.Encoder.Bins, most)
	}
	return nil
}

// loadEncoders returns the encoders, and loads them if nobody has before. It is done by the
// caller of Listen: the engine goes on meanwhile.
func (m *Model) loadEncoders() (*encoders, error) {
	m.loading.Lock()
	defer m.loading.Unlock()
	if m.encoders != nil {
		return m.encoders, nil
	}
	if m.weights == nil {
		return nil, ErrClosed // and the weights are no longer mapped
	}
	s := &m.encoderSource
	var e encoders
	var err error
	if e.codec, err = encoder.LoadEncoder(s.speech, s.codec); err != nil {
		return nil, fmt.Errorf("synth: %w", err)
	}
	if e.speaker, err = speaker.LoadEncoder(s.main, s.speaker); err != nil {
		return nil, fmt.Errorf("synth: %w", err)
	}
	m.encoders = &e
	return m.encoders, nil
}

// clipFault words an encoder's refusal of a clip, or returns nil if the error is none.
func clipFault(err error) error {
	var length *encoder.LengthError
	var short *speaker.LengthError
	var sample *encoder.SampleError
	var bad *speaker.SampleError
	switch {
	case errors.As(err, &length):
		return requestErrorf(clipParam, "%d samples at the encoder's rate, allowed are 1 to %d", length.Samples, length.Most)
	case errors.As(err, &short):
		return requestErrorf(clipParam, "%d samples at the encoder's rate, allowed are %d to %d", short.Samples, short.Least, short.Most)
	case errors.As(err, &sample):
		return requestErrorf(clipParam, "sample %d is %v, allowed are finite numbers", sample.Index, sample.Value)
	case errors.As(err, &bad):
		return requestErrorf(clipParam, "sample %d is %v, allowed are finite numbers", bad.Index, bad.Value)
	}
	return nil
}
