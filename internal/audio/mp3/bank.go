package mp3

const (
	granuleLines = 576 // samples and lines of a granule
	subbands     = 32
	slots        = 18  // of each subband in a granule
	taps         = 512 // of the polyphase filters
)

// analysis holds the taps of the analysis filters, for samples in order of time: the
// synthesis window divided by 32, reversed.
var analysis = func() (t [taps]float64) {
	for i := range taps {
		c := float64(prototype[min(i, taps-i)]) / 65536 / 32
		if i/64%2 == 1 {
			c = -c
		}
		t[taps-1-i] = c
	}
	return t
}()

// bank splits granules into subbands, and keeps those of the granule before, which
// the MDCT overlaps.
type bank struct {
	last, next [subbands][slots]float64
}

// granule takes 480 old and 576 new samples and makes them the subbands in next; what
// was there moves to last. Every other slot of every other subband changes its sign:
// odd subbands of a polyphase bank run from high to low frequency, and so turn round.
func (b *bank) granule(samples []float64) {
	b.last = b.next
	var bands, tmp [subbands]float64
	for s := range slots {
		polyphase(&bands, samples[s*subbands:s*subbands+taps])
		dct(bands[:], tmp[:])
		for k := range subbands {
			v := bands[k]
			if s&k&1 == 1 {
				v = -v
			}
			b.next[k][s] = v
		}
	}
}

// polyphase windows 512 samples and folds them, such that a DCT of the 32 sums gives
// one sample of each subband. The matrix of the standard, cos(π(2k+1)(i-16)/64) for
// i below 64, is symmetric about i = 16, antisymmetric about i = 48.
func polyphase(out *[subbands]float64, samples []float64) {
	x := (*[taps]float64)(samples)
	var y [64]float64
	for i := range y {
		m := 63 - i
		y[i] = x[m]*analysis[m] + x[m+64]*analysis[m+64] + x[m+128]*analysis[m+128] + x[m+192]*analysis[m+192] +
			x[m+256]*analysis[m+256] + x[m+320]*analysis[m+320] + x[m+384]*analysis[m+384] + x[m+448]*analysis[m+448]
	}
	out[0] = y[16]
	for n := 1; n <= 16; n++ {
		out[n] = y[16+n] + y[16-n]
	}
	for n := 17; n < subbands; n++ {
		out[n] = y[16+n] - y[80-n]
	}
}
