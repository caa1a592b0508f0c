package synth

import (
	"fmt"
	"time"

	"github.com/mynah-tts/mynah/internal/profile"
	"github.com/mynah-tts/mynah/internal/text"
	"github.com/mynah-tts/mynah/talker/prompt"
)

// utterance is a live request: what the engine's goroutine knows of it.
type utterance struct {
	e      *engine
	m      *Model
	s      *Stream
	plan   *plan
	script *script
	number int           // in a profile
	queued time.Duration // before it became live
	begun  time.Time     // when its first frame was delivered
	phase  phase
	cut    bool // a segment was cut at its bound
	frames int  // of all segments
	silent int  // samples of silence
	gap    int  // samples of silence that come before the next frame

	// Of the segment under way.
	place     *place
	index     int
	request   prompt.Request
	prompt    *prompt.Prompt
	heard     int           // prompt rows that the talker has heard
	prefixKey digest        // of the rows before the text
	unheard   []int32       // reference codes that the codec has not heard
	taken     int           // ids of the segment that are in the prompt or in trailing
	open      bool          // more ids may come
	trail     []int         // text tokens heard during generation, one a frame
	made      int           // frames of the segment
	room      int           // frames that the talker's positions allow
	told      bool          // the reader knows that the segment has begun
	ending    FinishReason  // of the segment, in phaseEnding
	working   time.Duration // on the stage under way, in slices
}

// phase is where an utterance stands.
type phase int

// Those before phaseFrames need no frame.
const (
	phaseText      phase = iota // the next segment's text comes next
	phasePrompt                 // its prompt is computed
	phaseReference              // the codec hears the reference
	phaseEnding                 // the segment is spoken, its text has not ended
	phaseFrames                 // frames are made
	phaseOver                   // the reader was told the end
)

// reason is what an utterance waits for.
type reason int

const (
	nothing reason = iota
	forText
	forReader
)

// waitsFor tells why an utterance cannot go on.
func (u *utterance) waitsFor() reason {
	switch u.phase {
	case phaseText:
		seg, exists, over := u.script.at(u.index)
		if !over && (!exists || !seg.ended && len(seg.ids) < u.m.prompts.Needed(u.plan.request)) {
			return forText
		}
	case phaseEnding:
		if seg, _, _ := u.script.at(u.index); !seg.ended {
			return forText
		}
	case phaseFrames:
		u.listen()
		if u.open && u.made > 0 && u.made > len(u.trail) {
			return forText
		}
		if !u.s.room(u.e.ahead) {
			return forReader
		}
	}
	return nothing
}

// ready tells whether an utterance can go on: only then its time counts as computing.
func (u *utterance) ready() bool {
	ready := u.waitsFor() == nothing
	u.s.watch.run(ready)
	return ready
}

// listen takes the ids of the segment that have settled since.
func (u *utterance) listen() {
	if !u.open {
		return
	}
	seg, _, _ := u.script.at(u.index)
	u.trail = append(u.trail, seg.ids[u.taken:]...)
	u.taken = len(seg.ids)
	if seg.ended {
		u.trail = append(u.trail, u.prompt.End)
		u.open = false
	}
}

// prepare does the next thing that comes before the frames of a segment. A prompt goes on
// for about so much time.
func (u *utterance) prepare(left time.Duration) error {
	switch u.phase {
	case phaseText:
		return u.beginSegment()
	case phasePrompt:
		return u.prefill(left)
	case phaseReference:
		return u.hearReference()
	case phaseEnding:
		u.endSegment(u.ending)
	}
	return nil
}

// beginSegment assembles the next segment's prompt, or ends the utterance if there is
// none.
func (u *utterance) beginSegment() error {
	u.e.prof.Begin(u.number, 0)
	seg, exists, _ := u.script.at(u.index)
	if err := u.script.refusal(); err != nil {
		return err
	}
	if !exists || u.left() == 0 {
		u.cut = u.cut || exists
		u.finish()
		return nil
	}
	u.request = u.plan.request
	u.request.Text, u.taken, u.open = seg.ids, len(seg.ids), !seg.ended
	u.request.Open = u.open
	var err error
	if u.prompt, err = u.m.prompts.Build(u.m.work, u.m.ts, u.request); err != nil {
		return fmt.Errorf("synth: segment %d: %w", u.index, err)
	}
	u.prefixKey = digestOf(u.prompt.Rows[:u.prompt.Prefix*u.m.cfg.Talker.Hidden])
	u.e.prof.Lap(profile.Prompt)
	u.trail, u.heard, u.made, u.told = u.prompt.Trailing, 0, 0, false
	u.room = u.m.cfg.Talker.MaxPositions - u.rows()
	if u.room < 1 {
		return requestErrorf("input", "segment %d: the prompt takes %d positions, this checkpoint has %d", u.index, u.rows(), u.m.cfg.Talker.MaxPositions)
	}
	u.takePlace()
	if u.index == 0 {
		u.tellStart()
	}
	u.phase = phasePrompt
	return nil
}

