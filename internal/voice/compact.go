package voice

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"sync"
)

// A compact file holds another file byte for byte, in about half of its size: a checkpoint
// whose matrices of bfloat16 were rounded so that each of their rows is a row of int8 times a
// power of two. tools/voice/compact.py writes it. All numbers are little-endian:
//
//	16 bytes     "mynah compact 1\n"
//	uint32       number of pieces
//	[n, 3]uint32 of each piece: kind, rows, width
//	payloads     of the pieces in their order, up to the end of the file
//
// The file that it holds is what the pieces expand to, one behind the other:
//
//	kind      expands to                          payload
//	verbatim  rows * width bytes                  the same bytes
//	zeros     rows * width bytes of zero          none
//	scaled    [rows, width] bfloat16, q[i,j]*2^e[i]   int8 e[rows], int8 q[rows, width]
const (
	magic      = "mynah compact 1\n"
	pieceBytes = 12 // of a piece's description
)

const (
	verbatim = iota
	zeros
	scaled
	kinds
)

const (
	// maxPieces bounds the table; a checkpoint of ours has some hundreds.
	maxPieces = 1 << 16
	// maxExpanded bounds what a compact file expands to, so that no header decides how much
	// memory is taken. The voice in the program may have 20 MB, which is 40 MB expanded.
	maxExpanded = 64 << 20 // bytes
	// leastExponent and largestExponent keep every q*2^e a normal bfloat16 for q in -128..127.
	leastExponent, largestExponent = -126, 120
	// rowBuffer is how much of a row is read at once; the longest of ours has 1,536.
	rowBuffer = 4096 // bytes
	// worthSplitting is the least read that two goroutines share: below a millisecond.
	worthSplitting = 2 << 20 // bytes
)

// piece is one piece, with its places.
type piece struct {
	kind        uint32
	rows, width int64
	from        int64 // of its payload in the compact file
	at          int64 // in the expanded file
}

// elements is rows * width, in bytes or in bfloat16.
func (p *piece) elements() int64 { return p.rows * p.width }

// expanded returns the bytes that the piece expands to.
func (p *piece) expanded() int64 {
	if p.kind == scaled {
		return 2 * p.elements()
	}
	return p.elements()
}

// stored returns the bytes of the payload.
func (p *piece) stored() int64 {
	switch p.kind {
	case zeros:
		return 0
	case scaled:
		return p.rows + p.elements()
	}
	return p.elements()
}

// compact is an opened compact file; it reads as the file that it holds. Nothing is kept
// expanded: a read expands straight into the caller's buffer. Several goroutines may read.
type compact struct {
	r      io.ReaderAt
	pieces []piece
	size   int64 // of the file that it holds
}

// openCompact reads the table of a compact file of size bytes and checks that its payloads
// fill the file exactly.
func openCompact(r io.ReaderAt, size int64) (*compact, error) {
	head := make([]byte, len(magic)+4)
	if size < int64(len(head)) {
		return nil, fmt.Errorf("compact form: file of %d bytes, the shortest has %d", size, len(head))
	}
	if err := readAt(r, head, 0); err != nil {
		return nil, err
	}
	if !bytes.HasPrefix(head, []byte(magic)) {
		return nil, fmt.Errorf("compact form: begins with %q, wanted %q", head[:len(magic)], magic)
	}
	count := int64(binary.LittleEndian.Uint32(head[len(magic):]))
	if room := (size - int64(len(head))) / pieceBytes; count > min(room, maxPieces) {
		return nil, fmt.Errorf("compact form: %d pieces, allowed are 0 to %d in a file of %d bytes", count, min(room, maxPieces), size)
	}
	table := make([]byte, count*pieceBytes)
	if err := readAt(r, table, int64(len(head))); err != nil {
		return nil, err
	}
	c := &compact{r: r, pieces: make([]piece, count)}
	end, err := c.layOut(table, int64(len(head)+len(table)))
	if err != nil {
		return nil, err
	}
	if end != size {
		return nil, fmt.Errorf("compact form: file of %d bytes, its pieces end at %d", size, end)
	}
	return c, nil
}

// layOut reads the pieces from the table and places them; the payloads begin at from. It
// returns where the last one ends.
func (c *compact) layOut(table []byte, from int64) (end int64, err error) {
	for i := range c.pieces {
		row := table[i*pieceBytes:]
		p := piece{
			kind: binary.LittleEndian.Uint32(row), rows: int64(binary.LittleEndian.Uint32(row[4:])), width: int64(binary.LittleEndian.Uint32(row[8:])),
			from: from, at: c.size,
		}
		switch {
		case p.kind >= kinds:
			return 0, fmt.Errorf("compact form: piece %d is of kind %d, allowed are 0 to %d", i, p.kind, kinds-1)
		case p.rows == 0 || p.width == 0:
			return 0, fmt.Errorf("compact form: piece %d is %d by %d, allowed are 1 by 1 and up", i, p.rows, p.width)
		case p.width > maxExpanded/p.rows || p.expanded() > maxExpanded-c.size:
			return 0, fmt.Errorf("compact form: piece %d of %d by %d makes the file larger than the %d bytes that are allowed", i, p.rows, p.width, maxExpanded)
		}
		c.pieces[i] = p
		c.size += p.expanded()
		from += p.stored()
	}
	return from, nil
}

