package talker

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/mynah-tts/mynah/internal/nn"
)

// Config is talker_config of a checkpoint's config.json, as far as it matters to
// the computation.
type Config struct {
	nn.DecoderConfig

	MaxPositions int `json:"max_position_embeddings"`

	Vocab      int `json:"vocab_size"`       // ids of code 0, control ids included
	TextVocab  int `json:"text_vocab_size"`  // text tokens
	TextHidden int `json:"text_hidden_size"` // width of the text embedding
	Groups     int `json:"num_code_groups"`  // codes in a frame

	CodecBOS      int `json:"codec_bos_id"`
	CodecEOS      int `json:"codec_eos_token_id"`
	CodecPad      int `json:"codec_pad_id"`
	CodecThink    int `json:"codec_think_id"`
	CodecNoThink  int `json:"codec_nothink_id"`
	CodecThinkBOS int `json:"codec_think_bos_id"`
	CodecThinkEOS int `json:"codec_think_eos_id"`

	Languages map[string]int     `json:"codec_language_id"` // lower-case name to codec id, dialects included
	Speakers  map[string]int     `json:"spk_id"`            // lower-case name to codec id
	Dialects  map[string]Dialect `json:"spk_is_dialect"`    // by speaker
}

// ControlIDs is the number of ids at the end of the vocabulary that are no codes: tags,
// languages, speakers, the end token. The reference has this number in its code.
const ControlIDs = 1024

// Codes is the number of ids that are codes.
func (c *Config) Codes() int { return c.Vocab - ControlIDs }

// Dialect is the language that a speaker's dialect stands for, or "" for none. In
// config.json it is a name or the value false.
type Dialect string

// UnmarshalJSON takes a string, false or null.
func (d *Dialect) UnmarshalJSON(data []byte) error {
	var name string
	switch string(data) {
	case "false", "null":
		*d = ""
		return nil
	}
	if err := json.Unmarshal(data, &name); err != nil {
		return fmt.Errorf("spk_is_dialect holds %s, wanted a dialect's name or false", data)
	}
	*d = Dialect(strings.ToLower(name))
	return nil
}

// Validate names the first value that the talker cannot work with, and brings
// names of languages and speakers to lower case.
func (c *Config) Validate() error {
	if err := c.DecoderConfig.Validate(); err != nil {
		return fmt.Errorf("talker_config: %w", err)
	}
	codes := c.Codes()
	for _, f := range []struct {
		name             string
		value, low, high int
	}{
		{"vocab_size", c.Vocab, ControlIDs + 1, 1 << 20},
		{"text_vocab_size", c.TextVocab, 1, 1 << 24},
		{"text_hidden_size", c.TextHidden, 1, 1 << 20},
		{"num_code_groups", c.Groups, 2, 64},
		{"max_position_embeddings", c.MaxPositions, 1, 1 << 20},
		{"codec_bos_id", c.CodecBOS, codes, c.Vocab - 1},
		{"codec_eos_token_id", c.CodecEOS, codes, c.Vocab - 1},
		{"codec_pad_id", c.CodecPad, codes, c.Vocab - 1},
		{"codec_think_id", c.CodecThink, codes, c.Vocab - 1},
		{"codec_nothink_id", c.CodecNoThink, codes, c.Vocab - 1},
		{"codec_think_bos_id", c.CodecThinkBOS, codes, c.Vocab - 1},
		{"codec_think_eos_id", c.CodecThinkEOS, codes, c.Vocab - 1},
	} {
		if f.value < f.low || f.value > f.high {
			return fmt.Errorf("talker_config: %s is %d, allowed are %d to %d", f.name, f.value, f.low, f.high)
		}
	}
	return c.validateNames()
}

func (c *Config) validateNames() error {
	taken := map[int]string{}
	for _, f := range []struct {
		name string
		id   int
	}{
		{"codec_bos_id", c.CodecBOS}, {"codec_eos_token_id", c.CodecEOS}, {"codec_pad_id", c.CodecPad}, {"codec_think_id", c.CodecThink},
		{"codec_nothink_id", c.CodecNoThink}, {"codec_think_bos_id", c.CodecThinkBOS}, {"codec_think_eos_id", c.CodecThinkEOS},
	} {
		if other, twice := taken[f.id]; twice {
			return fmt.Errorf("talker_config: %s and %s are both %d", other, f.name, f.id)
		}
		taken[f.id] = f.name
	}
	for _, ids := range []map[string]int{c.Languages, c.Speakers} {
		for name, id := range ids {
			if other, twice := taken[id]; twice {
				return fmt.Errorf("talker_config: %s and %s are both %d", other, name, id)
			}
			if name == "" {
				return fmt.Errorf("talker_config: id %d has an empty name", id)
			}
		}
	}
	var err error
	if c.Languages, err = c.lowerNames("codec_language_id", c.Languages); err != nil {
		return err
	}
	if c.Speakers, err = c.lowerNames("spk_id", c.Speakers); err != nil {
		return err
	}
	dialects := make(map[string]Dialect, len(c.Dialects))
	for speaker, d := range c.Dialects {
		if _, ok := c.Languages[string(d)]; d != "" && !ok {
			return fmt.Errorf("talker_config: spk_is_dialect: %s speaks %q, which codec_language_id lacks", speaker, d)
		}
		dialects[strings.ToLower(speaker)] = d
	}
	c.Dialects = dialects
	return nil
}

// lowerNames returns a table with its names in lower case and its ids checked: they
// are no codes, and no two names differ in case alone.
func (c *Config) lowerNames(table string, ids map[string]int) (map[string]int, error) {
	lower := make(map[string]int, len(ids))
	for name, id := range ids {
		if id < c.Codes() || id >= c.Vocab {
			return nil, fmt.Errorf("talker_config: %s: %s is %d, allowed are %d to %d", table, name, id, c.Codes(), c.Vocab-1)
		}
		if _, twice := lower[strings.ToLower(name)]; twice {
			return nil, fmt.Errorf("talker_config: %s holds %s twice, in different cases", table, strings.ToLower(name))
		}
		lower[strings.ToLower(name)] = id
	}
	return lower, nil
}
