package nn

// Tail is a copy of the positions of a cache with a window that a next row still sees.
type Tail struct {
	base, next int
	k, v       []float32 // [layers, kv heads, next-base, head dim]
}

// Tail copies what the next row sees. It needs a window: without one use Prefix.
func (c *Cache) Tail() *Tail {
	s := c.stack
	if s.Window == 0 {
		panic("nn: tail of a cache without a window")
	}
	t := &Tail{base: max(c.base, c.next-(s.Window-1)), next: c.next}
	from, to := (t.base-c.base)*s.HeadDim, (t.next-c.base)*s.HeadDim
	n := s.Layers * s.KVHeads * (to - from)
	t.k, t.v = make([]float32, 0, n), make([]float32, 0, n)
	for layer := range s.Layers {
		for head := range s.KVHeads {
			k, v := c.head(layer, head)
			t.k, t.v = append(t.k, k[from:to]...), append(t.v, v[from:to]...)
		}
	}
	return t
}

// LoadTail makes the cache that of the sequence which a tail was copied from. Where a
// position stands in the buffer changes no result.
func (c *Cache) LoadTail(t *Tail) {
	s := c.stack
	if s.Window == 0 || t.next-t.base > c.capacity {
		panic("nn: tail of another stack")
	}
	c.base, c.next = t.base, t.next
	n, at := (t.next-t.base)*s.HeadDim, 0
	for layer := range s.Layers {
		for head := range s.KVHeads {
			k, v := c.head(layer, head)
			copy(k, t.k[at:at+n])
			copy(v, t.v[at:at+n])
			at += n
		}
	}
}

// Bytes returns the memory of a tail.
func (t *Tail) Bytes() int64 { return int64(len(t.k)+len(t.v)) * 4 }