// ReadAt reads from the file that the compact one holds.
func (c *compact) ReadAt(p []byte, off int64) (int, error) {
	if off < 0 {
		return 0, fmt.Errorf("compact form: read at %d, allowed are 0 and up", off)
	}
	if off >= c.size {
		return 0, io.EOF
	}
	var end error
	if rest := c.size - off; int64(len(p)) > rest {
		p, end = p[:rest], io.EOF
	}
	if err := c.split(p, off); err != nil {
		return 0, err
	}
	return len(p), end
}

// split expands a long read with two goroutines.
func (c *compact) split(p []byte, off int64) error {
	if len(p) < worthSplitting {
		return c.expand(p, off)
	}
	half := len(p) / 2
	var first, second error
	var wg sync.WaitGroup
	wg.Go(func() { second = c.expand(p[half:], off+int64(half)) })
	first = c.expand(p[:half], off)
	wg.Wait()
	return cmp.Or(first, second)
}

// expand fills p from offset off, both within the file.
func (c *compact) expand(p []byte, off int64) error {
	i, found := slices.BinarySearchFunc(c.pieces, off, func(p piece, off int64) int { return cmp.Compare(p.at, off) })
	if !found {
		i-- // the piece that begins before
	}
	buf := make([]byte, min(len(p), rowBuffer))
	for ; len(p) > 0; i++ {
		piece := &c.pieces[i]
		within := off - piece.at
		n := int(min(int64(len(p)), piece.expanded()-within))
		var err error
		switch piece.kind {
		case verbatim:
			err = readAt(c.r, p[:n], piece.from+within)
		case zeros:
			clear(p[:n])
		case scaled:
			err = c.scale(p[:n], i, within, buf)
		}
		if err != nil {
			return err
		}
		p, off = p[n:], off+int64(n)
	}
	return nil
}

// scale fills dst from byte `at` of what piece i, a scaled one, expands to. dst may begin and
// end in the middle of a row or of an element.
func (c *compact) scale(dst []byte, i int, at int64, buf []byte) error {
	p, tables := &c.pieces[i], products()
	var pair [2]byte
	for len(dst) > 0 {
		row, column := at/2/p.width, at/2%p.width
		if err := readAt(c.r, buf[:1], p.from+row); err != nil {
			return err
		}
		e := int8(buf[0])
		if e < leastExponent || e > largestExponent {
			return fmt.Errorf("compact form: row %d of piece %d has the exponent %d, allowed are %d to %d", row, i, e, leastExponent, largestExponent)
		}
		out := dst
		if at%2 == 1 || len(dst) == 1 { // one byte of an element
			out = pair[:]
		}
		n := int(min(p.width-column, int64(len(out)/2), int64(len(buf))))
		if err := readAt(c.r, buf[:n], p.from+p.rows+row*p.width+column); err != nil {
			return err
		}
		widen(out[:2*n], buf[:n], &tables[int(e)-leastExponent])
		n *= 2
		if at%2 == 1 || len(dst) == 1 {
			dst[0], n = pair[at%2], 1
		}
		dst, at = dst[n:], at+int64(n)
	}
	return nil
}

// widen writes the numbers of table for q [n] int8 as dst [n] bfloat16, eight at a time: it is
// what opening the voice takes longest for.
func widen(dst, q []byte, table *[256]uint16) {
	for len(q) >= 8 && len(dst) >= 16 {
		v := binary.LittleEndian.Uint64(q)
		low := uint64(table[v&255]) | uint64(table[v>>8&255])<<16 | uint64(table[v>>16&255])<<32 | uint64(table[v>>24&255])<<48
		high := uint64(table[v>>32&255]) | uint64(table[v>>40&255])<<16 | uint64(table[v>>48&255])<<32 | uint64(table[v>>56])<<48
		binary.LittleEndian.PutUint64(dst, low)
		binary.LittleEndian.PutUint64(dst[8:], high)
		q, dst = q[8:], dst[16:]
	}
	for i, b := range q {
		binary.LittleEndian.PutUint16(dst[2*i:], table[b])
	}
}

// products returns q*2^e as bfloat16, [e - leastExponent][q as a byte]. The upper half of the
// float32 is all of it: eight bits times a power of two.
var products = sync.OnceValue(func() *[largestExponent - leastExponent + 1][256]uint16 {
	var p [largestExponent - leastExponent + 1][256]uint16
	for i := range p {
		scale := math.Float32frombits(uint32(i+leastExponent+127) << 23)
		for q := range p[i] {
			p[i][q] = uint16(math.Float32bits(float32(int8(q))*scale) >> 16)
		}
	}
	return &p
})

// readAt fills p from the compact file.
func readAt(r io.ReaderAt, p []byte, off int64) error {
	n, err := r.ReadAt(p, off)
	if n == len(p) {
		return nil
	}
	if err == nil || errors.Is(err, io.EOF) {
		err = io.ErrUnexpectedEOF
	}
	return fmt.Errorf("compact form: read at %d: %w", off, err)
}
