package synth

import (
	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/internal/nn"
)

const (
	// prefixBytes bounds the talker's keys and values of the prompt rows before the text, which
	// are the same in all requests of one voice, language and instruction. A row of the 0.6B
	// takes 229 kB: two megabytes for a preset, some ten for a clone with its transcript.
	prefixBytes = 128 << 20
	// voiceBytes bounds the codec's states behind references. One of the published checkpoints
	// takes five megabytes.
	voiceBytes = 64 << 20
)

// prefixes are kept by the digest of their rows, which is exactly what they depend on.
type prefixes = kept[*nn.Prefix]

// voices are kept by the digest of the reference's codes.
type voices = kept[*codec.Saved]

// keepPrefix keeps the keys and values of the rows that the talker has heard. Those of a very
// long instruction, for which there is no room, are not even copied.
func (u *utterance) keepPrefix() {
	if u.plan.unkept || u.place.talker.PrefixBytes() > u.e.prefixes.most {
		return
	}
	u.e.prefixes.put(u.prefixKey, u.plan.voiceKey, u.place.talker.Prefix())
	u.e.count()
}

// loadPrefix takes the keys and values of the rows before the text, if they are kept.
func (u *utterance) loadPrefix() bool {
	p, ok := u.e.prefixes.get(u.prefixKey)
	if !ok {
		return false
	}
	u.place.talker.Load(p)
	u.heard = u.prompt.Prefix
	return true
}

// keptRows is how many of the prompt's rows are kept.
func (u *utterance) keptRows() int {
	if _, ok := u.e.prefixes.get(u.prefixKey); !ok {
		return 0
	}
	return u.prompt.Prefix
}

// keepVoice keeps the codec's state behind the reference.
func (u *utterance) keepVoice() {
	if u.plan.unkept {
		return
	}
	u.e.voices.put(digestOf(u.request.RefCodes), u.plan.voiceKey, u.place.codec.Save())
	u.e.count()
}

// loadVoice takes the codec's state behind the reference, if it is kept.
func (u *utterance) loadVoice() bool {
	s, ok := u.e.voices.get(digestOf(u.request.RefCodes))
	if ok {
		u.place.codec.Load(s)
	}
	return ok
}
