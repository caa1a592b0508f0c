package mp3

// headBytes is the most that header and side information take.
const headBytes = 4 + 17

// sideBytes is the length of the side information of a mono frame.
func (f *format) sideBytes() int {
	if f.version == versionMPEG1 {
		return 17
	}
	return 9
}

// writeHeader writes the header of a mono frame without CRC, original, not emphasized.
func (f *format) writeHeader(w *bitWriter, bitrateIndex, padding int) {
	const layerIII, noCRC, mono, original = 1, 1, 3, 1
	w.put(0x7ff, 11)
	w.put(f.version, 2)
	w.put(layerIII, 2)
	w.put(noCRC, 1)
	w.put(uint32(bitrateIndex+1), 4)
	w.put(f.rateIndex, 2)
	w.put(uint32(padding), 1)
	w.put(0, 1) // private
	w.put(mono, 2)
	w.put(0, 2) // stereo only
	w.put(0, 1) // copyright
	w.put(original, 1)
	w.put(0, 2) // emphasis
}

// writeSide writes the side information of a frame's granules. Main data begins begin
// bytes before the frame.
func (f *format) writeSide(w *bitWriter, begin int, granules []*granule) {
	if f.version == versionMPEG1 {
		w.put(uint32(begin), 9)
		w.put(0, 5) // private
		w.put(uint32(granules[1].code.shared), 4)
	} else {
		w.put(uint32(begin), 8)
		w.put(0, 1)
	}
	for _, g := range granules {
		w.put(uint32(g.size()), 12)
		w.put(uint32(g.regions.pairs), 9)
		w.put(uint32(g.gain), 8)
		if f.version == versionMPEG1 {
			w.put(uint32(g.code.code), 4)
		} else {
			w.put(uint32(g.code.code), 9)
		}
		g.writeRegions(w)
		if f.version == versionMPEG1 {
			w.put(uint32(b2u(g.code.preflag)), 1)
		}
		w.put(uint32(g.coarse), 1)
		w.put(uint32(g.regions.quadTable), 1)
	}
}

// writeRegions writes the block kind, the tables and the borders of the regions, which
// are implied where windows switch.
func (g *granule) writeRegions(w *bitWriter) {
	r := &g.regions
	if g.kind == longBlock {
		w.put(0, 1)
		for _, t := range r.table {
			w.put(uint32(t), 5)
		}
		w.put(uint32(r.count0), 4)
		w.put(uint32(r.count1), 3)
		return
	}
	w.put(1, 1)
	w.put(uint32(g.kind), 2)
	w.put(0, 1) // not mixed
	w.put(uint32(r.table[0]), 5)
	w.put(uint32(r.table[1]), 5)
	w.put(0, 9) // subblock gains: scale factors do their work
}

// writeMain writes a granule's main data: scale factors, then Huffman words.
func (g *granule) writeMain(w *bitWriter) {
	g.code.write(w, &g.factors)
	begin := 0
	for i, end := range g.regions.end {
		writePairs(w, g.values[begin:end], g.regions.table[i])
		begin = end
	}
	writeQuads(w, g.values[begin:begin+4*g.regions.quads], g.regions.quadTable)
}
