package synth

import (
	"math/rand/v2"
	"slices"
	"testing"
)

type sized int64

func (s sized) Bytes() int64 { return int64(s) }

// TestKept compares with a plain list: what was used last stays, within the bound, and a
// voice that is forgotten is gone with all that is of it.
func TestKept(t *testing.T) {
	type entry struct {
		key, voice byte
		size       int64
	}
	const most = 100
	rng := rand.New(rand.NewPCG(1, 1))
	c := kept[sized]{most: most}
	var plain []entry // the last used in front
	find := func(key byte) int { return slices.IndexFunc(plain, func(e entry) bool { return e.key == key }) }
	for range 5000 {
		key, voice := byte(rng.IntN(20)), byte(rng.IntN(4))
		switch rng.IntN(10) {
		case 0:
			c.forget(digest{voice})
			plain = slices.DeleteFunc(plain, func(e entry) bool { return e.voice == voice })
		case 1, 2, 3, 4:
			e := entry{key, voice, rng.Int64N(most + 10)}
			c.put(digest{key}, digest{voice}, sized(e.size))
			if find(key) >= 0 || e.size > most {
				break
			}
			plain = slices.Insert(plain, 0, e)
			for total(plain, func(e entry) int64 { return e.size }) > most {
				plain = plain[:len(plain)-1]
			}
		default:
			value, ok := c.get(digest{key})
			i := find(key)
			if ok != (i >= 0) || ok && int64(value) != plain[i].size {
				t.Fatalf("key %d: %v %v, wanted entry %d of %v", key, value, ok, i, plain)
			}
			if ok {
				e := plain[i]
				plain = slices.Insert(slices.Delete(plain, i, i+1), 0, e)
			}
		}
		if want := total(plain, func(e entry) int64 { return e.size }); c.bytes != want || len(c.entries) != len(plain) || c.recent.Len() != len(plain) {
			t.Fatalf("%d bytes in %d entries, wanted %d in %d", c.bytes, len(c.entries), want, len(plain))
		}
	}
}

func total[E any](list []E, of func(E) int64) (n int64) {
	for _, e := range list {
		n += of(e)
	}
	return n
}
