package nn

// Cost is the work of a computation as far as its weights go, which is what its
// speed is judged by: bytes of weights that are read, and multiply-adds by weights.
type Cost struct{ Bytes, MACs int64 }

// Add returns the sum of two costs.
func (c Cost) Add(d Cost) Cost { return Cost{c.Bytes + d.Bytes, c.MACs + d.MACs} }

// Cost is that of so many rows at once, which read the weights once, in the form
// that the weights have now.
func (l *Linear) Cost(rows int) Cost {
	n := len(l.f32)*4 + len(l.bf16)*2 + len(l.bias)*4
	if l.int8 != nil {
		n += len(l.int8.Codes) + len(l.int8.Scale)*4 + len(l.int8.Sum)*4
	}
	if l.int4 != nil {
		n += len(l.int4.Codes)*4 + len(l.int4.Scale)*4 + len(l.int4.Zero)
	}
	return Cost{Bytes: int64(n), MACs: int64(rows) * int64(l.In) * int64(l.Out)}
}

// Cost is that of so many rows in one Forward, without attention.
func (s *Stack) Cost(rows int) (c Cost) {
	for _, l := range s.Linears() {
		c = c.Add(l.Cost(rows))
	}
	return c
}