// takePlace readies caches and samplers for the segment.
func (u *utterance) takePlace() {
	positions := u.rows() + min(u.room, u.left())
	if u.place == nil {
		u.place = u.e.pool.take(u.m, positions)
	} else {
		u.place.talker.Reuse(positions)
		u.place.codec.Reset()
	}
	noise := u.plan.noise(u.index)
	u.place.pick.Reset(u.plan.talker)
	u.place.residual.Reset(u.plan.residual, noise)
	u.place.noise = noise
	u.unheard = u.request.RefCodes
	if len(u.unheard) > 0 && u.loadVoice() {
		u.unheard = nil
	}
}

func (u *utterance) tellStart() {
	bound, tokens := 0, 0
	if !u.s.open {
		bound = u.plan.frameBound
	}
	_, tokens = u.script.counts()
	u.s.deliver(Start{
		Seed: u.plan.seed, Voice: u.plan.voice, SampleRate: u.m.codec.SampleRate(), FrameBound: bound,
		TextTokens: tokens, PromptRows: u.rows(), PromptKept: u.keptRows(), Queued: u.queued,
	})
}

// rows is the number of the prompt's rows.
func (u *utterance) rows() int { return len(u.prompt.Rows) / u.m.cfg.Talker.Hidden }

// left is how many frames the utterance may still have by the number asked for.
func (u *utterance) left() int {
	if u.plan.maxFrames == 0 {
		return u.m.defaults.maxFrames
	}
	return max(0, u.plan.maxFrames-u.frames)
}

// bound is the most frames that the segment may have: what is left, what the talker's
// positions allow, and what its text is worth once all of that is there.
func (u *utterance) bound() int {
	most := min(u.left()+u.made, u.room)
	if u.plan.maxFrames == 0 {
		most = min(u.m.defaults.maxFrames, u.room)
	}
	if u.open || u.plan.anyLength {
		return most
	}
	return FrameBound(most, u.taken)
}

// audio is how much audio was delivered.
func (u *utterance) audio() time.Duration {
	samples := u.frames*u.m.codec.Hop() + u.silent
	return time.Duration(samples) * time.Second / time.Duration(u.m.codec.SampleRate())
}

// endSegment tells the reader that a segment is spoken, or cut: once its text has ended,
// which the model need not wait for. What came to its end too soon counts as cut.
func (u *utterance) endSegment(reason FinishReason) {
	u.tellSegment()
	seg, _, _ := u.script.at(u.index)
	if !seg.ended {
		u.phase, u.ending = phaseEnding, reason
		return
	}
	if u.listen(); u.unsaid() {
		reason = FinishLength
	}
	u.s.deliver(SegmentDone{Index: u.index, Text: string(seg.text), Frames: u.made, FinishReason: reason})
	u.cut = u.cut || reason == FinishLength
	u.index++
	u.gap = u.plan.gap
	u.phase = phaseText
}

// unsaid tells whether there is something to say in the text that the talker has not heard.
// In the streaming layout it hears a token a frame, and nothing keeps it from drawing the end
// token before the last. The id behind the text, of its end or of a pad, need not be heard.
func (u *utterance) unsaid() bool {
	end, heard := len(u.trail)-1, u.made
	return heard < end && text.Speakable(u.m.encoder.Tokenizer().Decode(u.trail[heard:end]))
}

// tellSegment tells the reader that a segment begins, once.
func (u *utterance) tellSegment() {
	if u.told {
		return
	}
	u.told = true
	seg, _, _ := u.script.at(u.index)
	u.s.deliver(Segment{Index: u.index, Text: string(seg.text), Frame: u.frames})
}

// finish tells the reader that the utterance is over.
func (u *utterance) finish() {
	reason := FinishStop
	if u.cut {
		reason = FinishLength
	}
	u.s.deliver(Done{FinishReason: reason})
	u.phase = phaseOver
}
