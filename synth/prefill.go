package synth

import (
	"fmt"
	"time"

	"github.com/mynah-tts/mynah/internal/profile"
)

const (
	// prefillRows is the number of prompt rows that go through the talker at once when
	// nobody waits. More gain no speed.
	prefillRows = 64
	// leastRows is the least: as quick as a row, since the weights are read either way.
	leastRows = 8
)

// pace is how long things took lately.
type pace struct {
	row   time.Duration // a prompt row
	round time.Duration // a frame of every stream that had one

	hearing time.Duration // a step of a clip: the longest, which fades
}

// slice returns how many prompt rows may go through the talker in so much time.
func (p *pace) slice(left time.Duration) int {
	if p.row == 0 {
		return prefillRows
	}
	return int(min(prefillRows, max(leastRows, left/p.row)))
}

// learn takes a new measurement into a mean of the last few.
func learn(mean *time.Duration, took time.Duration) {
	if *mean == 0 {
		*mean = took
		return
	}
	*mean += (took - *mean) / 4
}

// prefill brings the talker past a slice of the prompt.
func (u *utterance) prefill(left time.Duration) error {
	started := time.Now()
	defer func() {
		u.working += time.Since(started)
		if u.phase != phasePrompt {
			u.record(profile.Prefill)
		}
	}()
	h := u.m.cfg.Talker.Hidden
	state := u.place.talker
	if u.heard == 0 {
		u.traceBegin()
	}
	if u.heard == 0 && u.loadPrefix() {
		return nil
	}
	n := min(u.e.pace.slice(left), u.rows()-u.heard)
	if u.heard < u.prompt.Prefix {
		n = min(n, u.prompt.Prefix-u.heard) // so that the prefix can be kept
	}
	u.m.talker.Extend(u.m.work, u.m.ts, state, u.prompt.Rows[u.heard*h:(u.heard+n)*h], nil)
	u.heard += n
	if u.heard == u.prompt.Prefix {
		u.keepPrefix()
	}
	if u.heard == u.rows() {
		u.m.talker.Logits(u.m.work, state)
		u.prompt.Rows, u.phase = nil, phaseReference
		if len(u.unheard) == 0 {
			u.phase = phaseFrames
		}
	}
	learn(&u.e.pace.row, time.Since(started)/time.Duration(n))
	return nil
}

// record records all slices of a stage as one.
func (u *utterance) record(stage profile.Stage) {
	u.e.prof.Add(stage, u.number, u.working)
	u.working = 0
}

// hearReference brings the codec past some frames of the reference: the voice goes on as
// if it had spoken them.
func (u *utterance) hearReference() error {
	started := time.Now()
	groups := u.m.cfg.Talker.Groups
	n := min(hearFrames, len(u.unheard)/groups) * groups
	if err := u.m.codec.Hear(u.m.work, u.m.cs, u.place.codec, u.unheard[:n], len(u.unheard[n:])/groups); err != nil {
		return fmt.Errorf("synth: reference: %w", err)
	}
	u.unheard = u.unheard[n:]
	u.working += time.Since(started)
	if len(u.unheard) == 0 {
		u.phase = phaseFrames
		u.keepVoice()
		u.record(profile.Reference)
	}
	return nil
}
