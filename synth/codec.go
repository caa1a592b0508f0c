package synth

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"

	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/codec/encoder"
	"github.com/mynah-tts/mynah/internal/cpu"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/packed"
	"github.com/mynah-tts/mynah/internal/safetensors"
	"github.com/mynah-tts/mynah/internal/team"
	"github.com/mynah-tts/mynah/internal/voice"
)

// Codec is a checkpoint's codec alone, which turns sound into codes and codes into sound
// without a voice. It belongs to one goroutine.
type Codec struct {
	decoder *codec.Decoder
	encoder *encoder.Encoder // nil where there is none
	weights io.Closer
	team    *team.Team
	work    *nn.Work
	scratch *codec.Scratch
}

// OpenCodec opens the codec of a checkpoint directory or a packed file; the empty path is
// the built-in voice. encode says that sound is to be encoded: it is an error then that the
// checkpoint has no encoder. precision is one of CodecPrecisions, "" takes f32 or what a
// packed file holds. threads is as in Options.
func OpenCodec(path string, encode bool, precision string, threads int) (*Codec, error) {
	if threads < 0 || threads > maxThreads {
		return nil, fmt.Errorf("threads is %d, allowed are 0 to %d", threads, maxThreads)
	}
	if threads == 0 {
		threads, _ = cpu.Threads()
	}
	src, err := codecSource(path)
	if err != nil {
		return nil, fmt.Errorf("model %s: %w", path, cause(err))
	}
	c := &Codec{}
	if err := c.open(src, encode, precision); err != nil {
		c.Close()
		if path == "" {
			return nil, fmt.Errorf("built-in voice: %w", err)
		}
		return nil, fmt.Errorf("model %s: %w", path, err)
	}
	c.team = team.New(threads)
	c.work = nn.NewWork(c.team)
	c.scratch = c.decoder.NewScratch(referenceFrames)
	return c, nil
}

// codecSource tells what kind of checkpoint a path is.
func codecSource(path string) (*source, error) {
	if path == "" {
		return &source{fsys: voice.FS(), builtin: true}, nil
	}
	info, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case info.IsDir():
		return &source{fsys: RegularFiles(os.DirFS(path)), dir: path}, nil
	}
	f, err := openWhole(path)
	if err != nil {
		return nil, err
	}
	return &source{fsys: f.FS(), packed: f}, nil
}

func (c *Codec) open(src *source, encode bool, precision string) error {
	held := string(codec.F32)
	if src.packed != nil {
		c.weights, src.speech, held = src.packed, src.packed.Weights(codecDir), src.packed.Codec
	}
	cfg, err := readCodecConfig(src.fsys)
	if err != nil {
		return err
	}
	if src.packed == nil {
		set, err := safetensors.OpenModel(src.fsys, codecDir)
		if err != nil {
			return err
		}
		c.weights, src.speech = set, set
	}
	if precision == "" {
		precision = held
	}
	switch {
	case !slices.Contains(CodecPrecisions, precision):
		return fmt.Errorf("codec precision is %q, allowed are %v", precision, CodecPrecisions)
	case src.packed != nil && precision != held:
		return fmt.Errorf("codec precision %s was asked for, the file holds %s", precision, held)
	}
	if c.decoder, err = codec.LoadDecoder(src.speech, cfg); err != nil {
		return err
	}
	if err := c.decoder.Quantize(codec.Precision(precision)); err != nil || !encode {
		return err
	}
	if _, ok := src.speech.Info("encoder.downsample.conv.weight"); !ok || src.builtin {
		return errors.New("its codec has no encoder, wanted a checkpoint whose codec has one")
	}
	ec, err := readEncoderConfig(src.fsys)
	if err != nil {
		return err
	}
	c.encoder, err = encoder.LoadEncoder(src.speech, ec)
	return err
}

// SampleRate returns the samples of a second.
func (c *Codec) SampleRate() int { return c.decoder.SampleRate() }

// FrameSize returns the samples of a frame.
func (c *Codec) FrameSize() int { return c.decoder.Hop() }

// Groups returns the codes of a frame.
func (c *Codec) Groups() int { return c.decoder.Groups() }

// Codes returns the entries of every codebook: codes are below it.
func (c *Codec) Codes() int { return c.decoder.Codes() }

// MaxSamples returns the longest clip that Encode takes.
func (c *Codec) MaxSamples() int { return c.encoder.MaxSamples() }

// Encode turns mono samples at SampleRate into frames of codes [ceil(n/FrameSize)][Groups].
func (c *Codec) Encode(ctx context.Context, samples []float32) ([][]int32, error) {
	codes, err := c.encoder.Encode(ctx, c.work, samples)
	if err != nil {
		return nil, err
	}
	return slices.Collect(slices.Chunk(codes, c.encoder.Groups())), nil
}

// Decode turns frames of codes into samples, len(codes) * FrameSize in all, and hands them
// to write in pieces, which are valid during the call. It stops with the context.
func (c *Codec) Decode(ctx context.Context, codes [][]int32, write func(samples []float32) error) error {
	for i, frame := range codes {
		if len(frame) != c.Groups() {
			return fmt.Errorf("frame %d has %d codes, wanted %d", i, len(frame), c.Groups())
		}
	}
	state := c.decoder.NewState(referenceFrames)
	pcm := make([]float32, referenceFrames*c.FrameSize())
	for part := range slices.Chunk(codes, referenceFrames) {
		if err := ctx.Err(); err != nil {
			return err
		}
		piece := pcm[:len(part)*c.FrameSize()]
		if err := c.decoder.Decode(c.work, c.scratch, state, piece, slices.Concat(part...)); err != nil {
			return err
		}
		if err := write(piece); err != nil {
			return err
		}
	}
	return nil
}

// Close frees the weights.
func (c *Codec) Close() error {
	if c.team != nil {
		c.team.Close()
	}
	if c.weights == nil {
		return nil
	}
	return c.weights.Close()
}

// openWhole opens a packed file that holds a whole model.
func openWhole(path string) (*packed.File, error) {
	if info, err := os.Stat(path); err == nil && !info.Mode().IsRegular() {
		return nil, errors.New("is neither a directory nor a regular file")
	}
	f, err := packed.Open(path, nn.PackingVersion)
	if err != nil {
		return nil, err
	}
	if f.Holds != packed.WholeModel {
		_ = f.Close() // what is wrong with the file is the news
		return nil, errors.New("holds packed matrices only, for the cache; wanted a file that mynah quantize wrote")
	}
	return f, nil
}
