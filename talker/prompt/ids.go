package prompt

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/tokenizer"
)

// Specials are the text-side control ids of a checkpoint's config.json.
type Specials struct {
	IMStart   int `json:"im_start_token_id"`
	IMEnd     int `json:"im_end_token_id"`
	Assistant int `json:"assistant_token_id"`
	TTSPad    int `json:"tts_pad_token_id"`
	TTSBOS    int `json:"tts_bos_token_id"`
	TTSEOS    int `json:"tts_eos_token_id"`
}

// IDs are the text tokens of a request, cut into the parts that a prompt is made
// of.
type IDs struct {
	Instruct  []int // the whole instruction turn; nil for none
	Role      []int // the three tokens that open the assistant's turn
	Text      []int // what is to be spoken
	After     int   // the token behind the text, heard in place of an empty text's first token
	Reference []int // the transcript of the reference codes; nil without them
}

// The templates as the models were trained with them. The assistant's turn opens
// with roleTokens tokens and closes with closeTokens; a reference closes with two.
const (
	turnOpen     = "<|im_start|>assistant\n"
	turnClose    = "<|im_end|>\n<|im_start|>assistant\n"
	refClose     = "<|im_end|>\n"
	instructOpen = "<|im_start|>user\n"

	roleTokens     = 3
	closeTokens    = 5
	refCloseTokens = 2
)

// Encoder makes IDs from text. The control tokens come from the templates alone.
type Encoder struct {
	tok                   *tokenizer.Tokenizer
	role                  []int // of turnOpen
	instruct, instructEnd []int // of instructOpen and refClose
	after                 int
}

// NewEncoder checks that the tokenizer knows the templates: each control token as
// one id, the same one as config.json says.
func NewEncoder(tok *tokenizer.Tokenizer, sp Specials) (*Encoder, error) {
	for _, c := range []struct {
		token string
		id    int
	}{{"<|im_start|>", sp.IMStart}, {"<|im_end|>", sp.IMEnd}} {
		id, ok := tok.ID(c.token)
		if !ok {
			return nil, fmt.Errorf("prompt: the tokenizer has no token %q", c.token)
		}
		if id != c.id {
			return nil, fmt.Errorf("prompt: token %q is %d in the tokenizer, %d in config.json", c.token, id, c.id)
		}
	}
	if err := sp.validate(tok); err != nil {
		return nil, err
	}
	e := &Encoder{tok: tok, after: sp.IMEnd, role: tok.Encode(turnOpen), instruct: tok.Encode(instructOpen), instructEnd: tok.Encode(refClose)}
	if len(e.role) != roleTokens {
		return nil, fmt.Errorf("prompt: the tokenizer makes %d tokens of %q, wanted %d", len(e.role), turnOpen, roleTokens)
	}
	if e.role[1] != sp.Assistant {
		return nil, fmt.Errorf("prompt: \"assistant\" is token %d in the tokenizer, %d in config.json", e.role[1], sp.Assistant)
	}
	return e, nil
}

// Tokenizer returns the tokenizer, for text that comes in pieces.
func (e *Encoder) Tokenizer() *tokenizer.Tokenizer { return e.tok }

// validate checks the tokens that stand for no text. They are told apart by their
// numbers alone, so they must be there and differ.
func (sp Specials) validate(tok *tokenizer.Tokenizer) error {
	seen := map[int]string{}
	for _, s := range []struct {
		field, token string
		id           int
	}{
		{"tts_pad_token_id", "<tts_pad>", sp.TTSPad}, {"tts_bos_token_id", "<tts_text_bos>", sp.TTSBOS},
		{"tts_eos_token_id", "<tts_text_eod>", sp.TTSEOS},
	} {
		if id, ok := tok.ID(s.token); ok && id != s.id {
			return fmt.Errorf("prompt: config.json: %s is %d, the tokenizer has %q as %d", s.field, s.id, s.token, id)
		}
		if s.id <= 0 {
			return fmt.Errorf("prompt: config.json: %s is %d, wanted the id of a control token", s.field, s.id)
		}
		if other, twice := seen[s.id]; twice {
			return fmt.Errorf("prompt: config.json: %s and %s are both %d", other, s.field, s.id)
		}
		seen[s.id] = s.field
	}
	return nil
}

// Encode makes the IDs of texts written by users: marks such as <|im_end|> in them
// are plain characters. instruct and reference may be empty, which means none.
func (e *Encoder) Encode(text, instruct, reference string) IDs {
	ids := IDs{Role: e.role, Text: e.tok.EncodeText(text), After: e.after}
	if instruct != "" {
		ids.Instruct = append(ids.Instruct, e.instruct...)
		ids.Instruct = append(ids.Instruct, e.tok.EncodeText(instruct)...)
		ids.Instruct = append(ids.Instruct, e.instructEnd...)
	}
	if reference != "" {
		ids.Reference = e.tok.EncodeText(reference)
	}
	return ids
}

// EncodeReference makes the IDs as the reference implementation does: template and
// text are encoded as one string, control marks in the text included, and cut by
// position. Parity is judged on it; nothing a user wrote should go through it.
func (e *Encoder) EncodeReference(text, instruct, reference string) IDs {
	turn := e.tok.Encode(turnOpen + text + turnClose)
	ids := IDs{
		Role: turn[:roleTokens], Text: turn[roleTokens:max(roleTokens, len(turn)-closeTokens)],
		After: turn[min(roleTokens, len(turn)-1)],
	}
	if instruct != "" {
		ids.Instruct = e.tok.Encode(instructOpen + instruct + refClose)
	}
	if reference != "" {
		ref := e.tok.Encode(turnOpen + reference + refClose)
		ids.Reference = ref[roleTokens : len(ref)-refCloseTokens]
	}
	return ids
}
