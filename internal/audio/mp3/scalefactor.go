package mp3

import "math/bits"

const (
	maxBands   = 39 // 13 bands × 3 windows of a short block
	longScaled = 21 // bands of a long block that have a scale factor: all but the last
	pretabFrom = 11 // first band that preflag raises
)

// pretab is what preflag adds to the scale factors of a long block.
var pretab = [longScaled]int{11: 1, 1, 1, 1, 2, 2, 3, 3, 3, 2}

// layout is how the lines of a block divide into bands with a step size each.
type layout struct {
	bands  int
	scaled int // bands with a scale factor; the others follow the gain alone
	half   int // bands whose scale factor goes to 15; the others' goes to 7
	border [maxBands + 1]int
}

func longLayout(f *format) *layout {
	l := &layout{bands: 22, scaled: longScaled, half: 11}
	copy(l.border[:], f.long[:])
	return l
}

// shortLayout has the three windows' bands one after another, as the bit stream has
// them.
func shortLayout(f *format) *layout {
	l := &layout{bands: 39, scaled: 36, half: 18}
	for b := range 13 {
		for w := range 3 {
			width := f.short[b+1] - f.short[b]
			l.border[3*b+w+1] = l.border[3*b+w] + width
		}
	}
	return l
}

func (l *layout) limit(band int) int {
	if band < l.half {
		return 15
	}
	return 7
}

// scaleCode is how the scale factors of a granule are written: parts of so many
// bands, each with so many bits, and the code for it in the side information.
type scaleCode struct {
	parts   *[4]int
	lengths [4]int // bits
	code    int
	preflag bool
	size    int // bits in all
	shared  int // bits 3 to 0: bands 0-5, 6-10, 11-15, 16-20 are those of the granule before (scfsi)
}

// The parts: of MPEG-1, and of the three codings of MPEG-2, long and short.
var (
	longHalves  = [4]int{11, 10, 0, 0}
	shortHalves = [4]int{18, 18, 0, 0}
	longParts   = [3][4]int{{6, 5, 5, 5}, {6, 5, 7, 3}, longHalves}
	shortParts  = [3][4]int{{9, 9, 9, 9}, {9, 9, 12, 6}, shortHalves}
)

// lengthPairs lists the lengths of both halves for each code of MPEG-1.
var lengthPairs = [16][2]int{
	{0, 0}, {0, 1}, {0, 2}, {0, 3}, {3, 0}, {1, 1}, {1, 2}, {1, 3},
	{2, 1}, {2, 2}, {2, 3}, {3, 1}, {3, 2}, {3, 3}, {4, 2}, {4, 3},
}

// sharedGroups are the borders of what scfsi shares.
var sharedGroups = [5]int{0, 6, 11, 16, 21}

// codeMPEG1 finds the shortest code for scale factors within their limits. It always
// succeeds. Preflag is taken where it fits: it shortens.
func codeMPEG1(l *layout, factors *[maxBands]int) scaleCode {
	c := scaleCode{parts: &shortHalves, size: 1 << 30}
	if l.scaled == longScaled {
		c.parts, c.preflag = &longHalves, preflagFits(factors)
	}
	need := lengthsNeeded(c.parts, factors, c.preflag)
	for code, pair := range lengthPairs {
		size := pair[0]*c.parts[0] + pair[1]*c.parts[1]
		if pair[0] >= need[0] && pair[1] >= need[1] && size < c.size {
			c.code, c.size, c.lengths = code, size, [4]int{pair[0], pair[1]}
		}
	}
	return c
}

// codeMPEG2 is codeMPEG1 for MPEG-2 and 2.5: four parts with lengths to 4, 4, 3 and 3;
// three with 4, 4 and 3; or two with 3 and 2 on top of preflag.
func codeMPEG2(l *layout, factors *[maxBands]int) scaleCode {
	tables := &shortParts
	long := l.scaled == longScaled
	if long {
		tables = &longParts
	}
	need := lengthsNeeded(&tables[0], factors, false)
	c := scaleCode{parts: &tables[0], lengths: need, code: (need[0]*5+need[1])<<4 | need[2]<<2 | need[3]}
	c.size = sizeOf(c.parts, &need)
	need = lengthsNeeded(&tables[1], factors, false)
	if size := sizeOf(&tables[1], &need); need[3] == 0 && size < c.size {
		c = scaleCode{parts: &tables[1], lengths: need, size: size, code: 400 + (need[0]*5+need[1])<<2 + need[2]}
	}
	if long && !preflagFits(factors) {
		return c
	}
	need = lengthsNeeded(&tables[2], factors, long)
	if size := sizeOf(&tables[2], &need); need[0] <= 3 && need[1] <= 2 && size < c.size {
		c = scaleCode{parts: &tables[2], lengths: need, size: size, code: 500 + need[0]*3 + need[1], preflag: long}
	}
	return c
}

func sizeOf(parts, lengths *[4]int) int {
	size := 0
	for i, n := range parts {
		size += n * lengths[i]
	}
	return size
}

func preflagFits(factors *[maxBands]int) bool {
	for b := pretabFrom; b < longScaled; b++ {
		if factors[b] < pretab[b] {
			return false
		}
	}
	return true
}

// lengthsNeeded returns how many bits the largest scale factor of each part needs.
func lengthsNeeded(parts *[4]int, factors *[maxBands]int, preflag bool) (need [4]int) {
	band := 0
	for i, n := range parts {
		largest := 0
		for range n {
			largest = max(largest, stored(factors, band, preflag))
			band++
		}
		need[i] = bits.Len(uint(largest))
	}
	return need
}

// stored is a scale factor as it is written.
func stored(factors *[maxBands]int, band int, preflag bool) int {
	if preflag {
		return factors[band] - pretab[band]
	}
	return factors[band]
}

// share marks the groups of c whose factors, as stored, are those of the granule
// before it, which then need not be written again. Only MPEG-1 can, in long blocks.
func (c *scaleCode) share(factors *[maxBands]int, before *scaleCode, factorsBefore *[maxBands]int) {
	for group := range 4 {
		same, size := true, 0
		for b := sharedGroups[group]; b < sharedGroups[group+1]; b++ {
			same = same && stored(factors, b, c.preflag) == stored(factorsBefore, b, before.preflag)
			size += c.lengths[min(b/11, 1)]
		}
		if same && size > 0 {
			c.shared |= 8 >> group
			c.size -= size
		}
	}
}

// write writes the scale factors.
func (c *scaleCode) write(w *bitWriter, factors *[maxBands]int) {
	band := 0
	for i, n := range c.parts {
		for range n {
			if c.shared == 0 || c.shared&(8>>groupOf(band)) == 0 {
				w.put(uint32(stored(factors, band, c.preflag)), c.lengths[i])
			}
			band++
		}
	}
}

func groupOf(band int) int {
	for group := 3; group > 0; group-- {
		if band >= sharedGroups[group] {
			return group
		}
	}
	return 0
}
