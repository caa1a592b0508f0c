package sampler

import "fmt"

// Residual chooses codes 1 and up of a frame. It has no memory and no control ids:
// any id of the vocabulary is a code.
type Residual struct {
	params  Params
	dropped float32 // 1 - top_p
	vocab   int
	noise   Noise
	cand    candidates
}

// NewResidual returns a sampler for logits [vocab] that draws from noise. The params
// must be valid; their repetition penalty has no effect here. The noise is that of the
// request, the same which its Talker draws from, and is bound here because the code
// predictor calls Pick through an interface that knows no noise. It may be nil if the
// params are greedy.
func NewResidual(p Params, vocab int, noise Noise) *Residual {
	if vocab < 1 {
		panic(fmt.Sprintf("sampler: NewResidual: vocabulary %d", vocab))
	}
	r := &Residual{vocab: vocab, cand: newCandidates(vocab)}
	r.Reset(p, noise)
	return r
}

// Reset begins another request.
func (r *Residual) Reset(p Params, noise Noise) {
	r.params, r.dropped, r.noise = p, p.dropped(), noise
}

// Pick chooses the code of group (1 and up, for messages only) from logits [vocab],
// which it does not change. It fails when a logit is NaN or +Inf and when all are -Inf.
func (r *Residual) Pick(logits []float32, group int) (int, error) {
	id, err := r.pick(logits)
	if err != nil {
		return 0, fmt.Errorf("sampler: residual group %d: %w", group, err)
	}
	return id, nil
}

func (r *Residual) pick(logits []float32) (int, error) {
	c := &r.cand
	c.n = 0
	if err := checkLogits(logits, r.vocab); err != nil {
		return 0, err
	}
	c.collect(logits, 0, r.vocab)
	if c.n == 0 {
		return 0, errNoCandidate
	}
	if r.params.Greedy() {
		return c.best(), nil
	}
	return c.sample(&r.params, r.dropped, r.noise)
}

// Scores sets dst [vocab] to the scores of the last pick after its processors, -Inf
// where an id could not be chosen. It is for tests and diagnosis.
func (r *Residual) Scores(dst []float32) { r.cand.lastScores(dst) }

// Probs sets dst [vocab] to the probabilities that belong to Scores.
func (r *Residual) Probs(dst []float32) { r.cand.lastProbs(dst) }
