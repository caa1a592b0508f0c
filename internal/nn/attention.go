package nn

import (
	"math"

	"github.com/mynah-tts/mynah/internal/kernel"
	"github.com/mynah-tts/mynah/internal/team"
)

// attentionJob is grouped-query attention of one layer. Workers share out the
// key-value heads: a head's keys, its queries and their scores touch no other
// head, so the whole of it is one round of the team.
type attentionJob struct {
	stack *Stack
	l     *Layer
	sc    *Scratch
	layer int
	rows  []Row
}

// macs estimates the job's size.
func (j *attentionJob) macs() int {
	s := j.stack
	keys := 0
	for r := range j.rows {
		keys += min(j.sc.pos[r]+1, j.rows[r].Cache.capacity)
	}
	return 2 * keys * s.Heads * s.HeadDim
}

func (j *attentionJob) Part(worker, workers int) {
	lo, hi := team.Split(j.stack.KVHeads, 1, worker, workers)
	for head := lo; head < hi; head++ {
		for r := range j.rows {
			j.store(r, head)
		}
		for r := range j.rows {
			j.attend(r, head, j.sc.scores[worker])
		}
	}
}

// store normalises and rotates the key of a row and puts key and value into the
// row's cache.
func (j *attentionJob) store(r, head int) {
	s, d := j.stack, j.stack.HeadDim
	c := j.rows[r].Cache
	pos := j.sc.pos[r]
	at := (r*s.KVHeads + head) * d
	keys, values := c.head(j.layer, head)
	slot := (pos - c.base) * d
	key := keys[slot : slot+d]
	copy(key, j.sc.k[at:at+d])
	copy(values[slot:slot+d], j.sc.v[at:at+d])
	if j.l.KNorm != nil {
		kernel.RMSNormF32(key, key, j.l.KNorm, s.Eps)
	}
	cos, sin := s.rope.at(pos)
	kernel.RotateF32(key, cos, sin)
}

// attend computes the outputs of all query heads that share a key-value head, for
// one row: softmax(q k^T / sqrt(d)) v over the positions that the row sees.
func (j *attentionJob) attend(r, head int, scores []float32) {
	s, d := j.stack, j.stack.HeadDim
	c := j.rows[r].Cache
	pos := j.sc.pos[r]
	group := s.Heads / s.KVHeads
	first := 0
	if s.Window > 0 {
		first = max(0, pos-s.Window+1)
	}
	n := pos + 1 - first
	from := (r*s.Heads + head*group) * d
	q := j.sc.q[from : from+group*d] // [group, d]
	cos, sin := s.rope.at(pos)
	scale := float32(1 / math.Sqrt(float64(d)))
	for g := range group {
		query := q[g*d : (g+1)*d]
		if j.l.QNorm != nil {
			kernel.RMSNormF32(query, query, j.l.QNorm, s.Eps)
		}
		kernel.RotateF32(query, cos, sin)
	}
	keys, values := c.head(j.layer, head)
	keys = keys[(first-c.base)*d : (pos+1-c.base)*d]
	values = values[(first-c.base)*d : (pos+1-c.base)*d]
	kernel.MatMulF32(scores, n, q, d, keys, group, d, n)
	for g := range group {
		p := scores[g*n : (g+1)*n]
		for i := range p {
			p[i] *= scale
		}
		kernel.SoftmaxF32(p)
		kernel.WeightedSumF32(j.sc.attn[from+g*d:from+(g+1)*d], p, values, d)
	}
}
