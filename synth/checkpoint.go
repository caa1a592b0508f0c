package synth

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path"
	"strings"

	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/internal/plainjson"
	"github.com/mynah-tts/mynah/predictor"
	"github.com/mynah-tts/mynah/talker"
	"github.com/mynah-tts/mynah/talker/prompt"
)

// Kind is what a checkpoint was trained for.
type Kind string

// The kinds of checkpoint, by the names that config.json uses.
const (
	CustomVoice Kind = "custom_voice" // speaks in preset voices
	VoiceDesign Kind = "voice_design" // speaks in a voice described by the instruction
	Base        Kind = "base"         // speaks in the voice of a reference
)

// config is config.json of a checkpoint.
type config struct {
	prompt.Specials
	ModelType     string `json:"model_type"`
	TokenizerType string `json:"tokenizer_type"`
	Size          string `json:"tts_model_size"`
	Kind          Kind   `json:"tts_model_type"`

	Quantization json.RawMessage `json:"quantization_config"`

	Talker struct {
		talker.Config
		Predictor predictor.Config `json:"code_predictor_config"`
	} `json:"talker_config"`
}

// The one architecture and the one codec that Mynah runs.
const (
	modelType     = "qwen3_tts"
	tokenizerType = "qwen3_tts_tokenizer_12hz"
)

// maxConfigBytes bounds a JSON config; published ones have a few kilobytes.
const maxConfigBytes = 4 << 20

func (c *config) validate() error {
	if c.ModelType != modelType {
		return fmt.Errorf("model_type is %q, wanted %q", c.ModelType, modelType)
	}
	if c.TokenizerType != "" && c.TokenizerType != tokenizerType {
		return fmt.Errorf("tokenizer_type is %q, wanted %q", c.TokenizerType, tokenizerType)
	}
	switch c.Kind {
	case CustomVoice, VoiceDesign, Base:
	default:
		return fmt.Errorf("tts_model_type is %q, wanted %q, %q or %q", c.Kind, CustomVoice, VoiceDesign, Base)
	}
	if err := nn.Unquantized(c.Quantization); err != nil {
		return err
	}
	if err := c.Talker.Validate(); err != nil {
		return err
	}
	if err := c.Talker.Predictor.Validate(); err != nil {
		return err
	}
	if c.Talker.Groups != c.Talker.Predictor.Groups {
		return fmt.Errorf("num_code_groups is %d in talker_config, %d in code_predictor_config", c.Talker.Groups, c.Talker.Predictor.Groups)
	}
	return nil
}

// dropsInstruct reports whether the model was trained without instructions: the
// small CustomVoice checkpoints were. (The reference asks whether the size is part
// of the string "0b6". Voices that tools/voice makes are "tiny".)
func (c *config) dropsInstruct() bool {
	return c.Kind == CustomVoice && (strings.Contains("0b6", c.Size) || c.Size == "tiny")
}

// checkCodes makes sure that no code the models can choose is beyond the codec's
// books.
func (c *config) checkCodes(cc codec.Config) error {
	books := cc.Decoder.Bins
	codes := c.Talker.Codes()
	switch {
	case cc.Decoder.Groups != c.Talker.Groups:
		return fmt.Errorf("config.json has %d codes a frame, speech_tokenizer/config.json %d", c.Talker.Groups, cc.Decoder.Groups)
	case codes > books:
		return fmt.Errorf("config.json: talker vocab_size %d less %d control ids leaves %d codes, the codec's books have %d", c.Talker.Vocab, talker.ControlIDs, codes, books)
	case c.Talker.Predictor.Vocab > books:
		return fmt.Errorf("config.json: predictor vocab_size is %d, the codec's books have %d", c.Talker.Predictor.Vocab, books)
	}
	return nil
}

// readJSON decodes a JSON file of bounded size. Errors name the file.
func readJSON(fsys fs.FS, name string, v any) error {
	f, err := fsys.Open(name)
	if err != nil {
		return missing(name, err)
	}
	defer f.Close()
	data, err := io.ReadAll(io.LimitReader(f, maxConfigBytes+1))
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	if len(data) > maxConfigBytes {
		return fmt.Errorf("%s: over %d bytes, this is no config", name, maxConfigBytes)
	}
	if err := plainjson.Decode(data, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

// missing words the absence of a file by the name that it has in a checkpoint.
func missing(name string, err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return &missingFile{name}
	}
	return fmt.Errorf("%s: %w", name, cause(err))
}

// missingFile is a file that every checkpoint has.
type missingFile struct{ name string }

func (e *missingFile) Error() string        { return e.name + " is missing" }
func (e *missingFile) Is(target error) bool { return target == fs.ErrNotExist }

// codecDir is the folder of the codec inside a checkpoint.
const codecDir = "speech_tokenizer"

func readCodecConfig(fsys fs.FS) (codec.Config, error) {
	name := path.Join(codecDir, "config.json")
	data, err := fs.ReadFile(fsys, name)
	if err != nil {
		return codec.Config{}, missing(name, err)
	}
	cfg, err := codec.ParseConfig(data)
	if err != nil {
		return cfg, fmt.Errorf("%s: %w", name, err)
	}
	return cfg, nil
}
