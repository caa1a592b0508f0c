package synth

import (
	"fmt"
	"time"

	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/profile"
	"github.com/mynah-tts/mynah/predictor"
)

// step makes a frame of each utterance of a batch: code 0, the residual codes, the
// samples. From the second frame of a segment on the talker first hears the one before.
// What one request gets does not depend on the others: all models give the rows of a
// batch the same bits as a row alone.
func (e *engine) step(ready []*utterance) {
	if len(ready) == 0 {
		return
	}
	defer e.batch.release(ready)
	began := time.Now()
	ready = e.besilent(ready)
	if len(ready) == 0 {
		return
	}
	if len(ready) == 1 {
		e.prof.Begin(ready[0].number, ready[0].frames)
	} else {
		e.prof.Begin(profile.Together, ready[0].frames)
	}
	e.hear(ready)
	ready = e.pick(ready)
	if len(ready) == 0 {
		return
	}
	ready = e.fillCodes(ready)
	made := e.sound(ready)
	e.prof.Lap(profile.Codec)
	e.prof.End(made)
	learn(&e.pace.round, time.Since(began))
	e.mu.Lock()
	e.made += uint64(made)
	e.mu.Unlock()
}

// release forgets what a step was given. The batch outlives the utterances of the step: what
// it kept of one that has ended, its place above all, could not be freed.
func (b *batch) release(ready []*utterance) {
	clear(ready)
	clear(b.hears)
	clear(b.states)
	clear(b.frames)
	clear(b.items)
}

// besilent gives those that come to a gap between two segments a part of it, and returns
// the others.
func (e *engine) besilent(ready []*utterance) []*utterance {
	others := ready[:0]
	for _, u := range ready {
		if u.gap == 0 || u.made > 0 {
			others = append(others, u)
			continue
		}
		n := min(u.gap, len(u.place.pcm))
		clear(u.place.pcm)
		u.s.deliverAudio(u.frames, u.place.pcm[:n], nil)
		u.gap -= n
		u.silent += n
	}
	return others
}

// hear feeds each utterance's last frame to the talker: the sum of its codes' embeddings
// and the next text row, or the pad row once the text has ended.
func (e *engine) hear(ready []*utterance) {
	m, h := e.m, e.m.cfg.Talker.Hidden
	b := &e.batch
	b.hears, b.states, b.ids = b.hears[:0], b.states[:0], b.ids[:0]
	for _, u := range ready {
		if u.made == 0 {
			continue
		}
		n := len(b.hears)
		b.hears, b.states = append(b.hears, u), append(b.states, u.place.talker)
		m.prompts.FrameInput(b.rows[n*h:(n+1)*h], u.place.codes)
		if last := u.made - 1; last < len(u.trail) {
			b.ids = append(b.ids, u.trail[last])
		}
	}
	if len(b.hears) == 0 {
		return
	}
	if err := m.talker.Text(m.work, m.ts, b.text, b.ids); err != nil {
		panic(err) // the tokenizer's ids are within the vocabulary: Open saw to that
	}
	text := b.text
	for i, u := range b.hears {
		row := u.prompt.Pad
		if u.made-1 < len(u.trail) {
			row, text = text[:h], text[h:]
		}
		kernel.AddF32(b.rows[i*h:(i+1)*h], row)
		u.traceRow(b.rows[i*h : (i+1)*h])
	}
	e.prof.Lap(profile.Input)
	m.talker.Step(m.work, m.ts, b.states, b.rows)
	e.prof.Lap(profile.Talker)
}

// pick chooses code 0 of each utterance and returns those that have a frame. The end
// token is looked for behind the last frame too: a segment that ends just at its bound
// was not cut.
func (e *engine) pick(ready []*utterance) []*utterance {
	frames := ready[:0]
	for _, u := range ready {
		u.traceChoice()
		code0, err := u.place.pick.Pick(u.place.talker.Logits, u.place.noise)
		if err == nil && e.fault != nil {
			err = e.fault(u)
		}
		switch {
		case err != nil:
			e.fail(u, fmt.Errorf("synth: frame %d: %w", u.frames, err))
		case code0 == e.m.cfg.Talker.CodecEOS:
			u.endSegment(FinishStop)
		case u.made >= u.bound():
			u.endSegment(FinishLength)
		default:
			u.place.codes[0] = int32(code0)
			frames = append(frames, u)
		}
	}
	e.prof.Lap(profile.FirstPick)
	return frames
}

// fillCodes asks the predictor for the residual codes and returns those that have them.
func (e *engine) fillCodes(ready []*utterance) []*utterance {
	b := &e.batch
	b.frames = b.frames[:0]
	for _, u := range ready {
		p := u.place
		e.m.talker.Code(p.embed, int(p.codes[0]))
		b.frames = append(b.frames, predictor.Frame{Hidden: p.talker.Hidden, Embed: p.embed, Pick: p.residual, Codes: p.codes})
	}
	defer e.traceResidual(ready)() // also after a panic: what it looks at is gone with the step
	e.m.pred.Run(e.m.few, e.m.ps, b.frames)
	frames := ready[:0]
	for i, u := range ready {
		if err := b.frames[i].Err; err != nil {
			e.fail(u, fmt.Errorf("synth: frame %d: %w", u.frames, err))
			continue
		}
		frames = append(frames, u)
	}
	return frames
}

// sound turns codes into samples, hands them to the readers and returns how many frames
// there were.
func (e *engine) sound(ready []*utterance) (made int) {
	b := &e.batch
	b.items = b.items[:0]
	for _, u := range ready {
		b.items = append(b.items, codec.Item{State: u.place.codec, PCM: u.place.pcm, Codes: u.place.codes})
	}
	e.m.codec.DecodeBatch(e.m.work, e.m.cs, b.items)
	for i, u := range ready {
		if err := b.items[i].Err; err != nil {
			e.fail(u, fmt.Errorf("synth: frame %d: %w", u.frames, err))
			continue
		}
		u.traceFrame()
		u.plan.shape.apply(u.place.pcm, e.m.codec.SampleRate(), u.made == 0)
		u.tellSegment()
		if u.begun.IsZero() {
			u.begun = time.Now()
		}
		u.s.deliverAudio(u.frames, u.place.pcm, u.place.codes)
		u.frames++
		u.made++
		made++
	}
	return made
}
