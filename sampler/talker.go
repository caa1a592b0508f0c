package sampler

import (
	"errors"
	"fmt"
	"math"
)

// Rules of the talker's vocabulary that the reference has in code, not in a config.
const (
	// controlIDs at the top of the vocabulary are never chosen, except the end token:
	// they are no codes, and would index past the codec's code books.
	controlIDs = 1024
	// minTokens come before the end token may be chosen.
	minTokens = 2
)

var errNoCandidate = errors.New("no id is left to choose: every logit is -Inf, suppressed or blocked")

// Talker chooses code 0 of each frame, or the end token. It remembers what it chose
// for the repetition penalty and the minimum length.
type Talker struct {
	params     Params
	dropped    float32 // 1 - top_p
	vocab, eos int
	scores     []float32 // [vocab]
	cand       candidates
	tokens     int     // chosen since Reset
	seen       []int32 // the distinct ones among them, in order of appearance
	isSeen     []bool  // [vocab]
}

// NewTalker returns a sampler for logits [vocab] with the end token eos. The params
// must be valid. It panics if eos is not in the vocabulary.
func NewTalker(p Params, vocab, eos int) *Talker {
	if eos < 0 || eos >= vocab {
		panic(fmt.Sprintf("sampler: NewTalker: end token %d, vocabulary %d", eos, vocab))
	}
	t := &Talker{
		vocab: vocab, eos: eos,
		scores: make([]float32, vocab), cand: newCandidates(vocab),
		seen: make([]int32, 0, vocab), isSeen: make([]bool, vocab),
	}
	t.Reset(p)
	return t
}

// Reset begins another request: it forgets the tokens chosen so far.
func (t *Talker) Reset(p Params) {
	t.params, t.dropped = p, p.dropped()
	for _, id := range t.seen {
		t.isSeen[id] = false
	}
	t.seen, t.tokens = t.seen[:0], 0
}

// Pick chooses the next token from logits [vocab], which it does not change, and
// remembers it. It draws from g unless the params are greedy. It fails, and remembers
// nothing, when a logit is NaN or +Inf and when no id can be chosen.
func (t *Talker) Pick(logits []float32, g Noise) (int, error) {
	id, err := t.pick(logits, g)
	if err != nil {
		return 0, fmt.Errorf("sampler: talker token %d: %w", t.tokens, err)
	}
	t.remember(id)
	return id, nil
}

func (t *Talker) pick(logits []float32, g Noise) (int, error) {
	c := &t.cand
	c.n = 0
	if err := checkLogits(logits, t.vocab); err != nil {
		return 0, err
	}
	copy(t.scores, logits)
	if err := t.penalise(); err != nil {
		return 0, err
	}
	if t.tokens < minTokens {
		t.scores[t.eos] = float32(math.Inf(-1))
	}
	codes := max(0, t.vocab-controlIDs)
	c.collect(t.scores, 0, codes)
	if t.eos >= codes {
		c.collect(t.scores, t.eos, t.eos+1)
	}
	if c.n == 0 {
		return 0, errNoCandidate
	}
	if t.params.Greedy() {
		return c.best(), nil
	}
	return c.sample(&t.params, t.dropped, g)
}

// penalise makes the ids chosen before less likely, each once however often it came.
func (t *Talker) penalise() error {
	penalty := t.params.RepetitionPenalty
	if penalty == 1 {
		return nil
	}
	for _, id := range t.seen {
		x := t.scores[id]
		if x < 0 {
			x *= penalty
		} else {
			x /= penalty
		}
		if x > math.MaxFloat32 {
			return fmt.Errorf("repetition_penalty %v turns the logit %v of id %d into +Inf", penalty, t.scores[id], id)
		}
		t.scores[id] = x
	}
	return nil
}

func (t *Talker) remember(id int) {
	t.tokens++
	if !t.isSeen[id] {
		t.isSeen[id] = true
		t.seen = append(t.seen, int32(id))
	}
}

// Scores sets dst [vocab] to the scores of the last pick after its processors, -Inf
// where an id could not be chosen. It is for tests and diagnosis.
func (t *Talker) Scores(dst []float32) { t.cand.lastScores(dst) }

// Probs sets dst [vocab] to the probabilities that belong to Scores.
func (t *Talker) Probs(dst []float32) { t.cand.lastProbs(dst) }
