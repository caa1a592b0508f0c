package audio

import (
	"encoding/binary"
	"io"
)

// mp3Repair is the reader that go-mp3 reads frames from. It repairs what that library falls over:
//
//   - Frames whose data began in frames that are not there (at the beginning of a cut recording, behind a gap), or whose side information
//     cannot be, are silenced: the library would read other bits in their place, or fail.
//   - Frames of MPEG-2 at 22,050 Hz are packed anew, each with all of its own data: the library takes the size of most padded ones for
//     one byte less than it is, and every frame behind it would miss that byte. No other rate needs padding.
//   - Those of MPEG-2.5 at 11,025 and 12,000 Hz, which it does not know, become frames of MPEG-2 at 16,000 Hz, whose bands are the same.
//     The sound is then at the file's own rate, which only the header of the frames has forgotten.
type mp3Repair struct {
	frames    []mp3Frame
	packs     bool   // frames are packed anew
	out       []byte // what is left of the frame that is being read
	frame     []byte // scratch of out
	reservoir []byte // data of the frames before, as far as the next may refer to it
	kept      int    // what the library has of it, where frames stay as they are
}

func newMP3Repair(frames []mp3Frame) *mp3Repair {
	r := &mp3Repair{frames: frames}
	for _, f := range frames {
		r.packs = r.packs || !f.header.isMPEG1() && (f.header.isMPEG25() || f.header.padding() != 0)
	}
	return r
}

// mostBack is how far the data of a frame may begin before it, in bytes: what its field can say.
const (
	mostBackMPEG1 = 511
	mostBackLower = 255
)

func (r *mp3Repair) Read(p []byte) (int, error) {
	if len(r.out) == 0 {
		if len(r.frames) == 0 {
			return 0, io.EOF
		}
		f := &r.frames[0]
		r.frames = r.frames[1:]
		if r.packs {
			r.out = r.repack(f)
		} else {
			r.out = r.check(f)
		}
	}
	n := copy(p, r.out)
	r.out = r.out[n:]
	return n, nil
}

// check returns a frame as it is, or silenced: with its data, which frames behind it need, but side information that uses
// none of it.
func (r *mp3Repair) check(f *mp3Frame) []byte {
	at := f.header.mainData()
	if at > len(f.bytes) { // shorter than its own header: nothing can be in it, and the library would not read it
		return f.bytes
	}
	side := f.bytes[at-f.header.sideInfo() : at]
	size := len(f.bytes) - at
	s := parseSide(f.header, side)
	if s.back <= r.kept && s.possible() && s.bytes() <= s.back+size {
		r.kept = s.back + size
		return f.bytes
	}
	r.frame = append(r.frame[:0], f.bytes...)
	side = r.frame[at-f.header.sideInfo() : at]
	clear(side)
	back := min(r.kept, mostBackLower)
	if f.header.isMPEG1() {
		back = min(r.kept, mostBackMPEG1)
		side[0], side[1] = byte(back>>1), byte(back&1<<7)
	} else {
		side[0] = byte(back)
	}
	r.kept = back + size
	return r.frame
}

// repack returns a frame of MPEG-2 that begins with its own data, or a silent one.
func (r *mp3Repair) repack(f *mp3Frame) []byte {
	at := min(f.header.mainData(), len(f.bytes))
	before := len(r.reservoir)
	r.reservoir = append(r.reservoir, f.bytes[at:]...)
	var data []byte
	var s mp3Side
	var side []byte
	if at == f.header.mainData() {
		side = f.bytes[at-f.header.sideInfo() : at]
		s = parseSide(f.header, side)
		if start := before - s.back; start >= 0 && s.possible() && s.bytes() <= len(r.reservoir)-start {
			data = r.reservoir[start : start+s.bytes()]
		}
	}
	r.frame = packMP3(r.frame[:0], f.header, &s, side, data)
	if extra := len(r.reservoir) - mostBackLower; extra > 0 {
		r.reservoir = r.reservoir[:copy(r.reservoir, r.reservoir[extra:])]
	}
	return r.frame
}

// packMP3 appends a frame of MPEG-2 with side information, if there is any, and data that begins in it. What does not fit into the
// largest frame is lost.
func packMP3(dst []byte, h mp3Header, s *mp3Side, side, data []byte) []byte {
	const crc, bitrate, rate, padding, version = 1 << 16, 15 << 12, 3 << 10, 1 << 9, 3 << 19
	const mpeg2, at16kHz = 2 << 19, 2 << 10
	label := h&^(bitrate|padding) | crc
	if h.isMPEG25() {
		label = label&^(version|rate) | mpeg2 | at16kHz
	}
	room := func(label mp3Header) int { return label.size() - 4 - label.sideInfo() }
	largest := label | 14<<12
	if room(largest) < len(data) && label.rateIndex() == 0 && !s.short {
		label = label&^rate | at16kHz // the bands of long blocks are those of 22,050 Hz
	}
	for i := mp3Header(1); i <= 14; i++ {
		// The smallest frame that has room: without padding, the library counts its bytes as we do.
		if label = label&^bitrate | i<<12; room(label) >= len(data) {
			break
		}
	}
	dst = binary.BigEndian.AppendUint32(dst, uint32(label))
	if data != nil {
		dst = append(dst, side...)
		dst[4] = 0 // its data begins here
	}
	dst = append(dst, make([]byte, 4+label.sideInfo()-len(dst))...)
	dst = append(dst, data[:min(len(data), room(label))]...)
	return append(dst, make([]byte, label.size()-len(dst))...)
}

// mp3Side is what matters here of the side information of a frame.
type mp3Side struct {
	back    int // where the data begins, in bytes before the frame's own
	bits    int // of data
	corrupt bool
	short   bool // there are short blocks
}

func (s *mp3Side) bytes() int     { return (s.bits + 7) / 8 }
func (s *mp3Side) possible() bool { return !s.corrupt }

// parseSide reads the side information of a frame.
func parseSide(h mp3Header, side []byte) mp3Side {
	at := 0
	take := func(n int) int {
		v := 0
		for range n {
			v = v<<1 | int(side[at/8]>>(7-at%8)&1)
			at++
		}
		return v
	}
	channels, granules, scale, preflag := 2, 1, 9, 0
	if h.mono() {
		channels = 1
	}
	var s mp3Side
	if h.isMPEG1() {
		granules, scale, preflag = 2, 4, 1
		s.back = take(9)
		take([]int{0, 5, 3}[channels] + 4*channels)
	} else {
		s.back = take(8)
		take(channels)
	}
	for range granules * channels {
		s.bits += take(12)
		values := take(9)
		take(8 + scale)
		if take(1) == 1 {
			block := take(2)
			take(20)
			s.short = s.short || block == 2
			s.corrupt = s.corrupt || block == 0
		} else {
			take(15)
			s.corrupt = take(4)+take(3)+2 > 22 || s.corrupt // regions end within the 22 bands
		}
		take(preflag + 2)
		s.corrupt = s.corrupt || values > 288 // pairs among 576 lines
	}
	return s
}
