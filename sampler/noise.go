package sampler

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
)

// Noise gives the exponential variates of draws.
type Noise interface {
	// Fill sets dst[i] to the variate of ids[i], for the next draw. The ids are those
	// that survived top-k and top-p, in ascending order; both slices have one length.
	Fill(dst []float32, ids []int32) error
}

// generatorLabel fills the second half of the generator's key. A change of the way
// in which noise is drawn changes the audio of every seed, and takes a new label.
const generatorLabel = "mynah sampler v1"

// zeroStandsFor replaces a variate of exactly 0. The generator cannot tell variates
// below 2^-32 from 0: it returns 0 with about that probability. p / 0 would be NaN
// for p = 0 and would beat every other id for any other p, however small; the middle
// of what the zero stands for does neither.
const zeroStandsFor = 0x1p-33

// Generator is the noise of one request (of one segment of it, if the text is cut):
// ChaCha8 of math/rand/v2, keyed by seed and segment. It serves the talker and the
// residual codes of that request and nothing else, so the draws do not depend on
// what else runs. Fill takes exactly one variate for each id.
type Generator struct {
	source *rand.ChaCha8
	rand   *rand.Rand
}

// NewGenerator returns the generator of a seed and a segment (0 for the first).
func NewGenerator(seed, segment uint64) *Generator {
	g := &Generator{source: rand.NewChaCha8(generatorKey(seed, segment))}
	g.rand = rand.New(g.source)
	return g
}

// Reset begins the noise of another seed and segment.
func (g *Generator) Reset(seed, segment uint64) { g.source.Seed(generatorKey(seed, segment)) }

// generatorKey is seed, segment (both little-endian) and the label.
func generatorKey(seed, segment uint64) (key [32]byte) {
	binary.LittleEndian.PutUint64(key[0:], seed)
	binary.LittleEndian.PutUint64(key[8:], segment)
	copy(key[16:], generatorLabel)
	return key
}

// Exp returns the next variate of Exp(1); it is above 0.
func (g *Generator) Exp() float64 {
	if e := g.rand.ExpFloat64(); e != 0 {
		return e
	}
	return zeroStandsFor
}

// Fill draws one variate for each id, in order.
func (g *Generator) Fill(dst []float32, ids []int32) error {
	for i := range ids {
		dst[i] = float32(g.Exp())
	}
	return nil
}

// Recorded is noise that was written down: one row for each draw, in order of the
// draws, and in it one variate for each id of the vocabulary. A frame that samples
// everywhere takes a row for code 0 and then one for each residual code.
type Recorded struct {
	rows [][]float32 // [draws][vocab]
	next int
}

// NewRecorded returns noise that hands out the rows in order.
func NewRecorded(rows ...[]float32) *Recorded { return &Recorded{rows: rows} }

// Fill hands out the next row. It fails when none is left or an id is not in it.
func (r *Recorded) Fill(dst []float32, ids []int32) error {
	if r.next >= len(r.rows) {
		return fmt.Errorf("recorded noise: draw %d, only %d rows were recorded", r.next, len(r.rows))
	}
	row := r.rows[r.next]
	for i, id := range ids {
		if int(id) >= len(row) {
			return fmt.Errorf("recorded noise: row %d: id %d, only %d variates were recorded", r.next, id, len(row))
		}
		dst[i] = row[id]
	}
	r.next++
	return nil
}
