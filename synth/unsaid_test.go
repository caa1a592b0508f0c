package synth

import (
	"context"
	"strings"
	"testing"

	"github.com/mynah-tts/mynah/internal/text"
)

// ender makes the end token certain once a segment has so many frames, and keeps it away
// before. (No other tracer may change what it is shown.)
type ender struct {
	notes
	eos, after int
	made       int // frames of the segment
}

func (e *ender) Begin([]float32, []int32) { e.made = 0 }
func (e *ender) Frame([]int32, []float32) { e.made++ }
func (e *ender) Choose(logits, _ []float32) {
	logits[e.eos] = -1e9
	if e.made == e.after {
		logits[e.eos] = 1e9
	}
}

// endedAfter speaks a request whose model draws the end token after so many frames of each
// segment. With pieces the text comes in two, the second behind the first frame, or behind the
// last of them if they are few.
func endedAfter(t *testing.T, m *Model, r Request, frames int, pieces ...string) told {
	t.Helper()
	plan, open := m.planWhole, len(pieces) > 0
	if open {
		r.Text, r.Layout, plan = "", LayoutStreaming, m.plan
	}
	p, err := plan(r)
	if err != nil {
		t.Fatal(err)
	}
	p.trace = &ender{eos: m.cfg.Talker.CodecEOS, after: frames}
	s, err := m.admit(context.Background(), p, open)
	if err != nil {
		t.Fatal(err)
	}
	if !open {
		return listen(t, s)
	}
	if err := s.Write(pieces[0]); err != nil {
		t.Fatal(err)
	}
	wait := 1
	if frames <= 3 {
		wait = frames
	}
	for n := 0; n < wait; {
		event, err := s.Next()
		if err != nil {
			t.Fatal(err)
		}
		if _, ok := event.(Audio); ok {
			n++
		}
	}
	if err := s.Write(pieces[1]); err != nil {
		t.Fatal(err)
	}
	if err := s.End(); err != nil {
		t.Fatal(err)
	}
	return listen(t, s)
}

// TestEndBeforeTheText: an end token that is drawn before the talker has heard all that
// there is to say, which it hears a token a frame, is no sign that it was spoken.
func TestEndBeforeTheText(t *testing.T) {
	custom, base := tiny(t, CustomVoice, 2), tiny(t, Base, 2)
	words := strings.TrimSpace(strings.Repeat("some words. ", 15))
	tokens, others := len(custom.encoder.Tokenizer().EncodeText(words)), len(base.encoder.Tokenizer().EncodeText(words))
	inContext := someReference(base, true)
	prompt := 1 + len(inContext.Codes) - len(base.encoder.Encode("", "", inContext.Text).Reference)
	for _, c := range []struct {
		name   string
		m      *Model
		r      Request
		frames int
		want   FinishReason
	}{
		{"whole layout", custom, Request{Text: words, Layout: LayoutWhole}, 3, FinishStop},
		{"streaming layout", custom, Request{Text: words, Layout: LayoutStreaming}, 3, FinishLength},
		{"one token unheard", custom, Request{Text: words, Layout: LayoutStreaming}, tokens - 3, FinishLength},
		{"all heard but the full stop", custom, Request{Text: words, Layout: LayoutStreaming}, tokens - 2, FinishStop},
		{"all heard but the end", custom, Request{Text: words, Layout: LayoutStreaming}, tokens - 1, FinishStop},
		{"all heard", custom, Request{Text: words, Layout: LayoutStreaming}, tokens, FinishStop},
		{"pictures unheard", custom, Request{Text: "Some words! " + strings.Repeat("\U0001F389", 20), Layout: LayoutStreaming}, 12, FinishStop},
		{"vector only", base, Request{Text: words, Reference: someReference(base, false)}, 3, FinishLength},
		{"in-context, unheard", base, Request{Text: words, Reference: inContext}, others - prompt - 2, FinishLength},
		{"in-context, heard", base, Request{Text: words, Reference: inContext}, others - prompt, FinishStop},
		{"in-context, whole layout", base, Request{Text: words, Reference: inContext, Layout: LayoutWhole}, 3, FinishStop},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.r.Seed, c.r.SegmentRunes = new(int64(1)), -1
			check := func(what string, w told) {
				t.Helper()
				if len(w.ended) != 1 || w.ended[0].Frames != c.frames || w.ended[0].FinishReason != c.want || w.done.FinishReason != c.want {
					t.Errorf("%s: %+v, done %q, want %d frames and %q", what, w.ended, w.done.FinishReason, c.frames, c.want)
				}
			}
			check("whole", endedAfter(t, c.m, c.r, c.frames))
			if c.r.Layout != LayoutWhole {
				cut := len(c.r.Text) * 2 / 3
				check("in pieces", endedAfter(t, c.m, c.r, c.frames, c.r.Text[:cut], c.r.Text[cut:]))
			}
		})
	}
}

// TestOneSegmentEndsEarly: the others are spoken, and the whole counts as cut.
func TestOneSegmentEndsEarly(t *testing.T) {
	m := tiny(t, CustomVoice, 2)
	w := endedAfter(t, m, Request{Text: "A first sentence, which is rather long. Hi.", Layout: LayoutStreaming, SegmentRunes: 1, Seed: new(int64(1))}, 4)
	if len(w.ended) != 2 || w.ended[0].FinishReason != FinishLength || w.ended[1].FinishReason != FinishStop || w.done.FinishReason != FinishLength {
		t.Errorf("%+v, done %q", w.ended, w.done.FinishReason)
	}
}

// heardAll tells whether a talker that made so many frames of a segment had by then heard
// all of its text that there is to say.
func heardAll(m *Model, p *plan, frames int) bool {
	r := p.request
	heard := 1 + len(r.RefCodes)/m.cfg.Talker.Groups - len(r.Reference) + frames
	return r.WholeText || heard >= len(r.Text) || !text.Speakable(m.encoder.Tokenizer().Decode(r.Text[max(0, heard):]))
}
