package sampler

import (
	"errors"
	"fmt"
	"math"
)

// candidates are the ids that may still be chosen, in ascending order, with their
// scores. Each processor takes scores in place or drops ids; nothing is ever sorted
// whole. All slices are [vocab] and made once; n of them are in use.
type candidates struct {
	n      int
	ids    []int32   // [n] ascending
	scores []float32 // [n] finite
	probs  []float32 // [n]
	noise  []float32 // [n]
	heap   []float32 // [n] scratch of topK and topP
}

func newCandidates(vocab int) candidates {
	f := make([]float32, 4*vocab)
	part := func(i int) []float32 { return f[i*vocab : (i+1)*vocab : (i+1)*vocab] }
	return candidates{ids: make([]int32, vocab), scores: part(0), probs: part(1), noise: part(2), heap: part(3)}
}

// checkLogits refuses logits that no rule can order: NaN and +Inf. -Inf is an id that
// cannot be chosen.
func checkLogits(logits []float32, vocab int) error {
	if len(logits) != vocab {
		return fmt.Errorf("%d logits, wanted %d", len(logits), vocab)
	}
	for id, x := range logits {
		if !(x <= math.MaxFloat32) {
			return fmt.Errorf("the logit of id %d is %v", id, x)
		}
	}
	return nil
}

// collect adds the ids from first to before end, less those at -Inf.
func (c *candidates) collect(scores []float32, first, end int) {
	n := c.n
	for i, x := range scores[first:end] {
		if x >= -math.MaxFloat32 {
			c.ids[n], c.scores[n] = int32(first+i), x
			n++
		}
	}
	c.n = n
}

// best returns the id of the largest score, the lowest of equal ones.
func (c *candidates) best() int {
	at, best := 0, c.scores[0]
	for i, x := range c.scores[:c.n] {
		if x > best {
			at, best = i, x
		}
	}
	return int(c.ids[at])
}

// sample applies temperature, top-k and top-p and draws an id.
func (c *candidates) sample(p *Params, dropped float32, g Noise) (int, error) {
	c.temper(p.Temperature)
	if p.TopK > 0 && p.TopK < c.n {
		c.topK(p.TopK)
	}
	if p.TopP < 1 {
		c.topP(dropped)
	}
	probs, noise := c.probs[:c.n], c.noise[:c.n]
	softmax(probs, c.scores[:c.n])
	if err := g.Fill(noise, c.ids[:c.n]); err != nil {
		return 0, err
	}
	at, err := race(probs, noise)
	if err != nil {
		return 0, err
	}
	return int(c.ids[at]), nil
}

// temper divides the scores by the temperature. One so small that a score would
// overflow is raised to where none does: the scores are then still so far apart that
// only the largest have a probability, which is the limit of ever smaller temperatures.
func (c *candidates) temper(temperature float32) {
	if temperature == 1 {
		return
	}
	scores := c.scores[:c.n]
	if temperature < 1 {
		var low, high float32
		for _, x := range scores {
			if x > high {
				high = x
			} else if x < low {
				low = x
			}
		}
		temperature = max(temperature, max(high, -low)/(math.MaxFloat32/2))
	}
	for i := range scores {
		scores[i] /= temperature
	}
}

// topK keeps the k largest scores and all that equal the k-th, for 0 < k < n. A heap
// of the k largest finds the k-th.
func (c *candidates) topK(k int) {
	h := c.heap[:k]
	copy(h, c.scores)
	heapify(h)
	for _, x := range c.scores[k:c.n] {
		if x > h[0] {
			h[0] = x
			siftDown(h, 0)
		}
	}
	c.keep(h[0], c.n)
}

