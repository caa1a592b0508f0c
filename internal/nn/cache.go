package nn

import "fmt"

// Cache holds the keys and values of one sequence for all layers of a Stack.
// With full attention it grows up to a fixed number of positions. With a window it
// is a sliding buffer of constant size: when its end is reached, the last window-1
// positions move to its front, so that keys stay contiguous and a sequence may go
// on for ever.
type Cache struct {
	stack    *Stack
	limit    int       // most positions that the buffer may hold
	capacity int       // positions that it holds now
	base     int       // position of the buffer's first entry
	next     int       // the position that must come next
	k, v     []float32 // [layers, kv heads, capacity, head dim]
}

// firstPositions is the room that a cache without a window begins with; it doubles
// when full. A sentence fits.
const firstPositions = 512

// NewCache returns an empty cache. Without a window, positions is the number of
// positions it can come to hold; with one, the largest number of rows that a
// single Forward appends to it.
func (s *Stack) NewCache(positions int) *Cache {
	c := &Cache{stack: s, limit: positions}
	if s.Window > 0 {
		// One window of slack makes the move rare: once in Window positions at most.
		c.limit = positions + 2*s.Window
		c.resize(c.limit)
	} else {
		c.resize(min(positions, firstPositions))
	}
	return c
}

// resize gives the buffer room for so many positions and keeps what it holds.
func (c *Cache) resize(capacity int) {
	s := c.stack
	old := *c
	n := s.Layers * s.KVHeads * capacity * s.HeadDim
	c.capacity, c.k, c.v = capacity, make([]float32, n), make([]float32, n)
	held := (old.next - old.base) * s.HeadDim
	if held == 0 {
		return
	}
	for layer := range s.Layers {
		for head := range s.KVHeads {
			k, v := c.head(layer, head)
			oldK, oldV := old.head(layer, head)
			copy(k, oldK[:held])
			copy(v, oldV[:held])
		}
	}
}

// Reset empties the cache.
func (c *Cache) Reset() { c.base, c.next = 0, 0 }

// Reuse empties the cache for another sequence, of up to so many positions. It needs
// full attention: the buffer of a window is made for its limit.
func (c *Cache) Reuse(positions int) {
	if c.stack.Window > 0 {
		panic("nn: reuse of a cache with a window")
	}
	c.Reset()
	c.limit = positions
}

// Len returns the number of positions that were appended since Reset.
func (c *Cache) Len() int { return c.next }

// Limit returns how many positions the cache can come to hold.
func (c *Cache) Limit() int { return c.limit }

// Bytes returns the memory of keys and values.
func (c *Cache) Bytes() int64 { return int64(len(c.k)+len(c.v)) * 4 }

// head returns keys and values [capacity, head dim] of one head of one layer.
func (c *Cache) head(layer, head int) (k, v []float32) {
	n := c.capacity * c.stack.HeadDim
	from := (layer*c.stack.KVHeads + head) * n
	return c.k[from : from+n], c.v[from : from+n]
}

// extend makes room for n positions after the last one and returns the first.
func (c *Cache) extend(n int) (pos int) {
	if need := c.next + n - c.base; need > c.capacity {
		switch {
		case c.stack.Window > 0:
			c.slide(n)
		case need > c.limit:
			panic(fmt.Sprintf("nn: %d positions in a cache for %d", need, c.limit))
		default:
			c.resize(min(c.limit, max(2*c.capacity, need)))
		}
	}
	c.next += n
	return c.next - n
}

// Prefix is a copy of the first positions of a cache.
type Prefix struct {
	positions int
	k, v      []float32 // [layers, kv heads, positions, head dim]
}

// Prefix copies the positions that the cache holds. It needs full attention: with a
// window the first positions may be gone.
func (c *Cache) Prefix() *Prefix {
	n := c.prefixFloats()
	p := &Prefix{positions: c.next, k: make([]float32, 0, n), v: make([]float32, 0, n)}
	c.eachHead(func(k, v []float32) {
		p.k = append(p.k, k[:c.next*c.stack.HeadDim]...)
		p.v = append(p.v, v[:c.next*c.stack.HeadDim]...)
	})
	return p
}

// PrefixBytes returns the memory that Prefix would take.
func (c *Cache) PrefixBytes() int64 { return 2 * 4 * int64(c.prefixFloats()) }

// prefixFloats is the number of keys, and of values, of the positions so far.
func (c *Cache) prefixFloats() int {
	return c.stack.Layers * c.stack.KVHeads * c.next * c.stack.HeadDim
}

// Bytes returns the memory of a prefix.
func (p *Prefix) Bytes() int64 { return int64(len(p.k)+len(p.v)) * 4 }

// Load makes the cache that of a sequence which begins with a prefix.
func (c *Cache) Load(p *Prefix) {
	c.Reset()
	c.extend(p.positions)
	n, at := p.positions*c.stack.HeadDim, 0
	c.eachHead(func(k, v []float32) {
		copy(k, p.k[at:at+n])
		copy(v, p.v[at:at+n])
		at += n
	})
}

func (c *Cache) eachHead(visit func(k, v []float32)) {
	if c.stack.Window > 0 {
		panic("nn: prefix of a cache with a window")
	}
	for layer := range c.stack.Layers {
		for head := range c.stack.KVHeads {
			visit(c.head(layer, head))
		}
	}
}

// slide moves the window-1 positions that a next row still sees to the front.
func (c *Cache) slide(n int) {
	s := c.stack
	keep := min(s.Window-1, c.next-c.base)
	if keep+n > c.capacity {
		panic(fmt.Sprintf("nn: %d rows at once in a cache for %d", n, c.limit-2*s.Window))
	}
	drop := c.next - c.base - keep
	for layer := range s.Layers {
		for head := range s.KVHeads {
			k, v := c.head(layer, head)
			copy(k, k[drop*s.HeadDim:(drop+keep)*s.HeadDim])
			copy(v, v[drop*s.HeadDim:(drop+keep)*s.HeadDim])
		}
	}
	c.base += drop
}
