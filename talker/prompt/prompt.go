// Package prompt assembles the rows that the talker hears before the first frame,
// and the text that it hears while it speaks.
//
// With T(id) the projected embedding of a text token and C(id) the codec embedding
// of a control id, a prompt is, in this order:
//
//	T(instruction turn)                           if there is an instruction
//	T(role)                                       the three tokens that open the turn
//	C(tags) + T(tts_pad)                          language, then the speaker's vector
//	C(codec_pad) + T(tts_bos)
//	the text in one of the layouts
//
// In the streaming layout only the first text token is part of the prompt; each
// frame then adds the next one to its input. In the whole-text layout all of the
// text goes before the first frame. With reference codes (in-context cloning) the
// reference's frames stand in the prompt too, text and codes side by side in the
// streaming layout, one after the other in the whole-text layout.
package prompt

import (
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/nn"
	"github.com/mynah-tts/mynah/talker"
)

// CodeEmbedder adds embeddings of residual codes, groups from 1 on, to a row of
// the talker's width; the code predictor does.
type CodeEmbedder interface {
	AddCode(dst []float32, group, code int)
}

// Builder makes prompts for one model.
type Builder struct {
	talker        *talker.Model
	residual      CodeEmbedder
	specials      Specials
	pad, bos, eos []float32 // T of tts_pad, tts_bos, tts_eos: [hidden]
}

// NewBuilder computes the rows that every prompt shares.
func NewBuilder(wk *nn.Work, sc *talker.Scratch, m *talker.Model, residual CodeEmbedder, sp Specials) (*Builder, error) {
	b := &Builder{talker: m, residual: residual, specials: sp}
	rows := make([]float32, 3*m.Hidden)
	if err := m.Text(wk, sc, rows, []int{sp.TTSPad, sp.TTSBOS, sp.TTSEOS}); err != nil {
		return nil, fmt.Errorf("prompt: control tokens of config.json: %w", err)
	}
	b.pad, b.bos, b.eos = rows[:m.Hidden], rows[m.Hidden:2*m.Hidden], rows[2*m.Hidden:]
	return b, nil
}

// Request says what a prompt is made of.
type Request struct {
	IDs
	Language  string    // name in any case or ISO 639-1 code; "" and "auto" leave it to the model
	Speaker   string    // preset's name in any case; "" for none
	XVector   []float32 // [hidden] of a cloned voice, takes the speaker's place; nil for none
	RefCodes  []int32   // [frames, groups] of the reference, needs IDs.Reference; nil for none
	WholeText bool      // the whole-text layout instead of the streaming one

	// Open says that the text goes on, in the streaming layout: Text is its beginning, of
	// Needed tokens at least, and Trailing gets no end token.
	Open bool
}

// Needed is how many tokens of an open text a prompt of the streaming layout takes in
// before the first frame.
func (b *Builder) Needed(r Request) int {
	return max(1, 1+len(r.RefCodes)/b.talker.Groups-len(r.Reference))
}

// Prompt is what the talker is given.
type Prompt struct {
	Rows     []float32 // [n, hidden]: the prompt rows
	Prefix   int       // of the rows, those that no text changes: equal for all texts of a voice
	Trailing []int     // text tokens heard during generation, one a frame
	Pad      []float32 // [hidden]: heard once Trailing has ended
	End      int       // the token that Trailing lacks if the text is open
}