// topP drops the least probable ids while what they sum to is at most dropped; the
// most probable one always stays. The reference sorts in ascending order and sums
// from the smallest; this takes the largest from a heap until the mass of those not
// taken yet is at most dropped, which is the same border after a few steps. Like the
// reference it sums in float64 and compares in float32. Of equal scores at the border
// the lowest ids stay (in the reference that depends on an unstable sort).
func (c *candidates) topP(dropped float32) {
	scores, h := c.scores[:c.n], c.heap[:c.n]
	largest, sum := softmax(c.probs[:c.n], scores)
	rest := 0.0
	for i, p := range c.probs[:c.n] {
		rest += float64(p)
		h[i] = -scores[i]
	}
	heapify(h) // the smallest of the negated scores is the largest score
	border, equal := -h[0], 0
	for taken := 0; len(h) > 0 && (taken == 0 || float32(rest) > dropped); taken++ {
		x := -h[0]
		if x != border {
			border, equal = x, 0
		}
		equal++
		rest -= float64(exp(x-largest) / sum)
		h[0] = h[len(h)-1]
		h = h[:len(h)-1]
		siftDown(h, 0)
	}
	c.keep(border, equal)
}

// keep drops the scores below border, and of those equal to it all but the first few.
func (c *candidates) keep(border float32, equal int) {
	n := 0
	for i, x := range c.scores[:c.n] {
		if x < border || x == border && equal == 0 {
			continue
		}
		if x == border {
			equal--
		}
		c.ids[n], c.scores[n] = c.ids[i], x
		n++
	}
	c.n = n
}

// race returns the index with the largest probs[i]/noise[i], the lowest of equal
// ones. With noise ~ Exp(1) it is i with probability probs[i].
func race(probs, noise []float32) (int, error) {
	at, best := -1, float32(-math.SmallestNonzeroFloat32) // p / +Inf = 0 can still win
	for i, p := range probs {
		// A quotient that is NaN (0/0) is not above anything and loses.
		if q := p / noise[i]; q > best {
			at, best = i, q
		}
	}
	if at < 0 {
		return 0, errors.New("the noise is not above 0 for any id")
	}
	return at, nil
}

// softmax sets dst to the probabilities of scores, which are finite, and returns the
// largest score and the sum of exp(score - largest).
func softmax(dst, scores []float32) (largest, sum float32) {
	largest = scores[0]
	for _, x := range scores {
		if x > largest {
			largest = x
		}
	}
	total := 0.0
	for i, x := range scores {
		e := exp(x - largest)
		dst[i] = e
		total += float64(e)
	}
	sum = float32(total)
	for i := range dst {
		dst[i] /= sum
	}
	return largest, sum
}

func exp(x float32) float32 { return float32(math.Exp(float64(x))) }

// heapify makes h a heap with the smallest value first.
func heapify(h []float32) {
	for i := len(h)/2 - 1; i >= 0; i-- {
		siftDown(h, i)
	}
}

// siftDown moves h[i] down until no child is smaller.
func siftDown(h []float32, i int) {
	for {
		child := 2*i + 1
		if child >= len(h) {
			return
		}
		if child+1 < len(h) && h[child+1] < h[child] {
			child++
		}
		if h[i] <= h[child] {
			return
		}
		h[i], h[child] = h[child], h[i]
		i = child
	}
}

// lastScores sets dst [vocab] to the scores after the last pick's processors, -Inf
// where an id was dropped.
func (c *candidates) lastScores(dst []float32) {
	c.spread(dst, c.scores, float32(math.Inf(-1)))
}

// lastProbs sets dst [vocab] to the softmax of lastScores.
func (c *candidates) lastProbs(dst []float32) {
	if c.n > 0 {
		softmax(c.probs[:c.n], c.scores[:c.n])
	}
	c.spread(dst, c.probs, 0)
}

// spread sets dst [vocab] to values at the ids of the candidates and to other elsewhere.
func (c *candidates) spread(dst, values []float32, other float32) {
	if len(dst) != len(c.ids) {
		panic(fmt.Sprintf("sampler: %d places for a vocabulary of %d", len(dst), len(c.ids)))
	}
	for i := range dst {
		dst[i] = other
	}
	for i, id := range c.ids[:c.n] {
		dst[id] = values[i]
	}
}
