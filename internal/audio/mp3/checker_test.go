package mp3

import (
	"fmt"
	"testing"
)

// checkStream walks a stream as a strict decoder would: headers, sizes, the reservoir,
// side information, and every Huffman word. It returns the number of frames.
func checkStream(t testing.TB, stream []byte, o Options) int {
	t.Helper()
	c := &checker{o: o}
	c.format, _, _ = resolve(o)
	for at := 0; at < len(stream); c.frames++ {
		size, err := c.frame(stream[at:])
		if err != nil {
			t.Fatalf("%v: frame %d at byte %d: %v", o, c.frames, at, err)
		}
		at += size
	}
	if c.bytes*8*int64(o.SampleRate) > int64(c.frames)*int64(o.Bitrate)*int64(granuleLines*c.format.granules) {
		t.Fatalf("%v: %d bytes in %d frames exceed the bit rate", o, c.bytes, c.frames)
	}
	return c.frames
}

type checker struct {
	o      Options
	format *format
	frames int
	bytes  int64
	main   []byte // main data of all frames
	begin  int    // of main data that no granule has used
}

// reader reads bits, and 0 past the end.
type reader struct {
	bytes []byte
	at    int
}

func (r *reader) get(n int) int {
	v := 0
	for range n {
		v <<= 1
		if r.at/8 < len(r.bytes) {
			v |= int(r.bytes[r.at/8]>>(7-r.at%8)) & 1
		}
		r.at++
	}
	return v
}

// side is a granule's side information.
type side struct {
	size, pairs, gain, code, kind int
	table                         [3]int
	count0, count1                int
	coarse, quadTable             int
}

// frame checks one frame and returns its length.
func (c *checker) frame(b []byte) (int, error) {
	r := &reader{bytes: b}
	if got := r.get(11); got != 0x7ff {
		return 0, fmt.Errorf("sync %#x", got)
	}
	if v, layer, noCRC := r.get(2), r.get(2), r.get(1); uint32(v) != c.format.version || layer != 1 || noCRC != 1 {
		return 0, fmt.Errorf("version %d, layer %d, protection %d", v, layer, noCRC)
	}
	index, rate, padding := r.get(4), r.get(2), r.get(1)
	if index < 1 || index > 14 || c.format.bitrates()[index-1] != c.o.Bitrate || uint32(rate) != c.format.rateIndex {
		return 0, fmt.Errorf("bit rate %d, rate %d", index, rate)
	}
	if got := r.get(9); got != 3<<6|1<<2 {
		return 0, fmt.Errorf("last bits of the header %#x", got)
	}
	size := granuleLines*c.format.granules/8*c.o.Bitrate/c.o.SampleRate + padding
	if len(b) < size {
		return 0, fmt.Errorf("%d bytes of %d", len(b), size)
	}
	c.bytes += int64(size)
	sides, shared, begin := c.sides(r)
	head := 4 + c.format.sideBytes()
	if r.at != 8*head {
		return 0, fmt.Errorf("%d bits of side information", r.at-32)
	}
	start := len(c.main) - begin
	if start < c.begin {
		return 0, fmt.Errorf("main data begins %d bytes earlier, of which %d are used", begin, c.begin-start)
	}
	c.main = append(c.main, b[head:size]...)
	m := &reader{bytes: c.main, at: 8 * start}
	for i := range sides {
		if err := c.granule(m, &sides[i], i, shared); err != nil {
			return 0, fmt.Errorf("granule %d: %w", i, err)
		}
	}
	c.begin = (m.at + 7) / 8
	return size, nil
}

func (c *checker) sides(r *reader) (sides []side, shared, begin int) {
	codeBits := 9
	if c.format.version == versionMPEG1 {
		begin, _, shared, codeBits = r.get(9), r.get(5), r.get(4), 4
	} else {
		begin, _ = r.get(8), r.get(1)
	}
	for range c.format.granules {
		s := side{size: r.get(12), pairs: r.get(9), gain: r.get(8), code: r.get(codeBits)}
		if r.get(1) == 1 {
			s.kind = r.get(2)
			if s.kind == 0 || r.get(1) != 0 {
				s.kind = -1
			}
			s.table = [3]int{r.get(5), r.get(5)}
			r.get(9)
		} else {
			s.table = [3]int{r.get(5), r.get(5), r.get(5)}
			s.count0, s.count1 = r.get(4), r.get(3)
		}
		if c.format.version == versionMPEG1 {
			r.get(1) // preflag
		}
		s.coarse, s.quadTable = r.get(1), r.get(1)
		sides = append(sides, s)
	}
	return sides, shared, begin
}

