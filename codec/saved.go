package codec

import "github.com/mynah-tts/mynah/internal/nn"

// Saved is a copy of a State between two frames, from which any number of streams may go on.
type Saved struct {
	left   []float32
	cache  *nn.Tail
	frame  int
	broken bool
}

// Save copies the state.
func (s *State) Save() *Saved {
	return &Saved{left: append([]float32(nil), s.left...), cache: s.cache.Tail(), frame: s.frame, broken: s.broken}
}

// Load makes the state what it was when it was saved, by a state of the same decoder.
func (s *State) Load(from *Saved) {
	copy(s.left, from.left)
	s.cache.LoadTail(from.cache)
	s.frame, s.broken = from.frame, from.broken
}

// Bytes returns the memory that it takes: 5.2 MB for the published checkpoints, and less before a window of frames.
func (s *Saved) Bytes() int64 { return int64(len(s.left))*4 + s.cache.Bytes() }
