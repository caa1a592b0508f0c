package synth

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
)

// digest is a key of what is kept: SHA-256 of exactly what it depends on.
type digest = [sha256.Size]byte

// kept keeps what computing made of voices, found by a digest of what it was made from,
// within a bound of memory: what was not used for longest goes first. It belongs to the
// engine's goroutine.
type kept[V interface{ Bytes() int64 }] struct {
	most    int64 // bytes
	entries map[digest]*list.Element
	recent  list.List // of *keptEntry[V], the last used in front
	bytes   int64
}

type keptEntry[V any] struct {
	key, voice digest
	value      V
}

// get returns what is kept under a key.
func (c *kept[V]) get(key digest) (value V, ok bool) {
	e, ok := c.entries[key]
	if !ok {
		return value, false
	}
	c.recent.MoveToFront(e)
	return e.Value.(*keptEntry[V]).value, true
}

// put keeps a value that belongs to a voice and drops others while there is no room. One
// that is larger than all the room is not kept.
func (c *kept[V]) put(key, voice digest, value V) {
	if value.Bytes() > c.most || c.entries[key] != nil {
		return
	}
	if c.entries == nil {
		c.entries = map[digest]*list.Element{}
	}
	c.entries[key] = c.recent.PushFront(&keptEntry[V]{key, voice, value})
	c.bytes += value.Bytes()
	for c.bytes > c.most {
		c.drop(c.recent.Back())
	}
}

// drop forgets an entry.
func (c *kept[V]) drop(e *list.Element) {
	entry := c.recent.Remove(e).(*keptEntry[V])
	delete(c.entries, entry.key)
	c.bytes -= entry.value.Bytes()
}

// forget drops all that belongs to a voice.
func (c *kept[V]) forget(voice digest) {
	for e := c.recent.Front(); e != nil; {
		next := e.Next()
		if e.Value.(*keptEntry[V]).voice == voice {
			c.drop(e)
		}
		e = next
	}
}

// digestOf is the digest of values.
func digestOf[T float32 | int32](values []T) digest {
	bits, err := binary.Append(make([]byte, 0, 4*len(values)), binary.LittleEndian, values)
	if err != nil {
		panic(err) // the values have a size
	}
	return sha256.Sum256(bits)
}

// voiceKey stands for a reference, whatever its transcript. Without a vector it is that of
// all presets.
func voiceKey(vector []float32, codes []int32) digest {
	v, c := digestOf(vector), digestOf(codes)
	return sha256.Sum256(append(v[:], c[:]...))
}

// forget has the engine drop what it keeps of a voice.
func (e *engine) forget(voice digest) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !e.closed {
		e.forgotten = append(e.forgotten, voice)
		e.wake()
	}
}

// forgetSome drops what is kept of voices that were forgotten. Requests of theirs that were
// admitted before keep nothing any more.
func (e *engine) forgetSome() {
	e.mu.Lock()
	voices := e.forgotten
	e.forgotten = nil
	queue := e.queue
	for _, voice := range voices {
		for _, s := range queue {
			s.plan.unkept = s.plan.unkept || s.plan.voiceKey == voice
		}
	}
	e.mu.Unlock()
	if len(voices) == 0 {
		return
	}
	for _, voice := range voices {
		for _, u := range e.utterances {
			u.plan.unkept = u.plan.unkept || u.plan.voiceKey == voice
		}
		e.prefixes.forget(voice)
		e.voices.forget(voice)
	}
	e.count()
}

// count tells Load what is kept.
func (e *engine) count() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kept = e.prefixes.bytes + e.voices.bytes
}
