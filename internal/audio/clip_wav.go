package audio

import (
	"encoding/binary"
)

// formatMP3 is the tag of MP3 frames in a WAV file.
const formatMP3 = 0x55

// clipBlock is how many samples of each channel are converted at a time.
const clipBlock = 1 << 14

// decodeClipWAV decodes what ReadWAV does, but keeps one channel of it.
func decodeClipWAV(m *mixer, file []byte) (flaws, error) {
	header, data, cut, err := findChunks(file)
	if err != nil {
		return flaws{}, err
	}
	if len(header) >= 2 && binary.LittleEndian.Uint16(header) == formatMP3 {
		found, err := decodeClipMP3(m, data)
		found.truncated = found.truncated || cut
		return found, err
	}
	format, err := parseFormat(header)
	if err != nil {
		return flaws{}, err
	}
	if err := m.begin(format.rate, format.channels); err != nil {
		return flaws{}, err
	}
	frame := format.channels * format.bits / 8
	data = data[:len(data)/frame*frame]
	if err := m.room(len(data) / frame); err != nil {
		return flaws{}, err
	}
	block := make([]float32, min(clipBlock, len(data)/frame)*format.channels)
	for len(data) > 0 {
		n := min(len(data), clipBlock*frame)
		part := block[:n/(format.bits/8)]
		if err := decode(part, format, data[:n]); err != nil {
			return flaws{}, err
		}
		if err := m.add(part); err != nil {
			return flaws{}, err
		}
		data = data[n:]
	}
	return flaws{truncated: cut}, nil
}
