package codec

import (
	"slices"
	"testing"
)

// TestSavedState goes on from a copy, with the state that was copied and with another one, before and behind a full window.
func TestSavedState(t *testing.T) {
	for _, p := range precisions {
		d, wk := oddDecoderAt(t, Precision(p)), work(t, 2)
		sc := d.NewScratch(8)
		for _, before := range []int{0, 1, 10, 40, 100} {
			codes := randomCodes(d, before+9, 2)
			want := decode(t, d, wk, sc, d.NewState(8), codes, 3)[before*d.Hop():]
			s := d.NewState(8)
			decode(t, d, wk, sc, s, codes[:before*d.Groups()], 8)
			saved := s.Save()
			if saved.Bytes() <= 0 || saved.Bytes() > s.Bytes() {
				t.Errorf("%d bytes saved of %d", saved.Bytes(), s.Bytes())
			}
			other := d.NewState(8)
			decode(t, d, wk, sc, other, randomCodes(d, 30, 3), 8)
			for range 2 {
				for _, state := range []*State{s, other} {
					state.Load(saved)
					if got := decode(t, d, wk, sc, state, codes[before*d.Groups():], 2); !slices.Equal(got, want) {
						t.Errorf("%s: behind %d frames: other samples", p, before)
					}
				}
			}
		}
	}
}