// granule reads a granule's main data, which must have exactly the stated size.
func (c *checker) granule(m *reader, s *side, index, shared int) error {
	if s.kind < 0 || s.pairs > granuleLines/2 {
		return fmt.Errorf("block type %d, %d pairs", s.kind, s.pairs)
	}
	end := m.at + s.size
	if end > 8*len(m.bytes) {
		return fmt.Errorf("ends %d bits after the frame", end-8*len(m.bytes))
	}
	c.scaleFactors(m, s, index, shared)
	borders, err := c.borders(s)
	if err != nil {
		return err
	}
	line := 0
	for region, border := range borders {
		for ; line < min(border, 2*s.pairs); line += 2 {
			if err := readPair(m, s.table[region]); err != nil {
				return err
			}
		}
	}
	for ; m.at < end; line += 4 {
		if line+4 > granuleLines {
			return fmt.Errorf("%d lines and %d bits left", line, end-m.at)
		}
		q, err := readWord(m, 32+s.quadTable)
		if err != nil {
			return err
		}
		for ; q > 0; q &= q - 1 {
			m.get(1)
		}
	}
	if m.at != end {
		return fmt.Errorf("%d bits too long", m.at-end)
	}
	return nil
}

func (c *checker) borders(s *side) ([3]int, error) {
	switch s.kind {
	case 2:
		return [3]int{3 * c.format.short[3], granuleLines, granuleLines}, nil
	case 1, 3:
		return [3]int{c.format.long[8], granuleLines, granuleLines}, nil
	}
	if s.count0+s.count1+2 > 22 {
		return [3]int{}, fmt.Errorf("regions of %d and %d bands", s.count0+1, s.count1+1)
	}
	return [3]int{c.format.long[s.count0+1], c.format.long[s.count0+s.count1+2], granuleLines}, nil
}

// scaleFactors skips the scale factors.
func (c *checker) scaleFactors(m *reader, s *side, index, shared int) {
	if c.format.version == versionMPEG1 {
		pair := lengthPairs[s.code]
		if s.kind == 2 {
			m.get(18 * pair[0])
			m.get(18 * pair[1])
			return
		}
		for group, bands := range [4]int{6, 5, 5, 5} {
			if index == 0 || shared&(8>>group) == 0 {
				m.get(bands * pair[group/2])
			}
		}
		return
	}
	var lengths [4]int
	table := 0
	switch k := s.code; {
	case k < 400:
		lengths = [4]int{k >> 4 / 5, k >> 4 % 5, k >> 2 & 3, k & 3}
	case k < 500:
		table, lengths = 1, [4]int{(k - 400) >> 2 / 5, (k - 400) >> 2 % 5, k & 3}
	default:
		table, lengths = 2, [4]int{(k - 500) / 3, (k - 500) % 3}
	}
	parts := &longParts[table]
	if s.kind == 2 {
		parts = &shortParts[table]
	}
	for i, n := range parts {
		m.get(n * lengths[i])
	}
}

func readPair(m *reader, table int) error {
	if table == 0 {
		return nil
	}
	if table == 4 || table == 14 {
		return fmt.Errorf("table %d", table)
	}
	pair, err := readWord(m, table)
	if err != nil {
		return err
	}
	for _, v := range [2]int{pair >> 4, pair & 15} {
		if v == 15 {
			m.get(linbits[table])
		}
		if v > 0 {
			m.get(1)
		}
	}
	return nil
}

// wordIndex finds words by table, length and bits; quadruple tables follow the 32.
var wordIndex = func() map[[3]uint32]int {
	index := map[[3]uint32]int{}
	for t, words := range pairWords {
		for i, w := range words {
			index[[3]uint32{uint32(t), uint32(w.n), w.bits}] = i
		}
	}
	for t, words := range quadWords {
		for i, w := range words {
			index[[3]uint32{uint32(32 + t), uint32(w.n), w.bits}] = i
		}
	}
	return index
}()

// readWord returns the index of the next word in a table.
func readWord(m *reader, table int) (int, error) {
	code := uint32(0)
	for n := uint32(1); n <= 19; n++ {
		code = code<<1 | uint32(m.get(1))
		if i, ok := wordIndex[[3]uint32{uint32(table), n, code}]; ok {
			return i, nil
		}
	}
	return 0, fmt.Errorf("no word of table %d begins with %#x", table, code)
}
