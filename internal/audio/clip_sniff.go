package audio

import (
	"bytes"
	"unicode/utf8"
)

// signatures are the first bytes of the kinds of files that users send, at an offset. The first that fits counts.
var signatures = []struct {
	at    int
	bytes string
	kind  string
}{
	{8, "WAVE", "wav"}, // behind RIFF, RF64 or BW64
	{0, "fLaC", "flac"},
	{0, "OggS", "Ogg (Opus or Vorbis)"},
	{0, "\x1aE\xdf\xa3", "WebM or Matroska"},
	{4, "ftyp", "MP4 or M4A"},
	{8, "AIFF", "AIFF"},
	{8, "AIFC", "AIFF"},
	{0, ".snd", "AU"},
	{0, "caff", "CAF"},
	{0, "riff\x2e\x91\xcf\x11", "Wave64"},
	{0, "\x30\x26\xb2\x75", "WMA"},
	{0, "#!AMR", "AMR"},
	{0, "MThd", "MIDI"},
	{0, "ADIF", "AAC"},
	{8, "AVI ", "AVI"},
	{8, "WEBP", "a WebP image"},
	{0, "\x89PNG", "a PNG image"},
	{0, "\xff\xd8\xff", "a JPEG image"},
	{0, "GIF8", "a GIF image"},
	{0, "%PDF", "a PDF document"},
	{0, "PK\x03\x04", "a ZIP archive"},
	{0, "\x1f\x8b", "gzip"},
	{0, "\x7fELF", "a program"},
}

// sniff returns what the content of a file is: a key of clipDecoders, the name of another kind, or "".
func sniff(file []byte) string {
	for _, s := range signatures {
		if len(file) >= s.at && bytes.HasPrefix(file[s.at:], []byte(s.bytes)) {
			if s.kind != "wav" || bytes.HasPrefix(file, []byte("RIFF")) || bytes.HasPrefix(file, []byte("RF64")) || bytes.HasPrefix(file, []byte("BW64")) {
				return s.kind
			}
		}
	}
	if _, ok := findMP3(file); ok {
		return "mp3"
	}
	return sniffMPEG(file)
}

// sniffMPEG tells apart what else begins like MPEG audio, and text.
func sniffMPEG(file []byte) string {
	if len(file) >= 4 && file[0] == 0xff && file[1]&0xe0 == 0xe0 {
		h := mp3Header(uint32(file[0])<<24 | uint32(file[1])<<16 | uint32(file[2])<<8 | uint32(file[3]))
		switch layer := h.layer(); {
		case layer == 0 && file[1]&0xf0 == 0xf0:
			return "AAC"
		case layer == 3:
			return "MPEG audio of layer I"
		case layer == 2:
			return "MPEG audio of layer II"
		case layer == layer3 && h.bitrateIndex() == 0:
			return "MP3 of free bit rate"
		case layer == layer3 && h.isMPEG25() && h.rateIndex() == 2:
			return "MP3 of 8000 Hz (MPEG 2.5), the only rate of MP3 that is not read"
		}
	}
	if isText(file[:min(len(file), 512)]) {
		return "text"
	}
	return ""
}

// isText reports whether the beginning of a file is printable UTF-8; its last character may be cut.
func isText(head []byte) bool {
	for len(head) > 0 {
		r, n := utf8.DecodeRune(head)
		switch {
		case r == utf8.RuneError && n == 1:
			return len(head) < utf8.UTFMax && !utf8.FullRune(head)
		case r < ' ' && r != '\n' && r != '\r' && r != '\t':
			return false
		}
		head = head[n:]
	}
	return true
}

// skipID3 cuts off ID3v2 tags, which stand before files of any kind. A tag that claims more than there is gives way to the search
// for what comes first behind its header.
func skipID3(file []byte) []byte {
	const header = 10
	for len(file) >= header && string(file[:3]) == "ID3" {
		size := 0
		for _, b := range file[6:header] {
			size = size<<7 | int(b&0x7f)
		}
		if file[5]&0x10 != 0 {
			size += header // a footer
		}
		file = file[header:]
		if size <= len(file) {
			file = file[size:]
		}
	}
	return file
}