// Build assembles a prompt.
func (b *Builder) Build(wk *nn.Work, sc *talker.Scratch, r Request) (*Prompt, error) {
	rows := &rowBuilder{b: b, wk: wk, sc: sc}
	if err := b.tags(rows, r); err != nil {
		return nil, err
	}
	p := &Prompt{Pad: b.pad, Prefix: len(rows.rows) / b.talker.Hidden, End: b.specials.TTSEOS}
	switch {
	case r.RefCodes != nil:
		if err := b.checkReference(r); err != nil {
			return nil, err
		}
		p.Trailing = b.reference(rows, r)
		// The transcript's rows come before the text in both layouts. The last row is left out, for
		// the talker has to hear something.
		p.Prefix = min(p.Prefix+len(r.Reference), len(rows.rows)/b.talker.Hidden-1)
	case r.WholeText:
		text := rows.text(r.Text)
		rows.add(text, b.code(b.talker.CodecPad))
		rows.add(rows.text([]int{b.specials.TTSEOS}), b.code(b.talker.CodecPad))
		rows.add(b.pad, b.code(b.talker.CodecBOS))
		p.Trailing = []int{b.specials.TTSPad}
	default:
		first, rest := r.After, []int(nil)
		if len(r.Text) > 0 {
			first, rest = r.Text[0], r.Text[1:]
		}
		rows.add(rows.text([]int{first}), b.code(b.talker.CodecBOS))
		p.Trailing = append(p.Trailing, rest...)
		if !r.Open {
			p.Trailing = append(p.Trailing, b.specials.TTSEOS)
		}
	}
	p.Rows = rows.rows
	if r.Open && (r.WholeText || len(r.Text) < b.Needed(r)) {
		return nil, fmt.Errorf("prompt: %d tokens of an open text, wanted %d in the streaming layout", len(r.Text), b.Needed(r))
	}
	return p, rows.err
}

// Positions is the number of rows that Build makes of a request, without computing
// them.
func (b *Builder) Positions(r Request) (int, error) {
	language, speaker, err := resolve(&b.talker.Config, r.Language, r.Speaker)
	if err != nil {
		return 0, err
	}
	n := len(r.Instruct) + len(r.Role) + 4 // three tags, and the row with tts_bos
	if language != none {
		n++
	}
	if speaker != none || r.XVector != nil {
		n++
	}
	frames := len(r.RefCodes) / b.talker.Groups
	switch {
	case r.RefCodes != nil && r.WholeText:
		n += len(r.Reference) + len(r.Text) + 1 + 1 + frames
	case r.RefCodes != nil:
		n += 1 + frames
	case r.WholeText:
		n += len(r.Text) + 2
	default:
		n++
	}
	return n, nil
}

// tags appends everything before the text.
func (b *Builder) tags(rows *rowBuilder, r Request) error {
	cfg := &b.talker.Config
	language, speaker, err := resolve(cfg, r.Language, r.Speaker)
	if err != nil {
		return err
	}
	if len(r.Instruct) > 0 {
		rows.add(rows.text(r.Instruct), nil)
	}
	rows.add(rows.text(r.Role), nil)
	ids := []int{cfg.CodecNoThink, cfg.CodecThinkBOS, cfg.CodecThinkEOS}
	if language != none {
		ids = []int{cfg.CodecThink, cfg.CodecThinkBOS, language, cfg.CodecThinkEOS}
	}
	for _, id := range ids {
		rows.add(b.pad, b.code(id))
	}
	switch {
	case r.XVector != nil && len(r.XVector) != cfg.Hidden:
		return fmt.Errorf("prompt: x-vector of %d values, this checkpoint's have %d", len(r.XVector), cfg.Hidden)
	case r.XVector != nil:
		rows.add(b.pad, r.XVector)
	case speaker != none:
		rows.add(b.pad, b.code(speaker))
	}
	rows.add(b.bos, b.code(cfg.CodecPad))
	return nil
}

// code returns C(id).
func (b *Builder) code(id int) []float32 {
	row := make([]float32, b.talker.Hidden)
	b.talker.Code(row, id)
	return row
}

// rowBuilder collects rows and keeps the first error.
type rowBuilder struct {
	b    *Builder
	wk   *nn.Work
	sc   *talker.Scratch
	rows []float32
	err  error
}

// text returns T(ids) [len(ids), hidden].
func (rb *rowBuilder) text(ids []int) []float32 {
	rows := make([]float32, len(ids)*rb.b.talker.Hidden)
	if err := rb.b.talker.Text(rb.wk, rb.sc, rows, ids); err != nil && rb.err == nil {
		rb.err = err
	}
	return rows
}

// add appends rows [n, hidden], with row [hidden] added to each unless it is nil.
func (rb *rowBuilder) add(rows, row []float32) {
	from := len(rb.rows)
	rb.rows = append(rb.rows, rows...)
	if row == nil {
		return
	}
	for ; from < len(rb.rows); from += len(row) {
		kernel.AddF32(rb.rows[from:from+len(row)], row)
	}
}
