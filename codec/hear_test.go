package codec

import (
	"slices"
	"testing"
)

// TestHear: a stream that hears frames, in pieces of any size, goes on as if it had decoded them.
func TestHear(t *testing.T) {
	for _, p := range precisions {
		d, wk := oddDecoderAt(t, Precision(p)), work(t, 2)
		const after = 4
		most := d.reach()[atTransformer]
		for _, n := range []int{0, 1, 2, most - 1, most, most + 1, 40, 100} {
			codes, groups, hop := randomCodes(d, n+after, 1), d.Groups(), d.Hop()
			want := decode(t, d, wk, d.NewScratch(8), d.NewState(8), codes, 5)[n*hop:]
			sound(t, want)
			for _, piece := range []int{1, 3, 16, 200} {
				s, sc := d.NewState(8), d.NewScratch(8)
				for from := 0; from < n; from += piece {
					to := min(from+piece, n)
					if err := d.Hear(wk, sc, s, codes[from*groups:to*groups], n-to); err != nil {
						t.Fatal(err)
					}
				}
				if s.Frames() != n {
					t.Errorf("%d frames of %d", s.Frames(), n)
				}
				got := decode(t, d, wk, sc, s, codes[n*groups:], 3)
				if !slices.Equal(got, want) {
					t.Errorf("%s: %d frames heard in pieces of %d: other samples", p, n, piece)
				}
			}
		}
	}
}

// TestHearReaches: frames go no further than they must, and those of the published sizes as the comment says.
func TestHearReaches(t *testing.T) {
	d := oddDecoderAt(t, F32)
	r := d.reach()
	if !(r[atTransformer] >= r[atEntry] && r[atEntry] >= r[atBlock] && r[atBlock] > 0) {
		t.Errorf("reaches %v", r)
	}
	full := reaches{atTransformer: 10, atEntry: 4, atBlock: 1}
	for _, c := range []struct {
		left, most int
		at         stop
		n          int
	}{
		{100, 30, atTransformer, 30}, {100, 100, atTransformer, 90}, {10, 10, atEntry, 6}, {5, 2, atEntry, 1}, {4, 4, atBlock, 3}, {1, 1, atSamples, 1},
	} {
		if at, n := full.next(c.left, c.most); at != c.at || n != c.n {
			t.Errorf("%d left, %d at hand: %d frames to stop %d, wanted %d to %d", c.left, c.most, n, at, c.n, c.at)
		}
	}
}

// TestHearRefuses: what Decode refuses, and nothing is changed by it.
func TestHearRefuses(t *testing.T) {
	d, wk := oddDecoderAt(t, F32), work(t, 1)
	sc, s := d.NewScratch(4), d.NewState(4)
	codes := randomCodes(d, 3, 1)
	codes[len(codes)-1] = int32(d.Codes())
	if err := d.Hear(wk, sc, s, codes, 100); err == nil || s.Frames() != 0 {
		t.Errorf("a code beyond its book: %v, %d frames", err, s.Frames())
	}
	if err := d.Hear(wk, sc, s, codes[:len(codes)-1], 100); err == nil || s.Frames() != 0 {
		t.Errorf("a part of a frame: %v, %d frames", err, s.Frames())
	}
}
