package tokenizer

import (
	"hash/maphash"
	"math"
	"strings"
	"sync"
	"sync/atomic"
)

// Byte pair merging of one word in O(n log n): the symbols are a doubly linked
// list, the pairs that can merge a heap ordered by rank, then by place.

const noRank = math.MaxUint32

// merger is the scratch of one word. All slices have one entry per byte of it.
type merger struct {
	id   []uint32 // token of the symbol that begins here
	prev []int32
	next []int32  // -1 at the end
	rank []uint32 // of the pair that begins here; noRank if there is none or the symbol is gone
	heap []uint64 // rank<<32 | place; entries that rank disagrees with are stale
}

var mergers = sync.Pool{New: func() any { return new(merger) }}

// appendWord appends the ids of one word.
func (t *Tokenizer) appendWord(dst []int, word string) []int {
	if len(word) == 1 {
		return append(dst, int(t.byteID[word[0]]))
	}
	cached := len(word) <= maxCachedBytes
	var slot *atomic.Pointer[cacheEntry]
	if cached {
		slot = t.cache.slot(word)
		if e := slot.Load(); e != nil && e.word == word {
			return append(dst, e.ids...)
		}
	}
	m := mergers.Get().(*merger)
	first := len(dst)
	dst = m.merge(t, dst, word)
	if len(word) <= maxPooledSymbols {
		mergers.Put(m)
	}
	if cached {
		slot.Store(&cacheEntry{strings.Clone(word), append([]int(nil), dst[first:]...)})
	}
	return dst
}

func (m *merger) merge(t *Tokenizer, dst []int, word string) []int {
	m.init(t, word)
	for len(m.heap) > 0 {
		top := m.pop()
		rank, i := uint32(top>>32), int32(uint32(top))
		if m.rank[i] != rank {
			continue
		}
		gone := m.next[i]
		m.id[i] = t.made[rank]
		m.next[i] = m.next[gone]
		m.rank[gone] = noRank
		if n := m.next[i]; n >= 0 {
			m.prev[n] = i
		}
		m.pair(t, i)
		if p := m.prev[i]; p >= 0 {
			m.pair(t, p)
		}
	}
	for i := int32(0); i >= 0; i = m.next[i] {
		dst = append(dst, int(m.id[i]))
	}
	return dst
}

func (m *merger) init(t *Tokenizer, word string) {
	n := len(word)
	if cap(m.id) < n {
		*m = merger{make([]uint32, n), make([]int32, n), make([]int32, n), make([]uint32, n), make([]uint64, 0, n)}
	}
	m.id, m.prev, m.next, m.rank, m.heap = m.id[:n], m.prev[:n], m.next[:n], m.rank[:n], m.heap[:0]
	for i := range n {
		m.id[i] = t.byteID[word[i]]
		m.prev[i], m.next[i] = int32(i)-1, int32(i)+1
	}
	m.next[n-1] = -1
	for i := range n {
		m.pair(t, int32(i))
	}
}

// pair looks up the pair that begins at i and offers it for merging.
func (m *merger) pair(t *Tokenizer, i int32) {
	m.rank[i] = noRank
	j := m.next[i]
	if j < 0 {
		return
	}
	if rank, ok := t.rank[pairKey(m.id[i], m.id[j])]; ok {
		m.rank[i] = rank
		m.push(uint64(rank)<<32 | uint64(i))
	}
}

func pairKey(a, b uint32) uint64 { return uint64(a)<<32 | uint64(b) }

func (m *merger) push(x uint64) {
	h := append(m.heap, x)
	i := len(h) - 1
	for i > 0 {
		up := (i - 1) / 2
		if h[up] <= x {
			break
		}
		h[i] = h[up]
		i = up
	}
	h[i] = x
	m.heap = h
}

func (m *merger) pop() uint64 {
	h := m.heap
	top, x := h[0], h[len(h)-1]
	h = h[:len(h)-1]
	m.heap = h
	i := 0
	for {
		down := 2*i + 1
		if down >= len(h) {
			break
		}
		if down+1 < len(h) && h[down+1] < h[down] {
			down++
		}
		if x <= h[down] {
			break
		}
		h[i] = h[down]
		i = down
	}
	if len(h) > 0 {
		h[i] = x
	}
	return top
}

// wordCache remembers the ids of short words. A word has one slot; a later word of
// the same slot takes it over. So it is bounded and needs no lock.
type wordCache struct {
	seed  maphash.Seed
	slots [cacheSlots]atomic.Pointer[cacheEntry]
}

type cacheEntry struct {
	word string
	ids  []int
}

func (c *wordCache) slot(word string) *atomic.Pointer[cacheEntry] {
	return &c.slots[maphash.String(c.seed, word)%cacheSlots]
}
