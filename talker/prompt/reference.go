package prompt

import (
	"errors"
	"fmt"

	"github.com/mynah-tts/mynah/internal/kernel"
)

// checkReference checks the reference codes of a request: whole frames, every code
// within its table.
func (b *Builder) checkReference(r Request) error {
	groups := b.talker.Groups
	switch {
	case len(r.RefCodes) == 0 || len(r.RefCodes)%groups != 0:
		return fmt.Errorf("prompt: %d reference codes, wanted whole frames of %d", len(r.RefCodes), groups)
	case len(r.Reference) == 0:
		return errors.New("prompt: reference codes need their transcript")
	}
	return nil
}

// reference appends transcript, text and reference codes, and returns the text
// that is left for the frames.
func (b *Builder) reference(rows *rowBuilder, r Request) (trailing []int) {
	ids := append(append([]int(nil), r.Reference...), r.Text...)
	if !r.Open {
		ids = append(ids, b.specials.TTSEOS)
	}
	codes := b.referenceRows(r.RefCodes) // codec_bos, then the frames
	h := b.talker.Hidden
	frames := len(codes) / h
	if r.WholeText {
		rows.add(rows.text(ids), b.code(b.talker.CodecPad))
		rows.add(codes, b.pad)
		return []int{b.specials.TTSPad}
	}
	n := min(len(ids), frames)
	kernel.AddF32(codes[:n*h], rows.text(ids[:n]))
	for i := n; i < frames; i++ {
		kernel.AddF32(codes[i*h:(i+1)*h], b.pad)
	}
	rows.add(codes, nil)
	if n < len(ids) || r.Open {
		return ids[n:]
	}
	return []int{b.specials.TTSPad}
}

// referenceRows returns [1+frames, hidden]: codec_bos, and for each frame the sum
// of the embeddings of its codes.
func (b *Builder) referenceRows(codes []int32) []float32 {
	h, groups := b.talker.Hidden, b.talker.Groups
	frames := len(codes) / groups
	rows := make([]float32, (1+frames)*h)
	b.talker.Code(rows, b.talker.CodecBOS)
	for f := range frames {
		b.FrameInput(rows[(1+f)*h:(2+f)*h], codes[f*groups:(f+1)*groups])
	}
	return rows
}

// FrameInput computes dst [hidden], the sum of the embeddings of a frame's codes
// [groups]: what the talker hears of a frame, before its text row is added.
func (b *Builder) FrameInput(dst []float32, codes []int32) {
	b.talker.Code(dst, int(codes[0]))
	for g := 1; g < len(codes); g++ {
		b.residual.AddCode(dst, g, int(codes[g]))
	}
}
