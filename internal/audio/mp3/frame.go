package mp3

const (
	// mostHeld is how many frames can wait for main data to fill them.
	mostHeld = 8

	// decoderBits is the size of the buffer that the standard gives decoders for a
	// frame's main data, with what of it lies in earlier frames.
	decoderBits = 7680

	// reserveFrames bounds the reservoir, and with it how long frames are held back,
	// where frames are small: about 50 ms at 24 kHz.
	reserveFrames = 2
)

// head is a frame whose main data is not complete.
type head struct {
	bytes [headBytes]byte // header and side information
	room  int             // bytes for main data after them
}

// stream packs granules into frames of fixed size. The main data of all frames are
// one sequence of bytes, cut where a header is due. A frame that needs less than its
// room leaves the rest to the next frame, whose main data then begins before its
// header: the reservoir.
type stream struct {
	format       *format
	bitrateIndex int
	frameBytes   int // without padding
	fraction     int // of a byte that each frame is short of the bit rate, in 1/rate
	owed         int // fractions until now

	padding int // bytes, 0 or 1, of the frame that is being filled
	room    int // bytes of it for main data
	reserve int // bytes of earlier frames that it may use
	most    int // bytes that reserve may come to

	main  bitWriter // main data not yet in a frame
	held  [mostHeld]head
	first int // of held, a ring
	count int // of held
}

func newStream(f *format, bitrateIndex int) *stream {
	bitrate := f.bitrates()[bitrateIndex]
	product := granuleLines / 8 * f.granules * bitrate
	s := &stream{format: f, bitrateIndex: bitrateIndex, frameBytes: product / f.rate, fraction: product % f.rate}
	s.main.buf = make([]byte, 0, 8192)
	room := s.frameBytes - 4 - f.sideBytes()
	s.most = 255
	if f.version == versionMPEG1 {
		s.most = 511
	}
	s.most = max(0, min(s.most, reserveFrames*room, decoderBits/8-room-1))
	s.next()
	return s
}

// next begins a frame. Frames get a padding byte as often as the bit rate needs.
func (s *stream) next() {
	s.padding = 0
	if s.owed += s.fraction; s.owed >= s.format.rate {
		s.owed -= s.format.rate
		s.padding = 1
	}
	s.room = s.frameBytes + s.padding - 4 - s.format.sideBytes()
}

// finish packs a frame's granules, which must fit in room and reserve.
func (s *stream) finish(granules []*granule) {
	h := &s.held[(s.first+s.count)%mostHeld]
	s.count++
	h.room = s.room
	w := bitWriter{buf: h.bytes[:0]}
	s.format.writeHeader(&w, s.bitrateIndex, s.padding)
	s.format.writeSide(&w, s.reserve, granules)

	before := len(s.main.buf)
	for _, g := range granules {
		g.writeMain(&s.main)
	}
	s.main.align()
	s.reserve += s.room - (len(s.main.buf) - before)
	if surplus := s.reserve - s.most; surplus > 0 {
		s.stuff(surplus)
		s.reserve -= surplus
	}
	s.next()
}

// stuff appends n bytes that decoders skip.
func (s *stream) stuff(n int) {
	for range n {
		s.main.buf = append(s.main.buf, 0)
	}
}

// appendComplete appends the frames to out that are complete.
func (s *stream) appendComplete(out []byte) []byte {
	used := 0
	for s.count > 0 {
		h := &s.held[s.first]
		if used+h.room > len(s.main.buf) {
			break
		}
		out = append(out, h.bytes[:4+s.format.sideBytes()]...)
		out = append(out, s.main.buf[used:used+h.room]...)
		used += h.room
		s.first = (s.first + 1) % mostHeld
		s.count--
	}
	s.main.buf = s.main.buf[:copy(s.main.buf, s.main.buf[used:])]
	return out
}

// complete fills all frames that are held.
func (s *stream) complete() {
	s.stuff(s.reserve)
	s.reserve = 0
}
