package synth

import (
	"container/list"
	"crypto/sha256"
	"encoding/binary"
	"math"

	"github.com/mynah-tts/mynah/internal/nn"
)

// prefixBytes bounds the memory of the prefix cache. A prefix of the 0.6B takes two
// megabytes without an instruction.
const prefixBytes = 64 << 20

// prefixCache keeps the talker's keys and values of the prompt rows before the text:
// they are the same in all requests of one voice, language and instruction. It is
// guarded by the model's lock.
type prefixCache struct {
	entries map[[sha256.Size]byte]*list.Element
	recent  list.List // of *prefixEntry, the last used in front
	bytes   int64
}

type prefixEntry struct {
	key    [sha256.Size]byte
	prefix *nn.Prefix
}

// prefixKey is the digest of prompt rows: exactly what the keys and values depend on.
func prefixKey(rows []float32) [sha256.Size]byte {
	bits := make([]byte, 0, 4*len(rows))
	for _, v := range rows {
		bits = binary.LittleEndian.AppendUint32(bits, math.Float32bits(v))
	}
	return sha256.Sum256(bits)
}

// get returns the prefix of a key, or nil.
func (c *prefixCache) get(key [sha256.Size]byte) *nn.Prefix {
	e, ok := c.entries[key]
	if !ok {
		return nil
	}
	c.recent.MoveToFront(e)
	return e.Value.(*prefixEntry).prefix
}

// put keeps a prefix and drops those that were not used for longest while there is
// no room. One that is larger than all the room is not kept.
func (c *prefixCache) put(key [sha256.Size]byte, p *nn.Prefix) {
	if p.Bytes() > prefixBytes || c.entries[key] != nil {
		return
	}
	if c.entries == nil {
		c.entries = map[[sha256.Size]byte]*list.Element{}
	}
	c.entries[key] = c.recent.PushFront(&prefixEntry{key, p})
	c.bytes += p.Bytes()
	for c.bytes > prefixBytes {
		last := c.recent.Back()
		entry := c.recent.Remove(last).(*prefixEntry)
		delete(c.entries, entry.key)
		c.bytes -= entry.prefix.Bytes()
	}
}
