package mp3

// bitWriter appends bits to bytes, first bit highest.
type bitWriter struct {
	buf   []byte // never grows beyond its capacity
	acc   uint64
	count int // bits in acc, below 8 between calls
}

// put appends the n low bits of v, n up to 32; higher bits of v must be 0.
func (w *bitWriter) put(v uint32, n int) {
	w.acc = w.acc<<n | uint64(v)
	w.count += n
	for w.count >= 8 {
		w.count -= 8
		w.buf = append(w.buf, byte(w.acc>>w.count))
	}
}

// align fills the last byte with zeros.
func (w *bitWriter) align() {
	if w.count > 0 {
		w.put(0, 8-w.count)
	}
}
