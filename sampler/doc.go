// Package sampler decides which code comes next: it turns the logits of one row
// into one id, by the rules and in the order of the reference implementation.
//
// [Talker] chooses code 0 of a frame: repetition penalty over the codes of this
// request, minimum length, suppression of control ids, then temperature, top-k,
// top-p and the draw. [Residual] chooses codes 1 and up: temperature, top-k, top-p
// and the draw. Greedy picks stop before the temperature and take the largest score.
//
// A draw is argmax(p / e) with one e ~ Exp(1) for each id that survived, which picks
// id i with probability p[i]. The e come from a [Noise]: a [Generator] keyed by seed
// and segment, one for each request, which talker and predictor share; or, to follow
// a recorded run, a [Recorded].
//
// All arithmetic on scores and probabilities is float32, as in the reference; sums are
// taken in float64 in a fixed order. A pick allocates nothing. Samplers belong to one
// request and are not safe for concurrent use.
package sampler
