package mp3

const (
	// zoneBlocks and zoneBlock divide a zone of 576 samples for the attack detector.
	zoneBlocks, zoneBlock = 6, granuleLines / 6

	// lookahead is how many samples after a granule are needed to encode it. Short
	// windows lie in the middle of a block: attacks in the first half of the next
	// granule's slots are theirs, less the 240 samples by which filters lag.
	lookahead = 48

	// attackRatio is how much louder a block of 96 samples must be than those before
	// it. Pulses of a low voice stay below it, since levelDecay remembers the last one.
	attackRatio = 10
	levelDecay  = 0.7

	// attackFloor is the power below which nothing is an attack: a difference signal
	// at about -66 dB of full scale.
	attackFloor = zoneBlock * 2.5e-7
)

// attacks finds sudden starts. A long block would spread its quantization noise over
// the quiet before them.
type attacks struct {
	level float64 // power of the loudest block of late
}

// zone says whether there is an attack in x[1:], 576 samples. First differences stress
// high frequencies, where plosives and clicks differ from voice.
func (a *attacks) zone(x []float64) bool {
	found := false
	for b := range zoneBlocks {
		var power float64
		before := x[b*zoneBlock]
		for _, v := range x[b*zoneBlock+1 : (b+1)*zoneBlock+1] {
			power += (v - before) * (v - before)
			before = v
		}
		if power > attackRatio*a.level+attackFloor {
			found = true
		}
		a.level = max(power, a.level*levelDecay)
	}
	return found
}

// nextKind chooses the kind of a block from the kind before it and from whether its
// zone and the next one's have attacks. Short windows must be led in by a start block
// and led out by a stop block; a start block is never chosen without a short one
// following it.
func nextKind(last blockKind, here, next bool) blockKind {
	switch {
	case here, next && last == shortBlock:
		return shortBlock
	case next:
		return startBlock
	case last == shortBlock:
		return stopBlock
	}
	return longBlock
}
