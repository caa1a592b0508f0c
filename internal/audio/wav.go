package audio

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math"
)

// Format tags of WAV files.
const (
	formatPCM        = 1
	formatFloat      = 3
	formatExtensible = 0xFFFE // the tag is in a sub-format instead
)

// otherFormats are tags that users meet, by name.
var otherFormats = map[uint16]string{
	0x0002: "ADPCM", 0x0006: "A-law", 0x0007: "mu-law", 0x0011: "IMA ADPCM", 0x0031: "GSM 6.10",
	0x0050: "MPEG", 0x0055: "MP3", 0x00FF: "AAC", 0x2000: "AC-3",
}

// FormatError says why a user's file cannot be read as sound.
type FormatError struct{ Problem string }

func (e *FormatError) Error() string { return "audio: wav: " + e.Problem }

func badWAV(format string, args ...any) error { return &FormatError{fmt.Sprintf(format, args...)} }

// wavHeader is the header of a WAV stream: mono 16-bit PCM of unknown length.
func wavHeader(rate int) []byte {
	le := binary.LittleEndian
	h := make([]byte, 0, wavHeaderBytes)
	h = le.AppendUint32(append(h, "RIFF"...), unknownSize)
	h = le.AppendUint32(append(h, "WAVEfmt "...), 16)
	h = le.AppendUint16(h, formatPCM)
	h = le.AppendUint16(h, 1)              // channels
	h = le.AppendUint32(h, uint32(rate))   // samples a second
	h = le.AppendUint32(h, uint32(rate*2)) // bytes a second
	h = le.AppendUint16(h, 2)              // bytes of a sample of all channels
	h = le.AppendUint16(h, 16)             // bits of a sample
	return le.AppendUint32(append(h, "data"...), unknownSize)
}

// wavFormat is what a fmt chunk says.
type wavFormat struct {
	float    bool
	bits     int // of a sample
	channels int
	rate     int
}

// findChunks returns the first fmt chunk and the samples of the first data chunk, in
// whatever order they come and whatever stands between them. The RIFF size is not
// read: streams do not know it. A data size of 0, 0xFFFFFFFF or past the end means
// that the samples go to the end of the file; cut tells that there were more, since the
// size is none that writes a stream of unknown length. Both results are parts of file.
func findChunks(file []byte) (format, samples []byte, cut bool, err error) {
	id := func(at int) string { return string(file[at : at+4]) }
	if len(file) < 12 || id(8) != "WAVE" || id(0) != "RIFF" && id(0) != "RF64" && id(0) != "BW64" {
		return nil, nil, false, badWAV("not a RIFF/WAVE file, it begins with %q", file[:min(len(file), 12)])
	}
	var largeData uint64 // the size of the data chunk of an RF64 file
	var overrun string   // a chunk that ends after the file
	haveData := false
	for at := 12; at+8 <= len(file) && (format == nil || !haveData); {
		name, size := id(at), uint64(binary.LittleEndian.Uint32(file[at+4:]))
		body := file[at+8:]
		isData := name == "data" && !haveData
		if isData && size == unknownSize && largeData > 0 {
			size = largeData
		}
		if isData && size == 0 {
			size = unknownSize
		}
		if size > uint64(len(body)) {
			cut = cut || isData && size < openSize
			overrun = fmt.Sprintf("; the chunk %q at byte %d claims %d bytes, %d follow", name, at, size, len(body))
			size = uint64(len(body))
			if name == "fmt " {
				return nil, nil, false, badWAV("the file is cut off%s", overrun)
			}
		}
		content := body[:size]
		switch {
		case isData:
			samples, haveData = content, true
		case name == "fmt " && format == nil:
			format = content
		case name == "ds64" && size >= 16:
			largeData = binary.LittleEndian.Uint64(content[8:])
		}
		at += 8 + int(size)
		at += padding(file, at, int(size))
	}
	switch {
	case format == nil:
		return nil, nil, false, badWAV("no fmt chunk%s", overrun)
	case !haveData:
		return nil, nil, false, badWAV("no data chunk%s", overrun)
	}
	return format, samples, cut, nil
}

// openSize is the smallest size that stands for an unknown one: programs that write to a
// pipe leave the largest that they know, signed or not, less their header.
const openSize = math.MaxInt32 &^ 0xffff

// padding returns the number of bytes between a chunk of the given size that ends at
// byte at and the next: one after an odd size. Some writers forget it; then the
// chunk that matters begins right there.
func padding(file []byte, at, size int) int {
	if size%2 == 0 || bytes.HasPrefix(file[at:], []byte("fmt ")) || bytes.HasPrefix(file[at:], []byte("data")) {
		return 0
	}
	return 1
}

// parseFormat reads a fmt chunk: 16 bytes, more if somebody appended something, and
// a sub-format in bytes 24..40 if the tag says so.
func parseFormat(chunk []byte) (wavFormat, error) {
	if len(chunk) < 16 {
		return wavFormat{}, badWAV("fmt chunk of %d bytes, wanted 16 or more", len(chunk))
	}
	le := binary.LittleEndian
	tag, align := le.Uint16(chunk), int(le.Uint16(chunk[12:]))
	f := wavFormat{channels: int(le.Uint16(chunk[2:])), rate: int(le.Uint32(chunk[4:])), bits: int(le.Uint16(chunk[14:]))}
	if tag == formatExtensible {
		if len(chunk) < 40 {
			return f, badWAV("extensible fmt chunk of %d bytes, wanted 40 or more", len(chunk))
		}
		// The GUIDs of formats with a tag begin with it and end like this.
		const tail = "\x00\x00\x00\x00\x10\x00\x80\x00\x00\xaa\x00\x38\x9b\x71"
		if string(chunk[26:40]) != tail {
			return f, badWAV("sub-format %x, allowed is PCM or float", chunk[24:40])
		}
		tag = le.Uint16(chunk[24:])
	}
	return f, f.check(tag, align)
}

// check sets f.float and refuses what cannot be decoded.
func (f *wavFormat) check(tag uint16, align int) error {
	switch tag {
	case formatPCM:
		if f.bits != 8 && f.bits != 16 && f.bits != 24 && f.bits != 32 {
			return badWAV("PCM samples of %d bits, allowed is 8, 16, 24 or 32", f.bits)
		}
	case formatFloat:
		f.float = true
		if f.bits != 32 && f.bits != 64 {
			return badWAV("float samples of %d bits, allowed is 32 or 64", f.bits)
		}
	default:
		name := otherFormats[tag]
		if name == "" {
			name = "unknown"
		}
		return badWAV("format 0x%04x (%s), allowed is PCM (1) or float (3)", tag, name)
	}
	switch {
	case f.channels < 1 || f.channels > maxChannels:
		return badWAV("%d channels, allowed is 1 to %d", f.channels, maxChannels)
	case f.rate < minRate || f.rate > maxRate:
		return badWAV("sample rate %d Hz, allowed is %d to %d", f.rate, minRate, maxRate)
	case align != f.channels*f.bits/8:
		return badWAV("block align %d, wanted %d (channels %d, bits %d)", align, f.channels*f.bits/8, f.channels, f.bits)
	}
	return nil
}
