package mp3

import "math/bits"

// word is a Huffman word: its bits, right-aligned, and how many.
type word struct {
	bits uint32
	n    uint8
}

// pairWords holds the words of table t for the pair x, y at [t][16x+y], without signs;
// quadWords those for four bits.
var pairWords, quadWords = func() (pairs [32][256]word, quads [2][16]word) {
	for t, list := range huffmanWords {
		var next uint64 // the next word, left-aligned in 32 bits
		for _, w := range list {
			n, x, y := uint8(w>>8), w>>4&15, w&15
			code := word{uint32(next >> (32 - n)), n}
			if t >= 32 {
				quads[t-32][y] = code
			} else {
				pairs[t][16*x+y] = code
			}
			next += 1 << (32 - n)
		}
	}
	for t := 17; t < 24; t++ {
		pairs[t] = pairs[16]
	}
	for t := 25; t < 32; t++ {
		pairs[t] = pairs[24]
	}
	return pairs, quads
}()

// linbits is how many bits follow a 15 in each table.
var linbits = [32]int{16: 1, 2, 3, 4, 6, 8, 10, 13, 4, 5, 6, 7, 8, 9, 11, 13}

// Tables for values up to a common largest one form a family; the cheapest of a
// family is chosen by counting. Family 7 is for values above 15.
const families = 8

// familyTables lists the tables of each family.
var familyTables = [families][]int{1: {1}, 2: {2, 3}, 3: {5, 6}, 4: {7, 8, 9}, 5: {10, 11, 12}, 6: {13, 15}, 7: {16, 24}}

// familyOf is the family of a largest value up to 15.
var familyOf = [16]uint8{0, 1, 2, 3, 4, 4, 5, 5, 6, 6, 6, 6, 6, 6, 6, 6}

// A packed count holds three counts of up to 21 bits: of the bits that up to three
// tables of a family need, signs included, or in family 7 of its two tables and of
// values of 15 and more. Sums of packed counts count for all at once.
const packedBits = 21

var packedCounts = func() (t [families][256]uint64) {
	for f, tables := range familyTables {
		for pair := range 256 {
			x, y := pair>>4, pair&15
			for i, table := range tables {
				if n := uint64(pairWords[table][pair].n); n > 0 {
					t[f][pair] |= (n + signs(x, y)) << (packedBits * i)
				}
			}
			if f == 7 {
				t[f][pair] |= (b2u(x == 15) + b2u(y == 15)) << (2 * packedBits)
			}
		}
	}
	return t
}()

// quadCounts packs the bits of both quadruple tables, signs included.
var quadCounts = func() (t [16]uint64) {
	for q := range t {
		sign := uint64(bits.OnesCount(uint(q)))
		for i := range quadWords {
			t[q] |= (uint64(quadWords[i][q].n) + sign) << (packedBits * i)
		}
	}
	return t
}()

func signs(x, y int) uint64 { return b2u(x > 0) + b2u(y > 0) }

func b2u(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

// family returns the family for values up to largest.
func family(largest int32) int {
	if largest > 15 {
		return 7
	}
	return int(familyOf[largest])
}

// cheapest returns the best table for pairs with a packed count and a largest value,
// and its bits.
func cheapest(packed uint64, largest int32) (table, size int) {
	const mask = 1<<packedBits - 1
	f := family(largest)
	if f == 0 {
		return 0, 0
	}
	if f == 7 {
		return cheapestEscape(packed, largest)
	}
	tables := familyTables[f]
	table, size = tables[0], int(packed&mask)
	for _, t := range tables[1:] {
		packed >>= packedBits
		if n := int(packed & mask); n < size {
			table, size = t, n
		}
	}
	return table, size
}

// cheapestEscape is cheapest for values above 15: in each half of the family, the
// first table with enough bits for what exceeds 15.
func cheapestEscape(packed uint64, largest int32) (table, size int) {
	const mask = 1<<packedBits - 1
	need := bits.Len32(uint32(largest - 15))
	escapes := int(packed >> (2 * packedBits))
	a, b := 16, 24
	for linbits[a] < need {
		a++
	}
	for linbits[b] < need {
		b++
	}
	sizeA := int(packed&mask) + escapes*linbits[a]
	sizeB := int(packed>>packedBits&mask) + escapes*linbits[b]
	if sizeA <= sizeB {
		return a, sizeA
	}
	return b, sizeB
}

// writePairs writes big values with table t.
func writePairs(w *bitWriter, values []int32, t int) {
	if t == 0 {
		return
	}
	words, extra := &pairWords[t], linbits[t]
	for i := 0; i+1 < len(values); i += 2 {
		x, y := magnitude(values[i]), magnitude(values[i+1])
		code := words[16*min(x, 15)+min(y, 15)]
		w.put(code.bits, int(code.n))
		writeRest(w, values[i], x, extra)
		writeRest(w, values[i+1], y, extra)
	}
}

// writeRest writes what follows a pair's word for one of its values.
func writeRest(w *bitWriter, v int32, magnitude uint32, extra int) {
	if extra > 0 && magnitude >= 15 {
		w.put(magnitude-15, extra)
	}
	if magnitude > 0 {
		w.put(uint32(v)>>31, 1)
	}
}

// writeQuads writes values of -1, 0 and 1 with quadruple table t.
func writeQuads(w *bitWriter, values []int32, t int) {
	for i := 0; i+3 < len(values); i += 4 {
		v := (*[4]int32)(values[i:])
		code := quadWords[t][quad(v)]
		w.put(code.bits, int(code.n))
		for _, x := range v {
			if x != 0 {
				w.put(uint32(x)>>31, 1)
			}
		}
	}
}

// quad is the index of four values of -1, 0 and 1 in a quadruple table.
func quad(v *[4]int32) uint32 {
	return magnitude(v[0])<<3 | magnitude(v[1])<<2 | magnitude(v[2])<<1 | magnitude(v[3])
}

func magnitude(v int32) uint32 {
	s := v >> 31
	return uint32((v ^ s) - s)
}
