package server

import (
	"encoding/binary"
	"io"
	"math/bits"
)

// law is a companding law of ITU-T G.711: telephones send a byte for each sample.
type law struct {
	name        string
	contentType string
	byteOf      func(sample int16) byte
}

var (
	muLaw = &law{"ulaw", "audio/x-mulaw", muLawByte}
	aLaw  = &law{"alaw", "audio/x-alaw", aLawByte}
)

// muLawByte compands by the law of North America and Japan: a sign, the number of one of
// eight segments, each twice as wide as the one before, and four bits within. The bias
// makes segments begin at powers of two; all bits are sent inverted.
func muLawByte(sample int16) byte {
	const bias, most = 0x84, 0x7FFF - 0x84
	sign, size := byte(0), int(sample)
	if size < 0 {
		sign, size = 0x80, -size-1
	}
	size = min(size, most) + bias
	segment := bits.Len(uint(size)) - 8 // of 15 bits, the highest of which is at least the 8th
	return ^(sign | byte(segment)<<4 | byte(size>>(segment+3))&0x0F)
}

// aLawByte compands by the law of the rest of the world, of 13 bits: its first two
// segments are equally wide, and every second bit is sent inverted.
func aLawByte(sample int16) byte {
	sign, size := byte(0x80), int(sample)>>3
	if size < 0 {
		sign, size = 0, -size-1
	}
	segment := max(0, bits.Len(uint(size))-5)
	b := byte(segment)<<4 | byte(size>>max(segment, 1))&0x0F
	return (sign | b) ^ 0x55
}

// lawWriter makes bytes of 16-bit samples on their way.
type lawWriter struct {
	law  *law
	to   io.Writer
	out  []byte
	odd  byte // the first half of a sample
	half bool // there is one
}

func (w *lawWriter) Write(p []byte) (int, error) {
	w.out = w.out[:0]
	for _, b := range p {
		if w.half {
			w.out = append(w.out, w.law.byteOf(int16(binary.LittleEndian.Uint16([]byte{w.odd, b}))))
		}
		w.odd, w.half = b, !w.half
	}
	if len(w.out) > 0 {
		if _, err := w.to.Write(w.out); err != nil {
			return 0, err
		}
	}
	return len(p), nil
}
