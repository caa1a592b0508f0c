package audio

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"github.com/hajimehoshi/go-mp3"
)

// decodeClipMP3 decodes MP3 frames by go-mp3, which is given no file but the frames that were found in it, as they suit it (see
// mp3Repair). Its own reading allocates what a tag claims, takes tags at the end for frames, and miscounts padded frames of MPEG-2.
func decodeClipMP3(m *mixer, file []byte) (flaws, error) {
	frames, found := scanMP3(file)
	if len(frames) == 0 {
		return flaws{}, badClip(ClipDamaged, m.format, "mp3: no frames")
	}
	first := frames[0].header
	channels := 1
	for _, f := range frames {
		if !f.mono() {
			channels = 2
		}
	}
	if err := m.begin(first.rate(), channels); err != nil {
		return flaws{}, err
	}
	total := len(frames) * first.samples()
	if err := m.room(total); err != nil {
		return flaws{}, err
	}
	decoder, err := mp3.NewDecoder(newMP3Repair(frames))
	if err != nil {
		return flaws{}, err
	}
	// The library writes 16-bit stereo, whatever the file has.
	bytes, block := make([]byte, 4*first.samples()), make([]float32, 2*first.samples())
	for len(m.mono) < total {
		n, err := io.ReadFull(decoder, bytes)
		if n == 0 || err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
			return flaws{}, fmt.Errorf("%d samples of %d, then %w", len(m.mono), total, noEOF(err))
		}
		part := block[:0]
		for i := 0; i+4 <= n; i += 4 {
			for c := range channels {
				part = append(part, float32(int16(binary.LittleEndian.Uint16(bytes[i+2*c:])))/32768)
			}
		}
		if err := m.add(part); err != nil {
			return flaws{}, err
		}
	}
	return found, nil
}

func noEOF(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// mp3Frame is a whole frame of a file.
type mp3Frame struct {
	header mp3Header
	bytes  []byte
}

func (f *mp3Frame) mono() bool { return f.header.mono() }

// findMP3 returns the position of the first frame. What looks like one must be followed by two more of its kind, or by the end: four
// bytes alone occur in any file.
func findMP3(file []byte) (at int, ok bool) {
	for at := range min(mp3Search, len(file)) {
		h, ok := headerAt(file, at)
		if !ok || !h.decodable() {
			continue
		}
		next := at
		for n := 0; ; n++ {
			if next += h.size(); next > len(file) {
				break
			}
			if n == 2 || next == len(file) {
				return at, true
			}
			follower, ok := headerAt(file, next)
			if !ok || !follower.follows(h) {
				if n == 0 && isTail(file[next:]) {
					return at, true
				}
				break
			}
			h = follower
		}
	}
	return 0, false
}

// mp3Search is how far the first frame is searched for, in bytes.
const mp3Search = 1 << 16

// isTail reports whether a tag begins here that stands at the end of MP3 files.
func isTail(rest []byte) bool {
	for _, tag := range []string{"TAG", "APETAGEX", "LYRICSBEGIN", "ID3"} {
		if len(rest) >= len(tag) && string(rest[:len(tag)]) == tag {
			return true
		}
	}
	return false
}

// scanMP3 returns all frames of a file, without one that only describes the file. Bytes between frames are passed over, which is
// damage. It reports whether the last frame is cut off.
func scanMP3(file []byte) (frames []mp3Frame, found flaws) {
	at, ok := findMP3(file)
	if !ok {
		return nil, found
	}
	first, _ := headerAt(file, at)
	for at+4 <= len(file) {
		h, ok := headerAt(file, at)
		if !ok || !h.decodable() || !h.follows(first) {
			if at, ok = resync(file, at+1, first); !ok {
				break
			}
			found.damaged = true
			continue
		}
		if h.size() > len(file)-at {
			found.truncated = true
			break
		}
		f := mp3Frame{h, file[at : at+h.size()]}
		if len(frames) > 0 || !f.describes() {
			frames = append(frames, f)
		}
		at += h.size()
	}
	return frames, found
}

// resync returns the position of the next two frames in a row.
func resync(file []byte, from int, first mp3Header) (at int, ok bool) {
	for at := from; at+4 <= len(file); at++ {
		if file[at] != 0xff {
			continue
		}
		h, ok := headerAt(file, at)
		if !ok || !h.decodable() || !h.follows(first) {
			continue
		}
		if next, ok := headerAt(file, at+h.size()); ok && next.follows(first) {
			return at, true
		}
	}
	return 0, false
}

// describes reports whether a frame holds the header of a VBR or tagged file in place of sound.
func (f *mp3Frame) describes() bool {
	begins := func(at int, tags ...string) bool {
		for _, tag := range tags {
			if at+4 <= len(f.bytes) && string(f.bytes[at:at+4]) == tag {
				return true
			}
		}
		return false
	}
	return begins(f.header.mainData(), "Xing", "Info") || begins(4+f.header.sideInfo(), "Xing", "Info") || begins(4+32, "VBRI")
}
