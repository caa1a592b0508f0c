package mp3

import "math"

// blockKind is a granule's block type, by its number in the side information.
type blockKind int

const (
	longBlock  blockKind = 0
	startBlock blockKind = 1 // long, before a short one
	shortBlock blockKind = 2 // three windows of a third
	stopBlock  blockKind = 3 // long, after a short one
)

// windows holds the windows of long, start and stop blocks, and in the first 12
// places of short ones. They contain the factor by which decoders expect a forward
// transform to be scaled.
var windows = func() (t [4][36]float64) {
	sine := func(i, n int) float64 { return math.Sin(math.Pi / float64(n) * (float64(i) + 0.5)) }
	for i := range 36 {
		t[longBlock][i] = sine(i, 36) / 9
		switch {
		case i < 18:
			t[startBlock][i] = sine(i, 36) / 9
		case i < 24:
			t[startBlock][i] = 1. / 9
		case i < 30:
			t[startBlock][i] = sine(i-18, 12) / 9
		}
		t[stopBlock][35-i] = t[startBlock][i]
	}
	for i := range 12 {
		t[shortBlock][i] = sine(i, 12) / 3
	}
	return t
}()

// aliasOwn and aliasOther are the butterflies between neighbouring subbands, from
// the standard's eight coefficients.
var aliasOwn, aliasOther = func() (cs, ca [8]float64) {
	for i, c := range [8]float64{-0.6, -0.535, -0.33, -0.185, -0.095, -0.041, -0.0142, -0.0037} {
		r := math.Sqrt(1 + c*c)
		cs[i], ca[i] = 1/r, c/r
	}
	return cs, ca
}()

// transform turns the subbands in last and next into lines below limit; the others
// become 0. Line k of window w of a short block lies at 3k+w.
func (b *bank) transform(lines *[granuleLines]float64, kind blockKind, limit int) {
	bands := min(subbands, (limit+slots-1)/slots+1)
	for sb := range bands {
		out := (*[slots]float64)(lines[sb*slots:])
		if kind == shortBlock {
			mdctShort(out, &b.last[sb], &b.next[sb])
		} else {
			mdctLong(out, &b.last[sb], &b.next[sb], &windows[kind])
		}
	}
	if kind != shortBlock {
		for sb := 1; sb < bands; sb++ {
			for i := range 8 {
				l, u := &lines[sb*slots-1-i], &lines[sb*slots+i]
				*l, *u = *l*aliasOwn[i]+*u*aliasOther[i], *u*aliasOwn[i]-*l*aliasOther[i]
			}
		}
		clear(lines[limit:])
		return
	}
	clear(lines[limit/3*3:])
}

// mdctLong transforms 36 windowed values into 18: they fold into 18, of which it
// takes the DCT-IV.
func mdctLong(out, last, next *[slots]float64, w *[36]float64) {
	var u [slots]float64
	for n := range 9 {
		u[n] = -next[8-n]*w[26-n] - next[9+n]*w[27+n]
		u[9+n] = last[n]*w[n] - last[17-n]*w[17-n]
	}
	for k := range out {
		c := &cosines18[k]
		var s0, s1, s2 float64
		for i := 0; i < slots; i += 3 {
			s0 += u[i] * c[i]
			s1 += u[i+1] * c[i+1]
			s2 += u[i+2] * c[i+2]
		}
		out[k] = s0 + s1 + s2
	}
}

// mdctShort transforms three windows of 12 values, which begin 6 apart in the middle
// of the 36. Line k of window w goes to 3k+w.
func mdctShort(out, last, next *[slots]float64) {
	var z [36]float64
	copy(z[:18], last[:])
	copy(z[18:], next[:])
	w := &windows[shortBlock]
	for win := range 3 {
		x := z[6+6*win : 18+6*win]
		var u [6]float64
		for n := range 3 {
			u[n] = -x[8-n]*w[8-n] - x[9+n]*w[9+n]
			u[3+n] = x[n]*w[n] - x[5-n]*w[5-n]
		}
		for k := range 6 {
			var s float64
			for i, c := range &cosines6[k] {
				s += u[i] * c
			}
			out[3*k+win] = s
		}
	}
}

// reorder sorts the lines of a short block, which come by frequency and then window,
// into the bit stream's order: by band, window, frequency.
func reorder(to, from *[granuleLines]float64, borders *[14]int) {
	at := 0
	for b := range 13 {
		for win := range 3 {
			for line := borders[b]; line < borders[b+1]; line++ {
				to[at] = from[3*line+win]
				at++
			}
		}
	}
}
