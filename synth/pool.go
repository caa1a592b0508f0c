package synth

import (
	"github.com/mynah-tts/mynah/codec"
	"github.com/mynah-tts/mynah/sampler"
	"github.com/mynah-tts/mynah/talker"
)

// idleBytes bounds the memory of places that no request uses. A minute of the 0.6B takes
// about 170 MB for the talker, and 10 MB for the codec, however long.
const idleBytes = 256 << 20

// place is the memory in which a request is computed: caches, samplers and rows. It is
// used again by the requests that follow.
type place struct {
	talker   *talker.State
	codec    *codec.State
	pick     *sampler.Talker
	residual *sampler.Residual
	noise    sampler.Noise // of the segment
	embed    []float32     // [hidden], of code 0
	codes    []int32       // [groups] of the last frame
	pcm      []float32     // [frame size]
}

// bytes is the memory of its caches, next to which the rest is little.
func (pl *place) bytes() int64 { return pl.talker.Bytes() + pl.codec.Bytes() }

// pool keeps places that are not in use.
type pool struct {
	idle  []*place
	bytes int64 // of all of them
}

// take returns a place for a sequence of up to so many positions.
func (p *pool) take(m *Model, positions int) *place {
	if n := len(p.idle); n > 0 {
		pl := p.idle[n-1]
		p.idle[n-1] = nil // it may not come back
		p.idle = p.idle[:n-1]
		p.bytes -= pl.bytes()
		pl.talker.Reuse(positions)
		pl.codec.Reset()
		return pl
	}
	t := &m.cfg.Talker
	return &place{
		talker: m.talker.NewState(positions), codec: m.codec.NewState(referenceFrames),
		pick:     sampler.NewTalker(m.defaults.talker, t.Vocab, t.CodecEOS),
		residual: sampler.NewResidual(m.defaults.residual, t.Predictor.Vocab, nil),
		embed:    make([]float32, t.Hidden),
		codes:    make([]int32, t.Groups), pcm: make([]float32, m.codec.Hop()),
	}
}

// give takes a place back, unless that would keep too much memory.
func (p *pool) give(pl *place) {
	size := pl.bytes()
	if p.bytes+size > idleBytes {
		return
	}
	p.bytes += size
	p.idle = append(p.idle, pl)
}
