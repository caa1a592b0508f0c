package synth

import "testing"

// TestPoolCountsCaches: places that are not in use are counted with all of their caches, and
// not kept beyond the bound.
func TestPoolCountsCaches(t *testing.T) {
	m := tiny(t, CustomVoice, 1)
	var p pool
	one, two := p.take(m, 100), p.take(m, 100)
	size := one.talker.Bytes() + one.codec.Bytes()
	if one.codec.Bytes() == 0 || one.talker.Bytes() == 0 {
		t.Fatal("a cache takes nothing: the test is void")
	}
	p.give(one)
	if p.bytes != size {
		t.Errorf("a place counts as %d bytes, its caches take %d", p.bytes, size)
	}
	p.bytes += idleBytes - 2*size + 1
	p.give(two)
	if len(p.idle) != 1 {
		t.Error("a place is kept beyond the bound")
	}
	p.bytes--
	p.give(two)
	if len(p.idle) != 2 || p.bytes != idleBytes {
		t.Errorf("%d places of %d bytes are kept, %d would be in bounds", len(p.idle), p.bytes, idleBytes)
	}
	p.take(m, 100)
	p.take(m, 100)
	if want := int64(idleBytes) - 2*size; p.bytes != want {
		t.Errorf("%d bytes once both are taken, want %d", p.bytes, want)
	}
}
