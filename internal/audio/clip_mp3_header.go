package audio

import "encoding/binary"

// mp3Header is the four bytes that begin a frame of MPEG audio.
type mp3Header uint32

// layer3 is Layer III as the header has it.
const layer3 = 1

// Bit rates of Layer III by their index, in kbit/s, of MPEG-1 and of the lower rates (MPEG-2 and 2.5).
var (
	mpeg1Kbits = [16]int{0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0}
	lowerKbits = [16]int{0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0}
)

// headerAt returns the header at a position, if there is one of Layer III with a size.
func headerAt(file []byte, at int) (mp3Header, bool) {
	if at < 0 || at+4 > len(file) {
		return 0, false
	}
	h := mp3Header(binary.BigEndian.Uint32(file[at:]))
	ok := h>>21 == 0x7ff && h.version() != 1 && h.layer() == layer3 && h.rateIndex() != 3 && h&3 != 2 && h.kbits() != 0
	return h, ok
}

func (h mp3Header) version() int      { return int(h >> 19 & 3) } // 3 is MPEG-1, 2 is MPEG-2, 0 is MPEG-2.5
func (h mp3Header) layer() int        { return int(h >> 17 & 3) }
func (h mp3Header) hasCRC() bool      { return h>>16&1 == 0 }
func (h mp3Header) bitrateIndex() int { return int(h >> 12 & 15) }
func (h mp3Header) rateIndex() int    { return int(h >> 10 & 3) }
func (h mp3Header) padding() int      { return int(h >> 9 & 1) }
func (h mp3Header) mono() bool        { return h>>6&3 == 3 }
func (h mp3Header) isMPEG1() bool     { return h.version() == 3 }
func (h mp3Header) isMPEG25() bool    { return h.version() == 0 }

// follows reports whether a header may be in one file with another.
func (h mp3Header) follows(other mp3Header) bool {
	const fixed = 0xfffe0c00 // sync, version, layer, rate
	return h&fixed == other&fixed
}

// decodable refuses MPEG-2.5 at 8,000 Hz. Its bands are those of no other rate, and go-mp3 does not know them.
func (h mp3Header) decodable() bool { return !h.isMPEG25() || h.rateIndex() != 2 }

func (h mp3Header) kbits() int {
	if h.isMPEG1() {
		return mpeg1Kbits[h.bitrateIndex()]
	}
	return lowerKbits[h.bitrateIndex()]
}

// rate is the sample rate in Hz.
func (h mp3Header) rate() int {
	rate := [4]int{44100, 48000, 32000, 1}[h.rateIndex()]
	switch {
	case h.isMPEG1():
		return rate
	case h.isMPEG25():
		return rate / 4
	}
	return rate / 2
}

// samples is the number of samples of a frame.
func (h mp3Header) samples() int {
	if h.isMPEG1() {
		return 1152
	}
	return 576
}

// size is the length of the frame in bytes.
func (h mp3Header) size() int { return h.samples()/8*1000*h.kbits()/h.rate() + h.padding() }

// sideInfo is the length of the side information in bytes.
func (h mp3Header) sideInfo() int {
	switch {
	case h.isMPEG1() && h.mono():
		return 17
	case h.isMPEG1():
		return 32
	case h.mono():
		return 9
	}
	return 17
}

// mainData is where a frame's main data begins.
func (h mp3Header) mainData() int {
	n := 4 + h.sideInfo()
	if h.hasCRC() {
		n += 2
	}
	return n
}
