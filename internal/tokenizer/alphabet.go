package tokenizer

import "unicode/utf8"

// The printable alphabet of byte-level BPE: vocabulary files write a token as one
// character per byte. Bytes 33-126, 161-172 and 174-255 stand for themselves, the
// other 68, in order, for U+0100 and up.
const (
	alphabetBase  = 0x100
	alphabetExtra = 68
)

var (
	byteToRune [256]rune
	runeToByte [alphabetBase + alphabetExtra]int16 // -1: no byte is written like that
)

func init() {
	for i := range runeToByte {
		runeToByte[i] = -1
	}
	extra := rune(alphabetBase)
	for b := range rune(256) {
		r := b
		if !(33 <= b && b <= 126 || 161 <= b && b <= 172 || 174 <= b) {
			r = extra
			extra++
		}
		byteToRune[b], runeToByte[r] = r, int16(b)
	}
}

// appendBytes appends the bytes that a token of a vocabulary file stands for.
// ok is false if a character of it stands for none.
func appendBytes(dst []byte, token string) (out []byte, ok bool) {
	for _, r := range token {
		if int(r) >= len(runeToByte) || runeToByte[r] < 0 {
			return dst, false
		}
		dst = append(dst, byte(runeToByte[r]))
	}
	return dst, true
}

// appendValid appends s with each byte that is not part of a well-formed UTF-8
// character replaced by U+FFFD.
func appendValid(dst []byte, s string) []byte {
	for _, r := range s {
		dst = utf8.AppendRune(dst, r)
	}
	return dst
}

// validUTF8 is appendValid for a whole text; most texts are returned as they are.
func validUTF8(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string(appendValid(make([]byte, 0, len(s)+len(s)/8), s))
}

// lossy turns decoded bytes into a string as the reference does: each longest
// start of a character that is not completed becomes one U+FFFD, and so does each
// other byte that does not belong to a character.
func lossy(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	out := make([]byte, 0, len(b)+16)
	for len(b) > 0 {
		r, n := utf8.DecodeRune(b)
		if r == utf8.RuneError && n == 1 {
			for k := min(len(b), utf8.UTFMax-1); k > 1; k-- {
				if !utf8.FullRune(b[:k]) {
					n = k
					break
				}
			}
		}
		out = utf8.AppendRune(out, r)
		b = b[n:]
	}
	return string(out)
}
